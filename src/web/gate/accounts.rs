//! Creating accounts: the first one, and further ones where sign-up is open.

use actix_web::HttpResponse;
use actors::auth::accounts;
use actors::operations::settings::adopt_time_zone;
use askama::Template;
use errors::Error;

use super::session::{begin, host_of, next_page};
use crate::http::account::{self, StartedSession};
use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::public::PublicRequest;

/// The fields of the forms.
const ACCOUNT_FIELDS: [&str; 3] = ["email", "password", "name"];

/// The page on which the first account is created.
#[derive(Template)]
#[template(path = "gate/set_up.html")]
struct SetUpView<'a> {
    email: &'a str,
    name: &'a str,
    faults: FormFaults,
    mcp_url: &'a str,
}

/// The page on which a further account is created.
#[derive(Template)]
#[template(path = "gate/sign_up.html")]
struct SignUpView<'a> {
    email: &'a str,
    name: &'a str,
    /// The page that follows.
    next: &'a str,
    faults: FormFaults,
    host: String,
}

parts!(SetUpView<'_> {});
parts!(SignUpView<'_> {});

/// Shows the form of the first account, while there is none.
pub async fn show_set_up(request: PublicRequest) -> Result<HttpResponse, Error> {
    if accounts::has_any(&request.ctx.core).await? {
        return Ok(request.redirect("/sign-in"));
    }
    request.show(&set_up_form(&request, FormFaults::default()))
}

/// Creates the first account, and begins its session.
pub async fn set_up(request: PublicRequest) -> Result<HttpResponse, Error> {
    let read = async || Ok(request.form.read_as(&ACCOUNT_FIELDS)?);
    match account::set_up(&request.http, &request.ctx, read).await {
        Ok(started) => welcome(&request, &started, "/").await,
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            request.show_with_status(status, &set_up_form(&request, faults))
        }
    }
}

/// Shows the form of a further account.
pub async fn show_sign_up(request: PublicRequest) -> Result<HttpResponse, Error> {
    request.ctx.auth.signup_plan()?;
    request.show(&sign_up_form(&request, &next_page(&request), FormFaults::default()))
}

/// Creates a further account, and begins its session.
pub async fn sign_up(request: PublicRequest) -> Result<HttpResponse, Error> {
    request.ctx.disk.require_room()?;
    let next = next_page(&request);
    let read = async || Ok(request.form.read_as(&ACCOUNT_FIELDS)?);
    match account::sign_up(&request.http, &request.ctx, read).await {
        Ok(started) => welcome(&request, &started, &next).await,
        Err(error @ Error::Closed(_)) => Err(error),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            request.show_with_status(status, &sign_up_form(&request, &next, faults))
        }
    }
}

/// Sends a new user on, whose times are shown in the time zone of the browser.
async fn welcome(
    request: &PublicRequest,
    started: &StartedSession,
    next: &str,
) -> Result<HttpResponse, Error> {
    if let Some(zone) = request.form.get("timeZone") {
        adopt_time_zone(&request.ctx.core, started.user.id, zone).await?;
    }
    begin(request, started, next)
}

fn set_up_form(request: &PublicRequest, faults: FormFaults) -> SetUpView<'_> {
    let (email, name) = (request.form.text("email"), request.form.text("name"));
    SetUpView { email, name, faults, mcp_url: request.ctx.auth.grants.resource() }
}

fn sign_up_form<'a>(request: &'a PublicRequest, next: &'a str, faults: FormFaults) -> SignUpView<'a> {
    let (email, name) = (request.form.text("email"), request.form.text("name"));
    SignUpView { email, name, next, faults, host: host_of(request) }
}
