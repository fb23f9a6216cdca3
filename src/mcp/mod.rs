//! The MCP server at /mcp: Streamable HTTP without sessions, in both eras of the protocol (design: mcp-oauth.md).
//!
//! A request passes, in this order: preflight, origin and host, key, method, size, type, JSON, envelope, era. It is
//! answered with plain JSON; nothing is remembered of it but its line in the activity view and the client's name.

mod cors;
mod era;
mod error;
mod headers;
mod methods;
mod result;
mod rpc;
mod schema;
mod tools;

use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, web};
use actors::context::OperationContext;
use actors::auth::caller::Caller;
use errors::Error;
use actors::auth::authenticate::{introduced, recognise, used};
use entity::kind::Surface;
use tracing::warn;

use crate::http::budget::Sender;
use crate::http::{body, credential, peer};

/// The longest message, in bytes: a note, the longest thing that is sent, fits three times over. JSON takes many times its
/// length in memory, and messages without an answer count for nobody.
const LONGEST: usize = 2 << 20;
pub use cors::AllowedOrigins;
use cors::Visit;
pub use era::LEGACY;
use error::{METHODS, refusal};
use headers::Mirrored;
use rpc::{Failure, Message, Request};

/// Mounts /mcp, with and without a slash at its end: clients that are redirected lose their body.
pub fn mount(config: &mut ServiceConfig) {
    config.service(web::resource(["/mcp", "/mcp/"]).to(serve));
}

/// Answers whole even where the client goes away: what was begun is counted and written down.
async fn serve(
    request: HttpRequest,
    ctx: Data<OperationContext>,
    origins: Data<AllowedOrigins>,
    payload: Payload,
) -> HttpResponse {
    crate::rest::whole(request.clone(), respond(request, ctx, origins, payload)).await
}

async fn respond(
    request: HttpRequest,
    ctx: Data<OperationContext>,
    origins: Data<AllowedOrigins>,
    payload: Payload,
) -> HttpResponse {
    let visit = Visit::of(&request, &ctx.core.base_url, &origins.0);
    let mut response = if request.method() == Method::OPTIONS {
        cors::preflight()
    } else if visit.is_welcome() {
        admitted(&request, &ctx, payload).await.unwrap_or_else(Failure::response)
    } else {
        refusal(&Error::ForeignOrigin, &ctx.core.base_url, false).response()
    };
    visit.share(response.headers_mut());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The key comes first: whoever has none learns how to get one, whatever else is wrong.
async fn admitted(request: &HttpRequest, ctx: &OperationContext, payload: Payload) -> Result<HttpResponse, Failure> {
    let presented = credential::credential(request);
    let sent = !matches!(presented, Ok(None));
    let caller = recognise(ctx, presented, Surface::Mcp, peer::address(request), peer::client(request)).await;
    let mut caller = caller.map_err(|error| refusal(&error, &ctx.core.base_url, sent))?;
    Sender::note(request, caller.user);
    let message = said(request, ctx, &caller, payload).await;
    note(ctx, &mut caller, message.as_ref().ok()).await;
    match message? {
        Message::Notification => Ok(HttpResponse::new(StatusCode::ACCEPTED)),
        Message::Request(asked) => {
            let id = asked.id.clone();
            answered(request, ctx, &caller, asked).await.map_err(|failure| failure.to(Some(id)))
        }
    }
}

/// The message, once it has arrived as it must.
async fn said(
    request: &HttpRequest,
    ctx: &OperationContext,
    caller: &Caller,
    payload: Payload,
) -> Result<Message, Failure> {
    let body =
        readable(request, caller, payload).await.map_err(|error| refusal(&error, &ctx.core.base_url, true))?;
    if !headers::takes_json(request) {
        return Err(Failure::new(
            StatusCode::NOT_ACCEPTABLE,
            rpc::INVALID_REQUEST,
            "answers are application/json: send `Accept: application/json, text/event-stream`",
        ));
    }
    rpc::read(&body)
}

async fn readable(request: &HttpRequest, caller: &Caller, payload: Payload) -> Result<Bytes, Error> {
    if request.method() != Method::POST {
        return Err(Error::MethodNotAllowed(METHODS.split(", ").map(str::to_owned).collect()));
    }
    let sender = Sender::Account(caller.user);
    let body = body::read(request, payload, sender, body::most(request).min(LONGEST)).await?;
    body::must_be_json(request)?;
    Ok(body)
}

/// Notes that the key was used, by the name that the client gives itself: before the answer, which nobody may wait for.
async fn note(ctx: &OperationContext, caller: &mut Caller, message: Option<&Message>) {
    let Some(Message::Request(asked)) = message else { return used(ctx, caller) };
    if let Some(client) = era::client(&asked.params) {
        caller.client = Some(client);
    }
    let Some(client) = era::introduction(asked) else { return used(ctx, caller) };
    if let Err(error) = introduced(ctx, caller, client).await {
        warn!(cause = error.chain(), "could not write what a client calls itself");
    }
}

async fn answered(
    request: &HttpRequest,
    ctx: &OperationContext,
    caller: &Caller,
    asked: Request,
) -> Result<HttpResponse, Failure> {
    let (era, method) = era::of(&Mirrored::of(request), &asked)?;
    methods::answer(request, ctx, caller, era, method, asked).await
}
