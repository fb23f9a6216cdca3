//! The context of operations, for handlers that get only the request. Other handlers take it as an argument.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;

/// Returns the context of operations.
///
/// # Errors
/// An [`HttpResponse`] with status 500 for a request without one. The server gives it to every request, so only a fault of the
/// program causes this.
pub fn operation_context(request: &HttpRequest) -> Result<Data<OperationContext>, HttpResponse> {
    let ctx = request.app_data::<Data<OperationContext>>().cloned();
    ctx.ok_or_else(|| HttpResponse::InternalServerError().finish())
}
