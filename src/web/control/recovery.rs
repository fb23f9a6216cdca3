//! Setting a new password by e-mail: asking for a link, and following it.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::auth::password_resets;
use askama::Template;
use errors::Error;
use validation::{Password, read_query, request};

use crate::http::peer;
use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::public::PublicRequest;
use crate::web::page::route::PageRoute;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/forgot")
        .not_stored()
        .refused_below_floor()
        .get_public(show_request)
        .post_public(request_link)
        .mount(config);
    PageRoute::new("/reset").not_stored().get_public(show_link).post_public(set_password).mount(config);
}

request! {
    /// The new password of a form.
    struct NewPasswordForm {
        /// The new password.
        new: Password<1024>,
    }
}

#[derive(Template)]
#[template(path = "control/forgot.html")]
struct ForgotPage {
    has_mailer: bool,
    is_sent: bool,
    email: String,
    fault: Option<String>,
}
parts!(ForgotPage {});

#[derive(Template)]
#[template(path = "control/reset.html")]
struct ResetPage {
    state: LinkState,
    token: String,
    faults: FormFaults,
}
parts!(ResetPage {});

/// How far a link is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkState {
    /// It works.
    Valid,
    /// It was used before, has expired, or is none.
    Spent,
    /// The password is set.
    Done,
}

async fn show_request(page: PublicRequest) -> Result<HttpResponse, Error> {
    page.show(&ForgotPage {
        has_mailer: page.ctx.auth.password_resets.has_mailer(),
        is_sent: page.query.has("sent"),
        email: String::new(),
        fault: None,
    })
}

async fn request_link(page: PublicRequest) -> Result<HttpResponse, Error> {
    let email = page.form.get("email").unwrap_or_default().trim().to_owned();
    if !email.contains('@') || email.len() > 254 {
        let fault = Some(page.locale().t("fault-email"));
        let view = ForgotPage { has_mailer: true, is_sent: false, email, fault };
        return page.show_with_status(StatusCode::UNPROCESSABLE_ENTITY, &view);
    }
    let (ctx, ip_address) = (&page.ctx, peer::ip_address(&page.http));
    match password_resets::request(&ctx.core, &ctx.auth.password_resets, &ctx.job_signal, ip_address, email) {
        Ok(()) => Ok(page.redirect("/forgot?sent")),
        // The page says what the operator can do.
        Err(Error::Closed(_)) => Ok(page.redirect("/forgot")),
        Err(error) => Err(error),
    }
}

async fn show_link(page: PublicRequest) -> Result<HttpResponse, Error> {
    let token = page.query.get("token").unwrap_or_default().to_owned();
    let state = if page.query.has("done") {
        LinkState::Done
    } else if password_resets::is_valid(&page.ctx.core, &token).await? {
        LinkState::Valid
    } else {
        LinkState::Spent
    };
    page.show(&ResetPage { state, token, faults: FormFaults::default() })
}

async fn set_password(page: PublicRequest) -> Result<HttpResponse, Error> {
    let token = page.form.get("token").unwrap_or_default().to_owned();
    let auth = &page.ctx.auth;
    let read = read_query::<NewPasswordForm>(&page.form.query_of(&["new"])).map_err(Error::from);
    let done = match read {
        Ok(form) => {
            let new = form.new.into_inner();
            password_resets::reset(&page.ctx.core, &auth.keys, &auth.sign_ins, &token, new).await
        }
        Err(error) => Err(error),
    };
    let Err(error) = done else { return Ok(page.redirect("/reset?done")) };
    let (status, faults) = FormFaults::from_error(error, page.locale())?;
    let state = if faults.of("token").is_some() { LinkState::Spent } else { LinkState::Valid };
    page.show_with_status(status, &ResetPage { state, token, faults })
}
