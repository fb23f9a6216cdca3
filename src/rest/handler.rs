//! Serves the routes of REST: the fields and the path of a request become the route's operation, its reply the envelope.

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::authenticate::RequestInfo;
use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::idempotency::{Claim, Idempotency, IdempotencyKey, StoredResponse};
use actors::operation::{FromRequest, Operation};
use actors::operations::unknown::UnmatchedRequest;
use actors::pipeline::{self, ActivityEntry, CallStatus, Endpoint, Outcome, ParsedRequest, Response};
use database::on_behalf_of;
use errors::{Error, ErrorBody};
use serde_json::Value;
use validation::Invalid;
use validation::reasons::REPEATED_FIELD;
use values::kind::MeteredSurface;

use crate::http::budget::Sender;
use crate::http::context::operation_context;
use crate::http::error::status;
use crate::http::fields::{read_body, read_fields, target};
use crate::http::methods::{is_unserved, known_methods};
use crate::http::response_slots::slot_wait;
use crate::http::task::run_to_end;
use crate::http::{credential, envelope, peer};
use crate::routing::{ReplyStatus, Route, RouteSurface};

/// The name in the activity view of requests that no route serves.
const UNKNOWN_ROUTE: &str = "unknown";
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The surface of REST. An API key authenticates every request, which counts and is recorded in the activity view.
pub struct Rest;

impl RouteSurface for Rest {
    async fn handle<O: FromRequest>(
        route: &'static Route,
        success: ReplyStatus<O::Reply>,
        request: HttpRequest,
        payload: Payload,
    ) -> HttpResponse {
        run_to_end(request.clone(), async move {
            let ctx = match operation_context(&request) {
                Ok(ctx) => ctx,
                Err(response) => return response,
            };
            let parse = async |caller: &Caller| parse::<O>(&request, route.pattern, caller, payload).await;
            let outcome = execute::<O>(&ctx, &request, route.name(), &success, parse).await;
            respond::<O>(&request, &ctx, &success, outcome).await
        })
        .await
    }

    /// Refuses the request like any other: the API key is checked first, and the request counts.
    async fn refuse(request: HttpRequest, mut methods: Vec<String>) -> HttpResponse {
        let ctx = match operation_context(&request) {
            Ok(ctx) => ctx,
            Err(response) => return response,
        };
        // Methods that no route has are refused as such even where there is no route (RFC 9110, section 9.3.8).
        if methods.is_empty() && is_unserved(request.method()) {
            methods = known_methods();
        }
        let parse = async |_: &Caller| Ok(UnmatchedRequest { methods }).into();
        // No such request succeeds.
        let success = ReplyStatus::Always(StatusCode::OK);
        let outcome = execute::<UnmatchedRequest>(&ctx, &request, UNKNOWN_ROUTE, &success, parse).await;
        respond::<UnmatchedRequest>(&request, &ctx, &success, outcome).await
    }
}

/// Authenticates a request and runs its operation. `name` is the route in the activity view.
async fn execute<O: Operation>(
    ctx: &OperationContext,
    request: &HttpRequest,
    name: &'static str,
    success: &ReplyStatus<O::Reply>,
    parse: impl AsyncFnOnce(&Caller) -> ParsedRequest<O>,
) -> Outcome<O::Reply> {
    let authenticator = ctx.auth.authenticator();
    let caller = match authenticator.authenticate(request_info(request)).await {
        Ok(caller) => caller,
        // Without a caller there is no limit to count towards, and no activity view to show it in.
        Err(error) => return Outcome::uncounted(error),
    };
    // Before the limits: a refused request is a use of the key too.
    authenticator.notify_first_use(&caller);
    let status = |result: &Result<Response<O::Reply>, Error>| activity_status::<O>(result, success);
    let activity = ActivityEntry { endpoint: Endpoint::Route(name), status: &status };
    pipeline::execute(ctx, &caller, Some(activity), parse).await
}

fn request_info(request: &HttpRequest) -> RequestInfo {
    RequestInfo {
        credential: credential::credential(request),
        surface: MeteredSurface::Rest,
        ip_address: peer::ip_address(request),
        client: peer::client(request),
    }
}

/// Returns the status that the activity view shows, which is that of the response.
fn activity_status<O: Operation>(
    result: &Result<Response<O::Reply>, Error>,
    success: &ReplyStatus<O::Reply>,
) -> CallStatus {
    CallStatus::Http(match result {
        Ok(Response::Fresh(reply)) => success.for_reply(reply).as_u16(),
        Ok(Response::Replayed(stored)) => stored.status,
        Err(error) => status(error).as_u16(),
    })
}

/// Reads the operation and the Idempotency-Key of a request. An error names every fault of both.
async fn parse<O: FromRequest>(
    request: &HttpRequest,
    pattern: &str,
    caller: &Caller,
    payload: Payload,
) -> ParsedRequest<O> {
    // From here on the bytes of body and response count for the account, not for its address.
    Sender::note(request, caller.user);
    let body = match read_body(request, caller, payload).await {
        Ok(body) => body,
        Err(error) => return Err(error).into(),
    };
    let fields = read_fields::<O::Request>(request, &body);
    let (idempotency_key, is_key_valid) = match idempotency_key(request, &body) {
        Ok(key) => (key, Ok(())),
        Err(fault) => (None, Err(fault)),
    };
    let fields = Invalid::together(fields, is_key_valid).map(|(fields, ())| fields);
    let operation =
        fields.map_err(Error::from).and_then(|fields| O::from_request(&target(request, pattern), fields));
    ParsedRequest { operation, idempotency_key, slot_wait: slot_wait::<O>(request, caller) }
}

fn idempotency_key(request: &HttpRequest, body: &[u8]) -> Result<Option<IdempotencyKey>, Invalid> {
    // The contract defines the header for POST alone (contract.md, section 2).
    if *request.method() != Method::POST {
        return Ok(None);
    }
    let mut keys = request.headers().get_all(IDEMPOTENCY_KEY);
    let Some(key) = keys.next() else { return Ok(None) };
    if keys.any(|other| other != key) {
        return Err(Invalid::new(IDEMPOTENCY_KEY, REPEATED_FIELD));
    }
    // With the body: the same key with another body is a conflict (contract.md, section 2).
    IdempotencyKey::new(key.as_bytes(), request.method().as_str(), request.path(), body).map(Some)
}

async fn respond<O: Operation>(
    request: &HttpRequest,
    ctx: &OperationContext,
    success: &ReplyStatus<O::Reply>,
    outcome: Outcome<O::Reply>,
) -> HttpResponse {
    let Outcome { quota, result, claim } = outcome;
    let mut response = match &result {
        Ok(Response::Fresh(reply)) => envelope::success(request, ctx, success.for_reply(reply), reply),
        Ok(Response::Replayed(stored)) => replay(request, ctx, stored),
        Err(error) => envelope::failure(request, ctx, error),
    };
    if let Some(quota) = &quota {
        envelope::add_limit_headers(&mut response, quota);
    }
    // Last, so that what is stored is what the client gets. A `kill -9` before it leaves a claim without a heartbeat.
    if let Some(claim) = claim {
        let settled = settle::<O>(&ctx.requests.idempotency, claim, &result, success);
        // The write counts for the account in the queue of the database, as those of the operation do.
        match Sender::of(request) {
            Sender::Account(user) => on_behalf_of(user, settled).await,
            Sender::Network(_) => settled.await,
        }
    }
    response
}

/// Returns the part of a reply that is stored under an Idempotency-Key: all of it except secrets.
fn stored_body<O: Operation>(reply: &O::Reply) -> serde_json::Result<Value> {
    let mut body = serde_json::to_value(reply)?;
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, _| !O::SECRET_MEMBERS.contains(&name.as_str()));
    }
    Ok(body)
}

/// Stores the response of an Idempotency-Key, or frees the key if the request may be tried again (contract.md, section 11).
async fn settle<O: Operation>(
    idempotency: &Idempotency,
    claim: Claim,
    result: &Result<Response<O::Reply>, Error>,
    success: &ReplyStatus<O::Reply>,
) {
    let stored = match result {
        Ok(Response::Fresh(reply)) => {
            let body = stored_body::<O>(reply).ok();
            let status = success.for_reply(reply).as_u16();
            body.map(|body| StoredResponse { status, body: body.to_string() })
        }
        // A replay has no claim: the stored response stays as it is.
        Ok(Response::Replayed(_)) => None,
        Err(error) => {
            let body = serde_json::to_string(&ErrorBody::from(error)).ok();
            // After any other error a retry with the same key must run, and not get the same error until the key expires.
            let body = body.filter(|_| error.spec().is_final);
            body.map(|body| StoredResponse { status: status(error).as_u16(), body })
        }
    };
    let settled = match stored {
        Some(stored) => idempotency.settle(claim, stored).await,
        None => idempotency.give_up(claim).await,
    };
    if let Err(error) = settled {
        tracing::warn!(cause = error.chain(), "could not store the response of an Idempotency-Key");
    }
}

fn replay(request: &HttpRequest, ctx: &OperationContext, stored: &StoredResponse) -> HttpResponse {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let body: Value = serde_json::from_str(&stored.body).unwrap_or_default();
    let mut response = if status.is_success() {
        envelope::success(request, ctx, status, &body)
    } else {
        envelope::failure_with_body(request, ctx, status, &body)
    };
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
