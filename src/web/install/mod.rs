//! What makes the web app installable: the manifest, the worker that keeps opened pages readable offline, and the page that it shows
//! otherwise.

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::web::ServiceConfig;
use askama::Template;
use errors::Error;
use serde_json::json;

use super::assets::{asset_url, asset_urls};
use super::page::public::PublicRequest;
use super::page::route::PageRoute;
use crate::parts;
use crate::web::filters;

/// The worker, in which names of assets stand for their addresses.
const WORKER: &str = include_str!("sw.js");

/// The page for everything that was not opened before.
#[derive(Template)]
#[template(path = "install/offline.html")]
struct OfflinePage;

parts!(OfflinePage {});

/// Mounts the manifest, the worker and the page.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/manifest.webmanifest").get_public(manifest).mount(config);
    PageRoute::new("/sw.js").get_public(worker).mount(config);
    PageRoute::new("/offline").get_public(show).mount(config);
}

async fn show(request: PublicRequest) -> Result<HttpResponse, Error> {
    request.show(&OfflinePage)
}

async fn manifest(request: PublicRequest) -> Result<HttpResponse, Error> {
    let icon =
        |name, sizes: &str, kind: &str| json!({ "src": asset_url(name), "sizes": sizes, "type": kind });
    let locale = request.locale();
    let body = json!({
        "id": "/",
        "name": "Carrel",
        "short_name": "Carrel",
        "description": locale.t("install-description"),
        "lang": locale.language.name(),
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#fbfbf9",
        "theme_color": "#1e5a46",
        "icons": [
            icon("icon.svg", "any", "image/svg+xml"),
            icon("icon-192.png", "192x192", "image/png"),
            icon("icon-512.png", "512x512", "image/png"),
        ],
        // A share sheet sends what it has: the page for saving reads all three.
        "share_target": {
            "action": "/add",
            "method": "GET",
            "params": { "title": "title", "text": "text", "url": "url" },
        },
        "shortcuts": [
            { "name": locale.t("shell-save"), "url": "/add" },
            { "name": locale.t("shell-library"), "url": "/library" },
        ],
    });
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/manifest+json"))
        .insert_header((CACHE_CONTROL, "public, max-age=3600"))
        .body(body.to_string()))
}

async fn worker(_: PublicRequest) -> Result<HttpResponse, Error> {
    let assets = serde_json::to_string(&asset_urls().collect::<Vec<_>>()).map_err(Error::internal)?;
    let script = WORKER.replace("[\"ASSETS\"]", &assets);
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/javascript; charset=utf-8"))
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header((HeaderName::from_static("service-worker-allowed"), HeaderValue::from_static("/")))
        .body(script))
}
