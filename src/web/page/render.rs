//! Renders templates, whole or in the parts that a script asked for.

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use errors::Error;
use sha2::{Digest, Sha256};

use super::headers::CARREL_PART;

pub use crate::web::render_context::RenderContext;

/// Parts that one request may ask for.
const MAX_PARTS: usize = 16;
/// Bytes that are reserved for a page before it is written.
const INITIAL_PAGE_BYTES: usize = 16 << 10;

/// A template of a page. [`parts!`](crate::parts) implements it.
pub trait PageView: Template {
    /// The ids of its parts.
    const PART_IDS: &'static [&'static str];

    /// Renders the element with this id; `None` if the page has no such part.
    fn render_part(&self, id: &str, context: &RenderContext) -> Option<askama::Result<String>>;
}

/// Implements [`PageView`] for a template: the ids of its parts, each with the method of the block that renders the element.
///
/// ```ignore
/// #[derive(Template)]
/// #[template(path = "library/library.html", blocks = ["list", "facets"])]
/// struct LibraryPage { .. }
/// parts!(LibraryPage { "list" => as_list, "facets" => as_facets });
/// ```
#[macro_export]
macro_rules! parts {
    ($page:ty { $($id:literal => $block:ident),* $(,)? }) => {
        impl $crate::web::page::render::PageView for $page {
            const PART_IDS: &'static [&'static str] = &[$($id),*];

            fn render_part(
                &self,
                id: &str,
                context: &$crate::web::page::render::RenderContext,
            ) -> Option<askama::Result<String>> {
                $(if id == $id {
                    return Some($crate::web::page::render::render_with(&self.$block(), context));
                })*
                let _ = (id, context);
                None
            }
        }
    };
}

/// Renders a template in a context.
///
/// # Errors
/// [`askama::Error`] when a filter fails, which is a fault of the program.
pub fn render_with(template: &impl Template, context: &RenderContext) -> askama::Result<String> {
    let mut html = String::with_capacity(INITIAL_PAGE_BYTES);
    template.render_into_with_values(&mut html, context)?;
    html.shrink_to_fit();
    Ok(html)
}

/// Returns the ids of the parts that a script asks for; empty for a browser, which asks for the page.
pub fn requested_parts(request: &HttpRequest) -> Vec<&str> {
    let header = request.headers().get(CARREL_PART).and_then(|value| value.to_str().ok());
    header.unwrap_or_default().split_whitespace().take(MAX_PARTS).collect()
}

/// Responds with a page, or with its requested parts. A page that has none of them is sent whole, and the script takes the parts out.
/// `toast` is the rendered message of an action, which comes with the parts.
///
/// # Errors
/// [`Error::Internal`] when the template cannot be rendered.
pub fn respond(
    request: &HttpRequest,
    status: StatusCode,
    page: &impl PageView,
    context: &RenderContext,
    toast: Option<&str>,
) -> Result<HttpResponse, Error> {
    let failed = |error: askama::Error| Error::internal(error);
    let mut html = String::new();
    for id in requested_parts(request) {
        if let Some(part) = page.render_part(id, context) {
            html.push_str(&part.map_err(failed)?);
        }
    }
    if html.is_empty() {
        html = render_with(page, context).map_err(failed)?;
    } else {
        html.push_str(toast.unwrap_or_default());
    }
    let tag = entity_tag(request, status, &html);
    if let Some((tag, true)) = &tag {
        return Ok(HttpResponse::NotModified().insert_header((ETAG, tag.as_str())).finish());
    }
    let mut response = HttpResponse::build(status);
    response.insert_header((CONTENT_TYPE, "text/html; charset=utf-8"));
    if let Some((tag, false)) = tag {
        response.insert_header((ETAG, tag));
    }
    Ok(response.body(html))
}

/// Returns the tag of an answer and whether the client has the same one, for scripts that ask again and again: they send `If-None-Match`
/// with the first request too. Other answers have none, because a tag keeps them from being compressed.
fn entity_tag(request: &HttpRequest, status: StatusCode, html: &str) -> Option<(String, bool)> {
    let known = request.headers().get(IF_NONE_MATCH)?.to_str().ok()?;
    if status != StatusCode::OK {
        return None;
    }
    let digest = Sha256::digest(html.as_bytes());
    let tag: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let is_same = known == tag;
    Some((tag, is_same))
}
