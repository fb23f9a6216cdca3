//! /feeds/push/:id/:token: the callback of WebSub. Hubs verify a subscription there and notify of new entries. No key is needed: a
//! verification is accepted only for a subscription that this server requested, and a notification only with its signature.

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::ingest::feed::websub::callback::{
    CallbackUrl, VerificationRequest, confirm_subscription, ensure_subscribed, handle_notification,
};
use errors::Error;

use super::budget::Sender;
use super::error::status;
use super::task::run_to_end;
use super::{body, peer};

/// The longest notification: no feed is longer (row P4).
const MAX_NOTIFICATION_BYTES: usize = 5 << 20;
/// The longest challenge that is sent back. A hub that sends a longer one is refused.
const MAX_CHALLENGE_BYTES: usize = 4096;

/// Mounts the callback, which hubs call without a key.
pub fn mount(config: &mut ServiceConfig) {
    let other = || async { HttpResponse::MethodNotAllowed().finish() };
    config.service(
        web::resource("/feeds/push/{id}/{token}")
            .route(web::get().to(verify))
            .route(web::post().to(notify))
            .default_service(web::to(other)),
    );
}

/// Verification of a subscription (WebSub, section 5.3).
async fn verify(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    let confirmed = async {
        let verification = verification(request.query_string()).ok_or(Error::not_found())?;
        confirm_subscription(&ctx.ingest.feeds, &callback_url(&request)?, verification).await
    };
    match confirmed.await {
        Ok(challenge) => HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, "text/plain; charset=utf-8"))
            // The body is text of the sender, and must not be taken for HTML of this origin.
            .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(challenge),
        Err(error) => refusal(&error),
    }
}

/// Notification of new entries (WebSub, section 7).
async fn notify(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    run_to_end(request.clone(), async move {
        let handled = async {
            let callback = callback_url(&request)?;
            // Before the body is read: a request for an unknown callback must not cost memory for it.
            ensure_subscribed(&ctx.ingest.feeds, &callback).await?;
            let sender = Sender::anonymous(peer::ip_address(&request));
            let body = body::read_body(&request, payload, sender, MAX_NOTIFICATION_BYTES).await?;
            let signature = request.headers().get("X-Hub-Signature").and_then(|value| value.to_str().ok());
            handle_notification(&ctx.ingest.feeds, &callback, signature, &body).await
        };
        match handled.await {
            Ok(()) => HttpResponse::Accepted().finish(),
            Err(error) => refusal(&error),
        }
    })
    .await
}

fn refusal(error: &Error) -> HttpResponse {
    if error.spec().is_logged {
        tracing::warn!(cause = error.chain(), "could not process a request of a WebSub hub");
    }
    // 410: a hub stops then (WebSub, section 7).
    let status = if matches!(error, Error::NotFound(_)) { StatusCode::GONE } else { status(error) };
    HttpResponse::new(status)
}

fn callback_url(request: &HttpRequest) -> Result<CallbackUrl, Error> {
    let part = |name| request.match_info().get(name).ok_or(Error::not_found());
    // A malformed id is answered like an unknown one.
    let source = part("id")?.parse().map_err(|_| Error::not_found())?;
    Ok(CallbackUrl { source, token: part("token")?.to_owned() })
}

fn verification(query: &str) -> Option<VerificationRequest> {
    let (mut mode, mut topic, mut challenge, mut lease_seconds) = (None, None, None, None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "hub.mode" => mode = Some(value.into_owned()),
            "hub.topic" => topic = Some(value.into_owned()),
            "hub.challenge" if value.len() <= MAX_CHALLENGE_BYTES => challenge = Some(value.into_owned()),
            "hub.lease_seconds" => lease_seconds = value.parse().ok(),
            _ => {}
        }
    }
    Some(VerificationRequest { mode: mode?, topic: topic?, challenge, lease_seconds })
}
