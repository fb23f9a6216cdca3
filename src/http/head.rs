//! HEAD answers like GET, without the body (RFC 9110, section 9.3.2): the same handler runs, and what it answers is sent
//! as far as its headers. The connection knows by itself that no body goes out to a HEAD.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;

/// Lets a HEAD through as the GET that it asks about.
///
/// # Errors
/// Those of the service behind it.
pub async fn as_get(
    mut request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    if request.method() == Method::HEAD {
        request.head_mut().method = Method::GET;
    }
    next.call(request).await
}
