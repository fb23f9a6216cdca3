//! The one handler: a route's fields and path become its operation, the reply becomes the envelope.

use std::borrow::Cow;

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::auth::caller::Caller;
use errors::{Error, ErrorBody, Invalid};
use validation::{self, Field, Values};
use actors::idempotency::{Claim, Replay, Stored};
use actors::operations::target::Target;
use actors::operations::unknown::Unknown;
use actors::pipeline::{Answer, Asked, Door, Entry, Operation, Performed, perform};
use database::on_behalf_of;
use entity::kind::Surface;
use serde_json::Value;
use tracing::Instrument;

use super::{envelope, error};
use crate::http::answer_turns::turn_wait;
use crate::http::budget::Sender;
use crate::http::methods::{is_unserved, known_methods};
use crate::http::table::Route;
use crate::http::{body, credential, peer};

/// Answers where there is no such route, or not with this method: the key comes first there too, and it counts.
pub async fn refuse(request: HttpRequest, mut methods: Vec<String>) -> HttpResponse {
    let Some(ctx) = request.app_data::<Data<OperationContext>>().cloned() else {
        return HttpResponse::InternalServerError().finish();
    };
    // Methods that no route has are refused as such even where there is no route (RFC 9110, section 9.3.8).
    if methods.is_empty() && is_unserved(request.method()) {
        methods = known_methods();
    }
    let asked = async |_: &Caller| Ok(Unknown { methods }).into();
    let ok = |(): &()| StatusCode::OK;
    let performed = perform(&ctx, door(&request, "unknown"), |came| verdict(came, ok), asked).await;
    answer::<Unknown>(&request, &ctx, ok, performed).await
}

/// Answers by this operation: `read` makes it from path and fields, `success` is the status of its reply.
pub async fn operation<O: Operation>(
    route: &'static Route,
    request: HttpRequest,
    payload: Payload,
    read: fn(&Target, Values) -> Result<O, Error>,
    success: fn(&O::Reply) -> StatusCode,
) -> HttpResponse {
    whole(request.clone(), async move {
        let Some(ctx) = request.app_data::<Data<OperationContext>>().cloned() else {
            return HttpResponse::InternalServerError().finish();
        };
        let asked = async |caller: &Caller| asked(route, &request, caller, payload, read).await;
        let performed = perform(&ctx, door(&request, route.name), |came| verdict(came, success), asked).await;
        answer::<O>(&request, &ctx, success, performed).await
    })
    .await
}

/// What a request asks for, with its Idempotency-Key where that is known.
async fn asked<O: Operation>(
    route: &Route,
    request: &HttpRequest,
    caller: &Caller,
    payload: Payload,
    read: fn(&Target, Values) -> Result<O, Error>,
) -> Asked<O> {
    Sender::note(request, caller.user);
    let body =
        if takes_body(request) { whole_body(request, caller, payload).await } else { Ok(Bytes::new()) };
    let body = match body {
        Ok(body) => body,
        Err(error) => return Err(error).into(),
    };
    let values = values(request, route.fields, &body);
    let (replay, sound) = match replay(request, &body) {
        Ok(replay) => (replay, Ok(())),
        Err(fault) => (None, Err(fault)),
    };
    let values = Invalid::together(values, sound).map(|(values, ())| values);
    let operation = values.map_err(Error::from).and_then(|values| read(&target(request), values));
    Asked { operation, replay, turn: turn_wait::<O>(request, caller) }
}

/// Runs to its end even where the client goes away: what was begun is settled and written down. A panic in it is an
/// internal error of this request alone.
pub async fn whole(request: HttpRequest, work: impl Future<Output = HttpResponse> + 'static) -> HttpResponse {
    match actix_web::rt::spawn(work.in_current_span()).await {
        Ok(answer) => answer,
        Err(_) => match request.app_data::<Data<OperationContext>>() {
            Some(ctx) => envelope::failure(&request, ctx, &Error::internal("the request's task panicked")),
            None => HttpResponse::InternalServerError().finish(),
        },
    }
}

fn door(request: &HttpRequest, name: &'static str) -> Door {
    Door {
        credential: credential::credential(request),
        surface: Surface::Rest,
        address: peer::address(request),
        client: peer::client(request),
        entry: Entry::Route(name),
    }
}

/// The status that the activity view shows.
fn verdict<R>(came: &Result<Answer<R>, Error>, success: fn(&R) -> StatusCode) -> String {
    match came {
        Ok(Answer::Fresh(reply)) => success(reply).as_str().to_owned(),
        Ok(Answer::Stored(stored)) => stored.status.to_string(),
        Err(failed) => error::status(failed).as_str().to_owned(),
    }
}

/// GET and DELETE say everything in the address; a body beside it is looked at by nobody.
pub fn takes_body(request: &HttpRequest) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD | Method::DELETE)
}

/// The body, where the route has fields for one: it must be JSON, unless there is none.
pub async fn whole_body(request: &HttpRequest, caller: &Caller, payload: Payload) -> Result<Bytes, Error> {
    let body = body::read(request, payload, Sender::Account(caller.user), body::most(request)).await?;
    if !body.is_empty() {
        body::must_be_json(request)?;
    }
    Ok(body)
}

/// The fields of a request: from the query, or from the body; then the query must be empty.
pub fn values(request: &HttpRequest, fields: &'static [Field], body: &[u8]) -> Result<Values, Invalid> {
    if !takes_body(request) {
        return fields::read_query(request.query_string(), fields);
    }
    let query = fields::read_query(request.query_string(), &[]);
    let needs_none = fields.iter().all(|field| !field.required);
    let none = body.is_empty() && needs_none;
    let body = if none { Ok(Values::default()) } else { fields::read_json(body, fields) };
    Invalid::together(query, body).map(|(_, body)| body)
}

/// The variable parts of the path, in order, percent-decoded once. The router matches a path in which `%2F`, `%25` and
/// `%2B` still stand, and the rest is decoded already, so the parts are taken from the path as it was sent. What is no
/// UTF-8 names nothing.
pub fn target(request: &HttpRequest) -> Target {
    let pattern = request.match_pattern().unwrap_or_default();
    let parts = pattern.split('/').zip(request.uri().path().split('/'));
    let named = parts.filter(|(pattern, _)| pattern.starts_with('{'));
    let decoded = named.map(|(_, part)| {
        percent_encoding::percent_decode_str(part).decode_utf8().map(Cow::into_owned).unwrap_or_default()
    });
    Target(decoded.collect())
}

fn replay(request: &HttpRequest, body: &[u8]) -> Result<Option<Replay>, Invalid> {
    if *request.method() != Method::POST {
        return Ok(None);
    }
    let mut names = request.headers().get_all(IDEMPOTENCY_KEY);
    let Some(name) = names.next() else { return Ok(None) };
    if names.any(|other| other != name) {
        return Err(Invalid::new(IDEMPOTENCY_KEY, "is given more than once"));
    }
    Replay::new(name.as_bytes(), request.method().as_str(), request.path(), body).map(Some)
}

async fn answer<O: Operation>(
    request: &HttpRequest,
    ctx: &OperationContext,
    success: fn(&O::Reply) -> StatusCode,
    performed: Performed<O::Reply>,
) -> HttpResponse {
    let Performed { quota, result, claim } = performed;
    let mut answer = match &result {
        Ok(Answer::Fresh(reply)) => envelope::success(request, ctx, success(reply), reply),
        Ok(Answer::Stored(stored)) => replayed(request, ctx, stored),
        Err(error) => envelope::failure(request, ctx, error),
    };
    if let Some(quota) = &quota {
        envelope::limit(&mut answer, quota);
    }
    if let Some(claim) = claim {
        let settled = settle::<O>(ctx, claim, &result, success);
        match Sender::of(request) {
            Sender::Account(user) => on_behalf_of(user, settled).await,
            Sender::Network(_) => settled.await,
        }
    }
    answer
}

/// Keeps what is sent, or frees the Idempotency-Key where the request may be tried again (contract.md, section 11).
async fn settle<O: Operation>(
    ctx: &OperationContext,
    claim: Claim,
    result: &Result<Answer<O::Reply>, Error>,
    success: fn(&O::Reply) -> StatusCode,
) {
    let kept = match result {
        Ok(Answer::Fresh(reply)) => {
            let kept = O::kept(reply).ok();
            kept.map(|body| Stored { status: success(reply).as_u16(), body: body.to_string() })
        }
        Ok(Answer::Stored(_)) => None,
        Err(failed) => {
            let status = error::status(failed).as_u16();
            let is_kept = matches!(status, 402 | 404 | 409 | 410 | 422);
            let body = serde_json::to_string(&ErrorBody::from(failed)).ok();
            body.filter(|_| is_kept).map(|body| Stored { status, body })
        }
    };
    let done = match kept {
        Some(stored) => ctx.idempotency.settle(claim, stored).await,
        None => ctx.idempotency.give_up(claim).await,
    };
    if let Err(error) = done {
        tracing::warn!(cause = error.chain(), "could not keep the answer of an Idempotency-Key");
    }
}

fn replayed(request: &HttpRequest, ctx: &OperationContext, stored: &Stored) -> HttpResponse {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let body: Value = serde_json::from_str(&stored.body).unwrap_or_default();
    let mut answer = if status.is_success() {
        envelope::success(request, ctx, status, &body)
    } else {
        envelope::told(request, ctx, status, &body)
    };
    answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    answer
}

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use tracing::{info_span, warn};

    use super::*;
    use crate::log::tests::Sink;

    fn panicking_handler() -> HttpResponse {
        panic!("a bug")
    }

    /// Of the fault table (row 29).
    #[actix_web::test]
    async fn panic_of_a_handler_is_a_500_of_its_request_alone() {
        let request = TestRequest::default().to_http_request();

        let answer = whole(request.clone(), async { panicking_handler() }).await;
        let next = whole(request, async { HttpResponse::Ok().finish() }).await;

        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(next.status(), StatusCode::OK);
    }

    #[actix_web::test]
    async fn what_is_logged_while_a_request_is_answered_names_it() {
        let writer = Sink::default();
        let lines = writer.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let _log = tracing::subscriber::set_default(log);
        let work = async {
            warn!("something to look at");
            HttpResponse::Ok().finish()
        };

        let request = TestRequest::default().to_http_request();
        let answer = whole(request, work).instrument(info_span!("request", request.id = "r-42")).await;

        assert_eq!(answer.status(), StatusCode::OK);
        let said = lines.said();
        assert!(said.contains("something to look at") && said.contains("r-42"), "{said}");
    }
}
