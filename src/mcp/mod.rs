//! The MCP server at /mcp: Streamable HTTP without sessions, in both generations of the protocol.
//!
//! A request passes these checks in this order: preflight, origin and host, key, method, size, type, JSON, JSON-RPC, generation.
//! The response is plain JSON. Nothing of a request is stored but its line in the activity view and the client's name.

mod cors;
mod error;
mod generation;
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
use actors::auth::authenticate::RequestInfo;
use actors::auth::caller::Caller;
use actors::auth::context::AuthContext;
use actors::context::OperationContext;
use errors::Error;
use library::context::CoreContext;
use tracing::warn;
use values::kind::MeteredSurface;

use crate::http::budget::Sender;
use crate::http::task::run_to_end;
use crate::http::{body, credential, peer};
use crate::routing::RouteMeter;
use cors::OriginCheck;
use error::{METHODS, refusal};
use headers::McpHeaders;
use rpc::{RpcError, RpcMessage, RpcRequest};

pub use cors::AllowedOrigins;
pub use generation::LEGACY;
pub use tools::{TOOLS, Tool};

/// The longest message: three times the longest note, which is the longest thing that clients send. JSON takes many times its length
/// in memory, and messages other than calls of tools count towards no limit.
const MAX_MESSAGE_BYTES: usize = 2 << 20;

/// Mounts /mcp, with and without a slash at its end: clients that are redirected lose their body.
pub fn mount(config: &mut ServiceConfig) {
    let meter = RouteMeter::default();
    let handler = move |request: HttpRequest, ctx, origins, payload| {
        meter.attach_to(&request);
        serve(request, ctx, origins, payload)
    };
    // One path is compared as it is; several are a set of regular expressions, which costs more. The set has both paths nevertheless,
    // because its first one names the route of a request in metrics and in the log.
    config.service(web::resource("/mcp").to(handler.clone()));
    config.service(web::resource(["/mcp", "/mcp/"]).to(handler));
}

async fn serve(
    request: HttpRequest,
    ctx: Data<OperationContext>,
    origins: Data<AllowedOrigins>,
    payload: Payload,
) -> HttpResponse {
    run_to_end(request.clone(), respond(request, ctx, origins, payload)).await
}

async fn respond(
    request: HttpRequest,
    ctx: Data<OperationContext>,
    origins: Data<AllowedOrigins>,
    payload: Payload,
) -> HttpResponse {
    // Before authentication: a page that reached the server by DNS rebinding must not learn whether a
    // key is valid (row O9).
    let check = OriginCheck::of(&request, &origins);
    // A preflight carries no key, and clients in browsers give up if it is refused.
    let mut response = if request.method() == Method::OPTIONS {
        cors::preflight()
    } else if check.is_allowed() {
        handle(&request, &ctx, payload).await.unwrap_or_else(RpcError::into_response)
    } else {
        refusal(&Error::ForeignOrigin, &ctx.core.base_url, false).into_response()
    };
    check.apply(response.headers_mut());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Authenticates first: a client without a key learns how to get one, whatever else is wrong with its request.
async fn handle(
    request: &HttpRequest,
    ctx: &OperationContext,
    payload: Payload,
) -> Result<HttpResponse, RpcError> {
    let info = request_info(request);
    // A malformed credential counts as one, so that the challenge says `invalid_token`.
    let has_credential = !matches!(info.credential, Ok(None));
    let caller = ctx.auth.authenticator().authenticate(info).await;
    let mut caller = caller.map_err(|error| refusal(&error, &ctx.core.base_url, has_credential))?;
    Sender::note(request, caller.user);
    // Not refused yet if it is invalid: the key was used even then.
    let message = read_message(request, &ctx.core, &caller, payload).await;
    // Before the response, so that the use is recorded when the client receives it.
    record_use(&ctx.auth, &mut caller, message.as_ref().ok()).await;
    match message? {
        RpcMessage::Notification => Ok(HttpResponse::new(StatusCode::ACCEPTED)),
        RpcMessage::Request(mut rpc) => {
            let response = dispatch(request, ctx, &caller, &mut rpc).await;
            response.map_err(|error| error.with_id(Some(rpc.id)))
        }
    }
}

fn request_info(request: &HttpRequest) -> RequestInfo {
    RequestInfo {
        credential: credential::credential(request),
        surface: MeteredSurface::Mcp,
        ip_address: peer::ip_address(request),
        client: peer::client(request),
    }
}

async fn read_message(
    request: &HttpRequest,
    core: &CoreContext,
    caller: &Caller,
    payload: Payload,
) -> Result<RpcMessage, RpcError> {
    let body =
        read_body(request, caller, payload).await.map_err(|error| refusal(&error, &core.base_url, true))?;
    if !headers::accepts_json(request) {
        return Err(RpcError::new(
            StatusCode::NOT_ACCEPTABLE,
            rpc::INVALID_REQUEST,
            "responses are application/json: send `Accept: application/json, text/event-stream`",
        ));
    }
    rpc::parse(&body)
}

async fn read_body(request: &HttpRequest, caller: &Caller, payload: Payload) -> Result<Bytes, Error> {
    if request.method() != Method::POST {
        // 405, and only after authentication: some clients try to open a stream by GET, and reconnect in a loop
        // after 400 or 404.
        return Err(Error::MethodNotAllowed(METHODS.split(", ").map(str::to_owned).collect()));
    }
    let sender = Sender::Account(caller.user);
    // The operator may have set a lower limit for all bodies.
    let max_bytes = body::max_json_bytes(request).min(MAX_MESSAGE_BYTES);
    let body = body::read_body(request, payload, sender, max_bytes).await?;
    body::require_json(request)?;
    Ok(body)
}

/// Records the use of the key, with the name that the client gives itself.
async fn record_use(auth: &AuthContext, caller: &mut Caller, message: Option<&RpcMessage>) {
    let authenticator = auth.authenticator();
    let Some(RpcMessage::Request(rpc)) = message else { return authenticator.record_use(caller) };
    if let Some(client) = generation::client_of_request(&rpc.params) {
        caller.client = Some(client.into());
    }
    let Some(client) = generation::client_of_handshake(rpc) else { return authenticator.record_use(caller) };
    // The name is for the activity view only, so the request continues without it.
    if let Err(error) = authenticator.record_client_info(caller, client.into()).await {
        warn!(cause = error.chain(), "could not store the name of a client");
    }
}

async fn dispatch(
    request: &HttpRequest,
    ctx: &OperationContext,
    caller: &Caller,
    rpc: &mut RpcRequest,
) -> Result<HttpResponse, RpcError> {
    let (generation, method) = generation::identify(&McpHeaders::from_request(request), rpc)?;
    methods::handle(request, ctx, caller, generation, method, rpc).await
}
