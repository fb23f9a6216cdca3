//! PUT /files/:id: takes the bytes of an announced upload in. The signed address is all that it asks for: no key.

use actix_web::http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName};
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use library::uploads::{Arrival, Pass, Said};
use entity::time::Timestamp;
use futures_util::StreamExt;

use super::pace::{LONGEST, SILENCE, late};
use crate::rest::{failure, whole};

/// Mounts it.
pub fn mount(config: &mut ServiceConfig) {
    let other = |request: HttpRequest| async move {
        match request.app_data::<Data<OperationContext>>() {
            Some(ctx) => failure(&request, ctx, &Error::MethodNotAllowed(vec!["PUT".to_owned()])),
            None => HttpResponse::InternalServerError().finish(),
        }
    };
    config.service(web::resource("/files/{id}").route(web::put().to(put)).default_service(web::to(other)));
}

async fn put(request: HttpRequest, payload: Payload) -> HttpResponse {
    whole(request.clone(), async move {
        let Some(ctx) = request.app_data::<Data<OperationContext>>().cloned() else {
            return HttpResponse::InternalServerError().finish();
        };
        let taken = tokio::time::timeout(LONGEST, take(&ctx, &request, payload)).await;
        match taken.unwrap_or_else(|_| Err(late())) {
            Ok(()) => HttpResponse::Ok().finish(),
            Err(error) => failure(&request, &ctx, &error),
        }
    })
    .await
}

async fn take(ctx: &OperationContext, request: &HttpRequest, mut payload: Payload) -> Result<(), Error> {
    // A part would be kept as if it were the whole (RFC 9110, section 14.5).
    if request.headers().contains_key(CONTENT_RANGE) {
        return Err(Error::invalid("Content-Range", "is not supported; send the whole file in one request"));
    }
    let mut arrival = Arrival::begin(ctx, &pass(request)?, said(request)).await?;
    loop {
        let next = tokio::select! {
            biased;
            next = tokio::time::timeout(SILENCE, payload.next()) => next,
            () = arrival.replaced() => {
                arrival.end().await;
                return Err(Error::Conflict("another request is sending this file; this one was stopped"));
            }
        };
        let taken = match next {
            Ok(None) => return arrival.finish().await,
            Ok(Some(Ok(bytes))) => arrival.take(&bytes).await,
            Ok(Some(Err(_))) => Err(Error::invalid("body", "ended before all of it had arrived")),
            Err(_) => Err(late()),
        };
        if let Err(error) = taken {
            arrival.end().await;
            return Err(error);
        }
    }
}

/// What stands in the address; anything else there makes it none of ours.
fn pass(request: &HttpRequest) -> Result<Pass, Error> {
    let refused =
        || Error::UploadRefused("the query of the upload URL is not valid; use putUrl as it was returned");
    let (mut until, mut signature) = (None, None);
    for (name, value) in url::form_urlencoded::parse(request.query_string().as_bytes()) {
        match &*name {
            "expires" if until.is_none() => until = value.parse().ok(),
            "signature" if signature.is_none() => signature = Some(value.into_owned()),
            _ => return Err(refused()),
        }
    }
    Ok(Pass {
        upload: request.match_info().get("id").and_then(|id| id.parse().ok()).ok_or(Error::not_found())?,
        until: until.map(Timestamp::from_millis).ok_or_else(refused)?,
        signature: signature.ok_or_else(refused)?,
    })
}

fn said(request: &HttpRequest) -> Said {
    let header = |name: HeaderName| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
    Said {
        content_type: header(CONTENT_TYPE),
        bytes: header(CONTENT_LENGTH).and_then(|length| length.parse().ok()),
    }
}
