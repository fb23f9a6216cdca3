//! The deletion of the account, with its password. An export is offered before.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use errors::Error;

use crate::http::account::{self, DeleteAccountRequest};
use crate::http::session::{expired_cookie, forget_pages};
use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page that asks for the password.
#[derive(Template)]
#[template(path = "account/delete.html", blocks = ["dialog"])]
struct DeleteAccountPage {
    shell: Shell,
    tab: &'static str,
    faults: FormFaults,
    email: String,
}

parts!(DeleteAccountPage { "dialog" => as_dialog });

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    show_with(&request, StatusCode::OK, FormFaults::default()).await
}

/// Deletes the account, and leaves nothing of it in the browser.
pub async fn delete(request: PageRequest) -> Result<HttpResponse, Error> {
    let read = async || Ok(request.form.read_as::<DeleteAccountRequest>(&["password"])?);
    match account::delete_account(&request.http, &request.ctx, read).await {
        Ok(()) => {
            let mut response = request.redirect("/sign-in");
            let cookie = expired_cookie(&request.ctx.core);
            response.add_cookie(&cookie).map_err(|error| Error::internal(error.to_string()))?;
            forget_pages(&mut response);
            Ok(response)
        }
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_with(&request, status, faults).await
        }
    }
}

async fn show_with(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let page = DeleteAccountPage {
        shell: request.shell(NavigationEntry::Settings).await?,
        tab: "account",
        faults,
        email: request.viewer.user.email.clone(),
    };
    request.show_with_status(status, &page)
}
