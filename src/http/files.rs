//! PUT /files/:id: receives the bytes of an announced upload. No key is needed: the URL is signed.

use actix_web::http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName};
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use futures_util::StreamExt;
use library::uploads::{PutRequest, UploadReceiver};
use values::time::Timestamp;

use super::body::BodyError;
use super::envelope::failure;
use super::task::run_to_end;
use super::upload_deadline::UploadDeadline;

/// Mounts the route. Other methods are refused with the envelope of REST.
pub fn mount(config: &mut ServiceConfig) {
    let other = |request: HttpRequest, ctx: Data<OperationContext>| async move {
        failure(&request, &ctx, &Error::MethodNotAllowed(vec!["PUT".to_owned()]))
    };
    config.service(web::resource("/files/{id}").route(web::put().to(put)).default_service(web::to(other)));
}

async fn put(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    run_to_end(request.clone(), async move {
        match receive(&ctx, &request, payload).await {
            Ok(()) => HttpResponse::Ok().finish(),
            Err(error) => failure(&request, &ctx, &error),
        }
    })
    .await
}

async fn receive(ctx: &OperationContext, request: &HttpRequest, mut payload: Payload) -> Result<(), Error> {
    // A part would be stored as the whole file (RFC 9110, section 14.5).
    if request.headers().contains_key(CONTENT_RANGE) {
        return Err(Error::invalid("Content-Range", "is not supported; send the whole file in one request"));
    }
    let put = put_request(request)?;
    let mut receiver = UploadReceiver::begin(&ctx.core, &ctx.uploads, &ctx.disk, &put).await?;
    let mut deadline = UploadDeadline::start();
    loop {
        let next = tokio::select! {
            biased;
            // First, because a body that is buffered already would otherwise be received to its end.
            replaced = receiver.wait_until_replaced() => {
                receiver.abort().await;
                return Err(replaced);
            }
            next = deadline.wait_for(payload.next()) => next,
        };
        let written = match next {
            Ok(None) => return receiver.finish().await,
            Ok(Some(Ok(bytes))) => {
                deadline.record_received(bytes.len());
                deadline.wait_for_write(receiver.write(&bytes)).await
            }
            Ok(Some(Err(_))) => Err(BodyError::Incomplete.into()),
            Err(timeout) => Err(timeout),
        };
        // The part that was written is removed at once; after a `kill -9` the start removes it (row 32).
        if let Err(error) = written {
            receiver.abort().await;
            return Err(error);
        }
    }
}

/// Reads the signed parameters of the upload's URL, which must be the only ones, and the headers that describe the body.
fn put_request(request: &HttpRequest) -> Result<PutRequest, Error> {
    let refused =
        || Error::UploadRefused("the query of the upload URL is not valid; use putUrl as it was returned");
    let (mut expires_at, mut signature) = (None, None);
    for (name, value) in url::form_urlencoded::parse(request.query_string().as_bytes()) {
        match &*name {
            "expires" if expires_at.is_none() => expires_at = value.parse().ok(),
            "signature" if signature.is_none() => signature = Some(value.into_owned()),
            // The signature does not cover other parameters, and a repeated one is ambiguous.
            _ => return Err(refused()),
        }
    }
    let header = |name: HeaderName| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
    Ok(PutRequest {
        upload: request.match_info().get("id").and_then(|id| id.parse().ok()).ok_or(Error::not_found())?,
        expires_at: expires_at.map(Timestamp::from_millis).ok_or_else(refused)?,
        signature: signature.ok_or_else(refused)?,
        content_type: header(CONTENT_TYPE),
        content_length: header(CONTENT_LENGTH).and_then(|length| length.parse().ok()),
    })
}
