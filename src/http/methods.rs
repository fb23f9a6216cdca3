//! TRACE and CONNECT: methods that no route has, and that are refused as such on every path.

use actix_web::Error;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use actors::app::App;
use actors::error;

use crate::rest::failure;

/// Whether a method asks for the request to be sent back or for a tunnel.
pub fn is_unserved(method: &Method) -> bool {
    matches!(*method, Method::TRACE | Method::CONNECT)
}

/// The methods that routes of this service have.
pub fn known_methods() -> Vec<String> {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(str::to_owned).to_vec()
}

/// Answers TRACE and CONNECT with 405 and `Allow`. Under /rest the key comes first (contract.md, section 11), so there the
/// routes refuse them.
///
/// # Errors
/// Those of the service behind it.
pub async fn refuse_unserved(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let under_rest = request.path() == "/rest" || request.path().starts_with("/rest/");
    if !is_unserved(request.method()) || under_rest {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let (request, _) = request.into_parts();
    let response = refusal(&request);
    Ok(ServiceResponse::new(request, response))
}

fn refusal(request: &HttpRequest) -> HttpResponse {
    match request.app_data::<Data<App>>() {
        Some(app) if request.path().starts_with("/app/api/") => {
            failure(request, app, &error::Error::MethodNotAllowed(known_methods()))
        }
        Some(_) | None => {
            HttpResponse::MethodNotAllowed().insert_header((ALLOW, known_methods().join(", "))).finish()
        }
    }
}
