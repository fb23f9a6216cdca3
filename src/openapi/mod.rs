//! The description of the REST API (OpenAPI 3.1), made from what runs: the tables of routes, the tables of fields that
//! requests are read by, and the types that are answered. A route that stands in a table stands here.

mod codes;
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

pub use codes::{CODES, Code};
pub use document::document;

use crate::http::compression::SharedDocument;

/// Nothing of the page comes from elsewhere, and nothing of it goes elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
const STYLE: &str = include_str!("assets/docs.css");
const SCRIPT: &str = include_str!("assets/docs.js");

/// Mounts /openapi.json, and /docs with what its page needs.
pub fn mount(config: &mut ServiceConfig) {
    config
        .app_data(Data::new(Made::default()))
        .route("/openapi.json", web::get().to(described))
        .route("/docs", web::get().to(shown))
        .route("/docs/docs.css", web::get().to(async || asset("text/css; charset=utf-8", STYLE)))
        .route("/docs/docs.js", web::get().to(async || asset("text/javascript; charset=utf-8", SCRIPT)));
}

/// The description and its page: they are made once, for they change with the program alone.
#[derive(Default)]
struct Made {
    document: OnceLock<SharedDocument>,
    page: OnceLock<Result<SharedDocument, askama::Error>>,
}

async fn described(request: HttpRequest, ctx: Data<OperationContext>, made: Data<Made>) -> HttpResponse {
    let made = made.document.get_or_init(|| SharedDocument::new(document(&ctx.core.base_url).to_string()));
    let mut response = plainly(HttpResponse::Ok());
    response.content_type("application/json");
    made.respond(&request, response)
}

async fn shown(request: HttpRequest, ctx: Data<OperationContext>, made: Data<Made>) -> HttpResponse {
    match made.page.get_or_init(|| page::render(&document(&ctx.core.base_url)).map(SharedDocument::new)) {
        Ok(html) => {
            let mut response = plainly(HttpResponse::Ok());
            response
                .insert_header((CONTENT_SECURITY_POLICY, POLICY))
                .insert_header(("Referrer-Policy", "no-referrer"))
                .content_type("text/html; charset=utf-8");
            html.respond(&request, response)
        }
        Err(cause) => {
            tracing::error!(%cause, "the page of the API's description could not be made");
            HttpResponse::InternalServerError().finish()
        }
    }
}

fn asset(kind: &'static str, content: &'static str) -> HttpResponse {
    plainly(HttpResponse::Ok()).content_type(kind).body(content)
}

/// It changes with the version of the program alone, which has no name in the address: caches ask again soon.
fn plainly(mut answer: HttpResponseBuilder) -> HttpResponseBuilder {
    answer.insert_header((CACHE_CONTROL, "public, max-age=300"));
    answer
}
