//! The pictures of the page of a document, which come through the server.

use values::plan::Plan;

use super::reader_pages::{path_of, save_page};
use crate::support::{Reply, Server, Site};

/// A PNG of one transparent pixel.
const PIXEL: [u8; 64] = [
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0b, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63,
    0x60, 0, 2, 0, 0, 5, 0, 1, 0x7a, 0x5e, 0xab, 0x3f, 0, 0, 0, 0, b'I', b'E', b'N', b'D',
];

/// Returns a page with these pictures, at most two, between paragraphs.
fn page_with_pictures(urls: &[&str]) -> String {
    let prose = |bird: &str| {
        format!("<p>{}</p>", format!("{bird} wait in the reeds for a fish, all day long. ").repeat(6))
    };
    let figure = |(url, bird): (&&str, &str)| {
        format!("<figure><img src='{url}' width=600 height=400></figure>{}", prose(bird))
    };
    let figures: String = urls.iter().zip(["Storks", "Cranes"]).map(figure).collect();
    format!("<html><body><article><h1>Herons</h1>{}{figures}</article></body></html>", prose("Herons"))
}

/// Returns the addresses of the pictures of a page.
fn picture_addresses(page: &str) -> Vec<String> {
    page.split("<img src=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// Covers the threat table (rows X1, S1): a page shows neither the address of a picture nor its bytes.
#[actix_web::test]
async fn pictures_come_through_the_server_or_not_at_all() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let picture = site.page(
        "/heron.png",
        [Reply::File("image/png", [PIXEL.as_slice(), &[0xae, 0x42, 0x60, 0x82]].concat())],
    );
    let drawing = site.page(
        "/drawing.svg",
        [Reply::File("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec())],
    );
    let html = page_with_pictures(&[&picture, &drawing]);
    let saved = save_page(&key, &html).await;
    let page = session.get(&path_of(&saved)).await;
    let addresses = picture_addresses(&page.text);
    assert_eq!(addresses.len(), 2, "{}", page.text);
    assert!(!page.text.contains("heron.png") && !page.text.contains("drawing.svg"), "{}", page.text);

    let (status, headers, bytes) = session.download(&addresses[0]).await;

    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "image/webp"));
    assert_eq!((&bytes[..4], &bytes[8..12]), (&b"RIFF"[..], &b"WEBP"[..]));
    assert!(headers["cache-control"].to_str().unwrap().contains("private"));
    session.download(&addresses[0]).await;
    assert_eq!(site.request_count("/heron.png"), 1);
    assert_eq!(session.download(&addresses[1]).await.0, 404);
    let sized = session.get(&path_of(&saved)).await;
    assert!(sized.text.contains("width=\"1\" height=\"1\""), "{}", sized.text);
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.download(&addresses[0]).await.0, 404);
    let unknown = format!("/img/{}?d={}", "0".repeat(32), saved["documentId"].as_str().unwrap());
    assert_eq!(session.download(&unknown).await.0, 404);
}

#[actix_web::test]
async fn host_that_asks_for_a_delay_gets_no_request_for_a_picture() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let headers = vec![("retry-after", "600".to_owned())];
    let refused = site.page("/one.png", [Reply::Plain { status: 429, headers, body: String::new() }]);
    let next = site.page("/two.png", [Reply::Status(404)]);
    let saved = save_page(&key, &page_with_pictures(&[&refused, &next])).await;
    let addresses = picture_addresses(&session.get(&path_of(&saved)).await.text);

    let first = session.get(&addresses[0]).await;
    let second = session.get(&addresses[1]).await;

    assert_eq!((first.status, second.status), (404, 503));
    assert!(!second.header("retry-after").is_empty());
    assert!(!site.was_requested("/two.png"));
}
