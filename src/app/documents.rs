//! Files of documents: `GET /documents/:id/pages/:n/picture`, `GET /documents/:id/media` and `GET /documents/:id/captions.vtt`.

use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::pdf_pages::PictureWidth;
use actors::target::Target;
use errors::Error;
use url::form_urlencoded;
use values::id::DocumentId;

use super::handler::WebApp;
use crate::http::envelope::failure;
use crate::http::originals;
use crate::http::session::signed_in;
use crate::routing;

/// Mounts the routes of the files.
pub fn mount(config: &mut ServiceConfig) {
    config
        .service(resource("/documents/{id}/pages/{number}/picture", web::get().to(serve_picture)))
        .service(resource("/documents/{id}/media", web::get().to(serve_media)))
        .service(resource("/documents/{id}/captions.vtt", web::get().to(serve_captions)));
}

fn resource(path: &str, route: actix_web::Route) -> actix_web::Resource {
    let methods = ["GET", "HEAD"].map(str::to_owned).to_vec();
    web::resource(path).route(route).default_service(routing::refuse::<WebApp>(methods))
}

async fn serve_picture(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    answer(&request, &ctx, send_picture(&request, &ctx).await)
}

async fn serve_media(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    answer(&request, &ctx, send_media(&request, &ctx).await)
}

async fn serve_captions(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    answer(&request, &ctx, send_captions(&request, &ctx).await)
}

fn answer(
    request: &HttpRequest,
    ctx: &OperationContext,
    response: Result<HttpResponse, Error>,
) -> HttpResponse {
    response.unwrap_or_else(|error| failure(request, ctx, &error))
}

async fn send_picture(request: &HttpRequest, ctx: &OperationContext) -> Result<HttpResponse, Error> {
    let caller = signed_in(request, &ctx.auth).await?;
    let number = Target(vec![request.match_info().query("number").to_owned()]).id(0)?;
    let width = picture_width(request.query_string())?;
    originals::page_picture(request, ctx, &caller, document_of(request)?, number, width).await
}

async fn send_media(request: &HttpRequest, ctx: &OperationContext) -> Result<HttpResponse, Error> {
    let caller = signed_in(request, &ctx.auth).await?;
    originals::media(request, ctx, &caller, document_of(request)?).await
}

async fn send_captions(request: &HttpRequest, ctx: &OperationContext) -> Result<HttpResponse, Error> {
    let caller = signed_in(request, &ctx.auth).await?;
    originals::captions(ctx, &caller, document_of(request)?).await
}

fn document_of(request: &HttpRequest) -> Result<DocumentId, Error> {
    Target(vec![request.match_info().query("id").to_owned()]).id(0)
}

/// Returns the width that the query asks for; without one it is 1200.
fn picture_width(query: &str) -> Result<PictureWidth, Error> {
    let width = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "w");
    let Some((_, width)) = width else { return Ok(PictureWidth::W1200) };
    width.parse().map_err(|()| Error::invalid("w", "must be one of 132, 800, 1200, 1600, 2400"))
}
