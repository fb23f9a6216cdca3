//! TRACE and CONNECT: methods that no route has, and that are refused as such on every path.

use actix_web::Error;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::ALLOW;
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;

use crate::http::envelope::failure;
use crate::http::methods::{is_unserved, known_methods};

/// Responds to TRACE and CONNECT with 405 and `Allow` on all paths but those of REST.
pub(super) async fn refuse(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // Under /rest the key comes before everything else (contract.md, section 11), so there
    // the routes refuse these methods.
    let under_rest = request.path() == "/rest" || request.path().starts_with("/rest/");
    if !is_unserved(request.method()) || under_rest {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let (request, _) = request.into_parts();
    let response = refusal(&request);
    Ok(ServiceResponse::new(request, response))
}

fn refusal(request: &HttpRequest) -> HttpResponse {
    match request.app_data::<Data<OperationContext>>() {
        Some(ctx) if request.path().starts_with("/app/api/") => {
            failure(request, ctx, &errors::Error::MethodNotAllowed(known_methods()))
        }
        Some(_) | None => {
            HttpResponse::MethodNotAllowed().insert_header((ALLOW, known_methods().join(", "))).finish()
        }
    }
}
