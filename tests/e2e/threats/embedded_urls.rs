//! Resources that a page refers to are not fetched (row S15).

use values::plan::Plan;

use crate::support::{Reply, Server, Site};

/// Covers the threat table (row S15).
#[actix_web::test]
async fn urls_embedded_in_a_page_are_not_fetched() {
    const EMBEDDED_PATHS: [&str; 9] = [
        "/image.png",
        "/social.png",
        "/favicon.ico",
        "/style.css",
        "/script.js",
        "/frame",
        "/sound.mp3",
        "/use.svg",
        "/oembed",
    ];
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let [image, social, icon, style, script, frame, sound, vector, oembed] =
        EMBEDDED_PATHS.map(|path| site.page(path, [Reply::Status(200)]));
    let text = "<p>A heron stood in the reeds, and the quagga watched it for a long time in the morning.</p>"
        .repeat(8);
    let page = format!(
        "<html><head><title>Heron</title><link rel=icon href=\"{icon}\"><link rel=stylesheet href=\"{style}\">\
         <link rel=alternate type=\"application/json+oembed\" href=\"{oembed}\">\
         <meta property=\"og:image\" content=\"{social}\"><script src=\"{script}\"></script></head><body><article>\
         <img src=\"{image}\"><iframe src=\"{frame}\"></iframe><audio src=\"{sound}\"></audio>\
         <svg><use href=\"{vector}#a\"/></svg>{text}</article></body></html>"
    );
    let url = site.page("/page", [Reply::Html(page)]);

    let saved = key.save(serde_json::json!({ "url": url })).await;
    key.wait_for(&saved, "ready").await;

    assert_eq!(EMBEDDED_PATHS.map(|path| site.request_count(path)), [0; 9]);
}
