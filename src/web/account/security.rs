//! The password, and the sessions of the account's browsers.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::sessions::{EndOtherSessions, EndSession, ListSessions, SessionView};
use askama::Template;
use errors::Error;

use crate::http::account::{self, ChangePasswordRequest};
use crate::http::session::{expired_cookie, forget_pages};
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::ToMessageValue;

/// The page of the password and the sessions.
#[derive(Template)]
#[template(path = "account/security.html", blocks = ["sessions"])]
struct SecurityPage {
    shell: Shell,
    tab: &'static str,
    faults: FormFaults,
    email: String,
    sessions: Vec<SessionView>,
}

parts!(SecurityPage { "sessions" => as_sessions });

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    show_with(&request, StatusCode::OK, FormFaults::default()).await
}

/// Changes the password. All other sessions end.
pub async fn change_password(request: PageRequest) -> Result<HttpResponse, Error> {
    let read = async || Ok(request.form.read_as::<ChangePasswordRequest>(&["current", "new"])?);
    match account::change_password(&request.http, &request.ctx, read).await {
        Ok(()) => request.done("/settings/security", DoneMessage::new("account-password-changed")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_with(&request, status, faults).await
        }
    }
}

/// Ends a session. The session of the browser itself ends like a sign-out.
pub async fn end_one(request: PageRequest) -> Result<HttpResponse, Error> {
    let sessions = request.run(ListSessions).await?.sessions;
    let id = request.target().id(0)?;
    let is_current = sessions.iter().any(|session| session.id == id && session.is_current);
    request.run_form::<EndSession>(&request.target(), &[]).await?;
    if !is_current {
        return request.done("/settings/security", DoneMessage::new("account-session-ended"));
    }
    let mut response = request.redirect("/sign-in");
    let cookie = expired_cookie(&request.ctx.core);
    response.add_cookie(&cookie).map_err(|error| Error::internal(error.to_string()))?;
    forget_pages(&mut response);
    Ok(response)
}

/// Ends all sessions except that of the browser itself.
pub async fn end_others(request: PageRequest) -> Result<HttpResponse, Error> {
    let ended = request.run(EndOtherSessions).await?.ended;
    let message = DoneMessage::new("account-sessions-ended").with("count", ended.to_message_value());
    request.done("/settings/security", message)
}

async fn show_with(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let page = SecurityPage {
        shell: request.shell(NavigationEntry::Settings).await?,
        tab: "security",
        faults,
        email: request.viewer.user.email.clone(),
        sessions: request.run(ListSessions).await?.sessions,
    };
    request.show_with_status(status, &page)
}
