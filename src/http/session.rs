//! The browser session of a request: the cookie that carries it, the user whom it signs in, and the check that a request comes
//! from the server's own pages.

use actix_web::cookie::{Cookie, SameSite, time::Duration as CookieAge};
use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue, ORIGIN};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::caller::Caller;
use actors::auth::context::AuthContext;
use actors::auth::secret::Secret;
use actors::auth::sessions::{self, SESSION_LIFETIME, SESSION_PREFIX};
use entity::user;
use errors::Error;
use library::context::CoreContext;

use super::budget::Sender;

/// The session's cookie on http, where browsers refuse the prefix of [`HTTPS_COOKIE`].
const HTTP_COOKIE: &str = "carrel_session";
/// The session's cookie on https. By its prefix a browser accepts it only from this very host, over https, for all paths: no
/// page of a sibling domain can set one (draft-ietf-httpbis-rfc6265bis, 4.1.3.2; row C2).
const HTTPS_COOKIE: &str = "__Host-carrel_session";

/// Authenticates the session of a request. From then on its response counts for the user.
///
/// # Errors
/// [`Error::NotSignedIn`] without a valid session.
pub async fn signed_in(request: &HttpRequest, auth: &AuthContext) -> Result<Caller, Error> {
    let (caller, _) = authenticate(request, auth).await?;
    Sender::note(request, caller.user);
    Ok(caller)
}

/// Authenticates the session of a request. The request still counts for its network address.
///
/// # Errors
/// [`Error::NotSignedIn`] without a valid session.
pub async fn authenticate(request: &HttpRequest, auth: &AuthContext) -> Result<(Caller, user::Model), Error> {
    let secret = session_secret(request, &auth.core).ok_or(Error::NotSignedIn)?;
    sessions::authenticate(&auth.core, &auth.keys, &secret).await
}

/// Returns the secret in the session's cookie; `None` if the cookie is missing or malformed.
pub fn session_secret(request: &HttpRequest, core: &CoreContext) -> Option<Secret> {
    Secret::parse_token(SESSION_PREFIX, request.cookie(cookie_name(core))?.value())
}

fn cookie_name(core: &CoreContext) -> &'static str {
    if is_https(core) { HTTPS_COOKIE } else { HTTP_COOKIE }
}

/// Returns whether clients reach the server over https.
fn is_https(core: &CoreContext) -> bool {
    core.base_url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// Returns the cookie of a session: hidden from scripts and from other sites, and sent over https
/// only where the server has it.
pub fn cookie(core: &CoreContext, secret: &str) -> Cookie<'static> {
    let age = i64::try_from(SESSION_LIFETIME.as_secs()).unwrap_or(i64::MAX);
    let cookie = Cookie::build(cookie_name(core), secret.to_owned());
    // `Lax`, not `Strict`: the redirect of an assistant to /oauth/authorize must find the session.
    let cookie = cookie.path("/").http_only(true).same_site(SameSite::Lax);
    cookie.secure(is_https(core)).max_age(CookieAge::seconds(age)).finish()
}

/// Returns the cookie that makes a browser delete the session's cookie.
pub fn expired_cookie(core: &CoreContext) -> Cookie<'static> {
    // Browsers replace a cookie of the same name and path, and reject one named `__Host-` without `Secure` and the path `/`.
    let mut expired = cookie(core, "");
    expired.set_max_age(CookieAge::ZERO);
    expired
}

/// Makes the browser forget what it keeps of the pages of a user: copies of them, and the texts that can be read without a connection.
pub fn forget_pages(response: &mut HttpResponse) {
    let kept = HeaderValue::from_static("\"cache\", \"storage\"");
    response.headers_mut().insert(HeaderName::from_static("clear-site-data"), kept);
}

/// Requires that a request which changes something comes from the server's own pages (contract.md, section 9). Browsers name
/// the origin of each such request.
///
/// # Errors
/// [`Error::ForeignOrigin`] when a header names another origin or site.
pub fn require_own_origin(request: &HttpRequest, core: &CoreContext) -> Result<(), Error> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(());
    }
    // A request without either header comes from no browser, so no site can have caused it.
    let origin = request.headers().get(ORIGIN);
    let is_own_origin = origin.is_none_or(|origin| origin.as_bytes() == origin_of(&core.base_url).as_bytes());
    if is_own_origin && is_from_own_site(request) { Ok(()) } else { Err(Error::ForeignOrigin) }
}

/// Returns whether a request comes from the server's own pages or from the user, such as from the address bar, as far as
/// `Sec-Fetch-Site` says (Fetch Metadata). Browsers do not send it over plain http, and other clients not at all.
pub fn is_from_own_site(request: &HttpRequest) -> bool {
    let site = request.headers().get("Sec-Fetch-Site");
    site.is_none_or(|site| matches!(site.as_bytes(), b"same-origin" | b"none"))
}

/// Scheme, host and port of a URL, in the form of the header `Origin`.
fn origin_of(base_url: &str) -> String {
    url::Url::parse(base_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}
