//! The description of the REST API (OpenAPI 3.1), generated from the route tables and the types of requests and replies. Every
//! route of the tables is described.

mod codes;
mod commands;
mod document;
mod example;
mod operation;
mod page;
mod responses;

use std::sync::OnceLock;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use actors::context::OperationContext;

pub use codes::{CODES, Code, codes_of_route};
pub use document::document;

use crate::http::compression::SharedDocument;

/// The page loads nothing from other origins and sends nothing to them.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
const STYLE: &str = include_str!("assets/docs.css");
const SCRIPT: &str = include_str!("assets/docs.js");

/// Mounts /openapi.json, and /docs with the assets of its page.
pub fn mount(config: &mut ServiceConfig) {
    config
        .app_data(Data::new(RenderedDocuments::default()))
        .route("/openapi.json", web::get().to(serve_document))
        .route("/docs", web::get().to(serve_page))
        .route("/docs/docs.css", web::get().to(async || asset("text/css; charset=utf-8", STYLE)))
        .route("/docs/docs.js", web::get().to(async || asset("text/javascript; charset=utf-8", SCRIPT)));
}

/// The description and its page. They are rendered once, because they change only with the version of the program.
#[derive(Default)]
struct RenderedDocuments {
    document: OnceLock<SharedDocument>,
    page: OnceLock<Result<SharedDocument, askama::Error>>,
}

async fn serve_document(
    request: HttpRequest,
    ctx: Data<OperationContext>,
    rendered: Data<RenderedDocuments>,
) -> HttpResponse {
    let document =
        rendered.document.get_or_init(|| SharedDocument::new(document(&ctx.core.base_url).to_string()));
    let mut response = cacheable(HttpResponse::Ok());
    response.content_type("application/json");
    document.respond(&request, response)
}

async fn serve_page(
    request: HttpRequest,
    ctx: Data<OperationContext>,
    rendered: Data<RenderedDocuments>,
) -> HttpResponse {
    match rendered.page.get_or_init(|| page::render(&document(&ctx.core.base_url)).map(SharedDocument::new)) {
        Ok(html) => {
            let mut response = cacheable(HttpResponse::Ok());
            response
                .insert_header((CONTENT_SECURITY_POLICY, POLICY))
                .insert_header(("Referrer-Policy", "no-referrer"))
                .content_type("text/html; charset=utf-8");
            html.respond(&request, response)
        }
        Err(cause) => {
            tracing::error!(%cause, "could not render the page of the API description");
            HttpResponse::InternalServerError().finish()
        }
    }
}

fn asset(kind: &'static str, content: &'static str) -> HttpResponse {
    cacheable(HttpResponse::Ok()).content_type(kind).body(content)
}

/// Lets caches keep a response for five minutes.
fn cacheable(mut response: HttpResponseBuilder) -> HttpResponseBuilder {
    // Not longer: the response changes with the version of the program, which is not part of the URL.
    response.insert_header((CACHE_CONTROL, "public, max-age=300"));
    response
}
