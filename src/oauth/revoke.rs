//! POST /oauth/revoke: a client revokes its grant (RFC 7009). A token that is unknown, expired or another client's is answered
//! like a valid one.

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::context::AuthContext;
use actors::context::OperationContext;

use super::client::authenticate;
use super::error::OAuthError;
use super::open;
use super::params::Params;

/// Responds to a request of any method.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    open::post(&request, revoke(&request, &ctx.auth, payload)).await
}

async fn revoke(
    request: &HttpRequest,
    auth: &AuthContext,
    payload: Payload,
) -> Result<HttpResponse, OAuthError> {
    let form = Params::read(request, payload).await?;
    let token = form.one("token")?;
    let client = authenticate(auth, request, &form).await?;
    let token = token.ok_or(OAuthError::MissingParameter("token"))?;
    auth.grants.revoke_token(client, token.to_owned()).await?;
    let mut response = HttpResponse::new(StatusCode::OK);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
