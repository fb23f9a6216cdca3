//! HEAD is answered like GET without the body (RFC 9110, section 9.3.2): the same handler runs, and the connection sends only the
//! headers of its response.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;

/// Handles a HEAD request as the GET request with the same target.
pub async fn as_get(
    mut request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    // A route of actix-web for GET does not respond to HEAD, and MCP clients probe the metadata with it.
    if request.method() == Method::HEAD {
        request.head_mut().method = Method::GET;
    }
    next.call(request).await
}
