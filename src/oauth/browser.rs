//! The browser that sends a user's consent: its session, and whether a form comes from the server's own pages.

use actix_web::HttpRequest;
use actix_web::http::header::HeaderValue;
use actors::auth::caller::Principal;
use actors::auth::context::AuthContext;
use actors::auth::grants::Browser;
use entity::user;
use errors::Error;
use library::context::CoreContext;

use crate::http::session::{authenticate, require_own_origin};

/// Returns the session of the browser and its user; `None` without a valid session.
pub async fn signed_in(
    auth: &AuthContext,
    request: &HttpRequest,
) -> Result<Option<(Browser, user::Model)>, Error> {
    match authenticate(request, auth).await {
        Ok((caller, user)) => match caller.principal {
            Principal::Session(session) => Ok(Some((Browser { user: user.id, session }, user))),
            Principal::Key(_) | Principal::Grant(_) => Ok(None),
        },
        Err(Error::NotSignedIn) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Returns whether a form comes from the server's own pages, so that no other site can submit it for the user.
pub fn is_own_form(request: &HttpRequest, core: &CoreContext) -> bool {
    let header = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
    // The form may be of another site (row C1). The pages send no referrer, and without one browsers send `Origin: null` even to the
    // same origin. `Sec-Fetch-Site` then tells it from the `null` of a sandboxed frame.
    let is_own_null_origin =
        header("Origin") == Some(b"null") && header("Sec-Fetch-Site") == Some(b"same-origin");
    is_own_null_origin || require_own_origin(request, core).is_ok()
}
