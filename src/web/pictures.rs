//! GET /img/HASH?d=DOCUMENT: a picture of a document of the signed-in user, which this server fetched and encoded again. Nothing else of
//! another site ever comes from here.

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::ServiceConfig;
use actors::operations::reading::show_picture;
use actors::target::Target;
use errors::Error;

use super::page::request::PageRequest;
use super::page::route::PageRoute;

/// Mounts the pictures.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/img/{hash}").get(show).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let document = Target(vec![request.query.text("d").to_owned()]);
    let hash = request.target().text(0)?;
    let picture = show_picture(&request.ctx, &request.viewer.caller, document.id(0)?, &hash).await?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "image/webp"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"))
        // The address is that of one picture of one user, so a copy of it stays right.
        .insert_header((CACHE_CONTROL, "private, max-age=31536000, immutable"))
        .body(picture.webp.clone()))
}
