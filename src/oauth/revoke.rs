//! POST /oauth/revoke: a client ends its connection (RFC 7009). A token that is unknown, over or another client's is
//! answered like a good one.

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;

use super::client::authenticated;
use super::error::OAuthError;
use super::open;
use super::params::Params;

/// Answers whatever comes to the address.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    open::post(&request, revoke(&request, &ctx, payload)).await
}

async fn revoke(request: &HttpRequest, ctx: &OperationContext, payload: Payload) -> Result<HttpResponse, OAuthError> {
    let form = Params::read(request, payload).await?;
    let token = form.one("token")?;
    let client = authenticated(ctx, request, &form).await?;
    let token = token.ok_or(OAuthError::MissingParameter("token"))?;
    ctx.grants.revoke(client, token.to_owned()).await?;
    let mut response = HttpResponse::new(StatusCode::OK);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
