//! GET /exports/:id/file: the archive of an export, sent while it is read.

use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::target::Target;
use errors::Error;

use super::handler::WebApp;
use crate::http::envelope::failure;
use crate::http::originals;
use crate::http::session::signed_in;
use crate::routing;

/// Mounts the route of the archive.
pub fn mount(config: &mut ServiceConfig) {
    let methods = ["GET", "HEAD"].map(str::to_owned).to_vec();
    config.service(
        web::resource("/exports/{id}/file")
            .route(web::get().to(serve))
            .default_service(routing::refuse::<WebApp>(methods)),
    );
}

async fn serve(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    match send(&request, &ctx).await {
        Ok(response) => response,
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn send(request: &HttpRequest, ctx: &OperationContext) -> Result<HttpResponse, Error> {
    let caller = signed_in(request, &ctx.auth).await?;
    let target = Target(vec![request.match_info().query("id").to_owned()]);
    originals::export_file(ctx, &caller, target.id(0)?).await
}
