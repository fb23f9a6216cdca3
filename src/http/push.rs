//! /feeds/push/:id/:told: where hubs ask back and say that a feed has something new (WebSub). No key: a question is good where
//! the subscription was asked for, and what is new where it is signed.

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use actors::ingest::feed::websub::callback::{
    CallbackUrl, VerificationRequest, confirm_subscription, ensure_subscribed, handle_notification,
};

use super::budget::Sender;
use super::{body, peer};
use crate::rest::{status, whole};

/// No feed is longer (faults-and-threats.md, P4).
const MOST: usize = 5 << 20;
/// Longest challenge that is said back.
const CHALLENGE: usize = 4096;

/// Mounts it.
pub fn mount(config: &mut ServiceConfig) {
    let none = || async { HttpResponse::MethodNotAllowed().finish() };
    config.service(
        web::resource("/feeds/push/{id}/{told}")
            .route(web::get().to(asked))
            .route(web::post().to(told))
            .default_service(web::to(none)),
    );
}

async fn asked(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    let said = async {
        let question = question(request.query_string()).ok_or(Error::not_found())?;
        confirm_subscription(&ctx.feeds, &place(&request)?, question).await
    };
    match said.await {
        Ok(challenge) => HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, "text/plain; charset=utf-8"))
            .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(challenge),
        Err(error) => refused(&error),
    }
}

async fn told(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    whole(request.clone(), async move {
        let taken = async {
            let at = place(&request)?;
            ensure_subscribed(&ctx.feeds, &at).await?;
            let sender = Sender::stranger(peer::address(&request));
            let body = body::read(&request, payload, sender, MOST).await?;
            let signature = request.headers().get("X-Hub-Signature").and_then(|value| value.to_str().ok());
            handle_notification(&ctx.feeds, &at, signature, &body).await
        };
        match taken.await {
            Ok(()) => HttpResponse::Accepted().finish(),
            Err(error) => refused(&error),
        }
    })
    .await
}

fn refused(error: &Error) -> HttpResponse {
    if let Error::Internal(_) = error {
        tracing::warn!(cause = error.chain(), "could not process a request of a hub");
    }
    // 410: a hub stops then (WebSub, section 7).
    let status = if matches!(error, Error::NotFound(_)) { StatusCode::GONE } else { status(error) };
    HttpResponse::new(status)
}

fn place(request: &HttpRequest) -> Result<CallbackUrl, Error> {
    let part = |name| request.match_info().get(name).ok_or(Error::not_found());
    let source = part("id")?.parse().map_err(|_| Error::not_found())?;
    Ok(CallbackUrl { source, token: part("told")?.to_owned() })
}

fn question(query: &str) -> Option<VerificationRequest> {
    let (mut mode, mut topic, mut challenge, mut lease) = (None, None, None, None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "hub.mode" => mode = Some(value.into_owned()),
            "hub.topic" => topic = Some(value.into_owned()),
            "hub.challenge" if value.len() <= CHALLENGE => challenge = Some(value.into_owned()),
            "hub.lease_seconds" => lease = value.parse().ok(),
            _ => {}
        }
    }
    Some(VerificationRequest { mode: mode?, topic: topic?, challenge, lease_seconds: lease })
}
