//! Compression of responses, as the client accepts it.

use std::io::Read;

use flate2::read::GzDecoder;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Key, OAuthClient, Server, eventually};

/// A response whose body was not decoded.
struct RawResponse {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl RawResponse {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn coding(&self) -> &str {
        self.header("content-encoding")
    }

    fn varies_by_coding(&self) -> bool {
        self.header("vary").split(',').any(|name| name.trim().eq_ignore_ascii_case("accept-encoding"))
    }

    /// The body as it was before compression.
    fn decoded(&self) -> Vec<u8> {
        let mut decoder: Box<dyn Read + '_> = match self.coding() {
            "" => Box::new(&self.body[..]),
            "gzip" => Box::new(GzDecoder::new(&self.body[..])),
            "br" => Box::new(brotli::Decompressor::new(&self.body[..], 4096)),
            other => panic!("an unknown coding: {other}"),
        };
        let mut decoded = Vec::new();
        decoder.read_to_end(&mut decoded).unwrap();
        decoded
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.decoded()).unwrap()
    }
}

/// Sends a request with this `Accept-Encoding`; with none if it is empty.
async fn send(
    client: &Client,
    method: Method,
    path: &str,
    accepted: &str,
    body: Option<Value>,
) -> RawResponse {
    let mut client = client.without_decoding();
    if !accepted.is_empty() {
        client = client.with("accept-encoding", accepted);
    }
    let (status, headers, body) = client.receive(method, path, body).await;
    RawResponse { status, headers, body }
}

async fn get(client: &Client, path: &str, accepted: &str) -> RawResponse {
    send(client, Method::GET, path, accepted, None).await
}

/// A key, and the path of a document with 20,000 characters on a page.
async fn long_document(server: &Server) -> (Key, String) {
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save_text("https://example.org/a", &"A heron in the reeds. ".repeat(2000)).await;
    key.wait_for(&saved, "ready").await;
    (key, format!("/rest/v2/documents/{}?maxChars=20000", saved["documentId"].as_str().unwrap()))
}

#[actix_web::test]
async fn long_response_is_compressed_as_the_client_accepts() {
    let server = Server::start().await;
    let (key, long) = long_document(&server).await;
    let short = long.replace("20000", "2000");

    for path in [&long, &short] {
        let plain = get(&key, path, "").await;
        assert_eq!((plain.status, plain.coding()), (200, ""));
        assert!(plain.varies_by_coding() && plain.header("vary").contains("Authorization"));
        for (accepted, coding) in [
            ("gzip", "gzip"),
            ("br", "br"),
            ("gzip, deflate, br, zstd", "br"),
            ("gzip;q=1.0, br;q=0.5", "gzip"),
            ("br;q=0, *;q=0.5", "gzip"),
            ("identity", ""),
            ("gzip;q=0, br;q=0", ""),
            ("gzip;q=0.5, identity", ""),
            ("zstd, deflate", ""),
        ] {
            let received = get(&key, path, accepted).await;

            assert_eq!((received.status, received.coding()), (200, coding), "{accepted}");
            assert_eq!(received.header("content-length"), received.body.len().to_string(), "{accepted}");
            assert_eq!(received.json()["data"]["text"], plain.json()["data"]["text"], "{accepted}");
            assert!(received.varies_by_coding(), "{accepted}");
            assert!(coding.is_empty() || received.body.len() < plain.body.len() / 2, "{accepted}");
        }
    }
}

#[actix_web::test]
async fn public_documents_are_compressed() {
    let server = Server::start().await;
    let anonymous = server.anonymous();

    for path in ["/openapi.json", "/docs", "/docs/docs.css"] {
        let plain = get(&anonymous, path, "").await;
        for coding in ["gzip", "br", "gzip"] {
            let received = get(&anonymous, path, coding).await;

            assert_eq!((received.status, received.coding()), (200, coding), "{path}");
            assert!(received.decoded() == plain.body && received.varies_by_coding(), "{path}");
            assert_eq!(received.header("content-type"), plain.header("content-type"));
        }
        assert!(plain.varies_by_coding() && plain.coding().is_empty(), "{path}");
    }
}

#[actix_web::test]
async fn short_response_is_not_compressed() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for path in ["/rest/v1/tags", "/rest/v1/nowhere", "/healthz"] {
        let received = get(&key, path, "gzip, br").await;

        assert!(received.body.len() < 1024 && received.coding().is_empty(), "{path}");
    }
}

#[actix_web::test]
async fn head_has_the_headers_of_the_compressed_response() {
    let server = Server::start().await;
    let (key, path) = long_document(&server).await;
    let whole = get(&key, &path, "gzip").await;

    let head = send(&key, Method::HEAD, &path, "gzip", None).await;

    assert!(head.body.is_empty() && head.varies_by_coding());
    assert_eq!((head.status, head.coding()), (200, "gzip"));
    assert_eq!(head.header("content-length"), whole.header("content-length"));
}

#[actix_web::test]
async fn mcp_response_is_compressed() {
    let server = Server::start().await;
    let assistant = server.user(Plan::Pro).await.assistant().await;
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });

    for coding in ["gzip", "br", ""] {
        let received = send(&assistant.client, Method::POST, "/mcp", coding, Some(request.clone())).await;

        assert_eq!((received.status, received.coding()), (200, coding));
        assert!(received.json()["result"]["tools"].is_array() && received.varies_by_coding());
        assert!(received.header("vary").contains("Origin"));
    }
}

#[actix_web::test]
async fn response_to_a_cookie_is_compressed_for_own_pages_only() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let path = "/app/api/assistants";
    assert!(get(&session, path, "").await.body.len() >= 1024);

    let own = get(&session.clone().with("sec-fetch-site", "same-origin"), path, "gzip").await;
    let unknown = get(&session, path, "gzip").await;

    assert_eq!((own.status, own.coding(), unknown.coding()), (200, "gzip", ""));
    assert!(own.varies_by_coding() && own.header("vary").contains("Cookie"));
    for site in ["cross-site", "same-site", "none"] {
        let other = get(&session.clone().with("sec-fetch-site", site), path, "gzip").await;
        assert_eq!((other.status, other.coding()), (200, ""), "{site}");
    }
}

#[actix_web::test]
async fn oauth_responses_are_not_compressed() {
    let server = Server::start().await;

    let assistant = OAuthClient::new(server.anonymous()).await;

    let page = get(&server.anonymous(), &assistant.authorization_url(&[]), "gzip, br").await;

    assert!(page.status == 200 && page.body.len() >= 1024 && page.coding().is_empty());
}

#[actix_web::test]
async fn export_archive_is_not_compressed() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await.with("sec-fetch-site", "same-origin");
    let begun = session.post("/app/api/exports", json!({})).await;
    let path = format!("/app/api/exports/{}", begun.data(202)["export"]["id"].as_str().unwrap());
    eventually("the export is packed", async || {
        session.get(&path).await.data(200)["export"]["url"].as_str().map(drop)
    })
    .await;

    let archive = get(&session, &format!("{path}/file"), "gzip, br").await;

    assert_eq!(
        (archive.status, archive.header("content-type"), archive.coding()),
        (200, "application/zip", "")
    );
    assert_eq!(archive.header("content-length"), archive.body.len().to_string());
    assert!(archive.body.starts_with(b"PK"));
}
