//! Attacks in the head of a request: line breaks, ambiguous framing, and a forged host, origin or sender
//! (rows H1, H2, H3, H5, H7, X9).

use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use super::{key_and_browser, routes};
use crate::limits::connections::exchange;
use crate::support::{Client, OAuthClient, Response, Server, redirect_params};

fn headers(response: &Response) -> String {
    format!("{:?}", response.headers).to_ascii_lowercase()
}

/// Covers the threat table (row H1).
#[actix_web::test]
async fn line_breaks_in_a_request_split_no_header() {
    const BREAK: &str = "\r\nX-Forged: 1\r\n\r\n<script>";
    let server = Server::start().await;
    let (key, browser) = key_and_browser(&server).await;
    let assistant = OAuthClient::new(server.anonymous()).await;

    let redirect = browser.get(&assistant.authorization_url(&[("state", BREAK), ("scope", "mcp")])).await;
    assert_eq!(redirect_params(&redirect)["state"], BREAK);
    let mut responses = vec![redirect];
    for path in ["/rest/v2/", "/rest/v2/search?q=", "/oauth/authorize?client_id=", "/read/", "/files/", "/"] {
        responses.push(key.get(&format!("{path}%0d%0aX-Forged:%201%0d%0a%0d%0a<script>")).await);
    }
    for (path, body) in [
        ("/rest/v2/uploads", json!({ "filename": BREAK, "contentType": "application/pdf", "bytes": 9 })),
        ("/rest/v1/bookmarks", json!({ "url": format!("https://example.org/{BREAK}") })),
        ("/rest/v1/bookmarks", json!({ "url": "https://example.org/", "title": BREAK, "tags": [BREAK] })),
        ("/oauth/register", json!({ "redirect_uris": [format!("https://example.org/{BREAK}")] })),
    ] {
        responses.push(key.post(path, body).await);
    }

    for response in responses {
        assert!(!response.headers.contains_key("x-forged"), "{}", headers(&response));
        assert!(!headers(&response).contains("<script>"), "{}", headers(&response));
        assert!(response.status < 500, "{}", response.text);
    }
}

/// Covers the threat table (row H1).
#[actix_web::test]
async fn request_id_of_a_client_is_replaced() {
    let server = Server::start().await;

    for sent in ["7", "0190a7c4-0000-7000-8000-000000000000", "a, b"] {
        let response = server.anonymous().with("x-request-id", sent).get("/healthz").await;

        assert_ne!(response.header("x-request-id"), sent);
        assert!(Uuid::parse_str(response.header("x-request-id")).is_ok(), "{}", headers(&response));
    }
}

/// Covers the threat table (row H2).
#[actix_web::test]
async fn ambiguous_framing_gets_400_and_a_closed_connection() {
    const AMBIGUOUS: [&str; 22] = [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
        "Transfer-Encoding: \u{b}chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Content-Length : 4\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\r\n\tContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: 4, 4\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x4\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Host: y\r\n",
        "X: a\0b\r\n",
    ];
    let server = Server::start().await;

    for ambiguous in AMBIGUOUS {
        let pipelined = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let head = format!("POST /oauth/token HTTP/1.1\r\nHost: x\r\n{ambiguous}\r\n");
        let response = exchange(&server, &format!("{head}0\r\n\r\n{pipelined}")).await;

        assert!(response.starts_with("HTTP/1.1 400 "), "{ambiguous:?}: {response}");
        assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{ambiguous:?}: {response}");
    }
}

/// Covers the threat table (row H3).
#[actix_web::test]
async fn responses_do_not_contain_a_forged_host() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    let forged = |client: &Client| {
        // A name of the local network: requests with it are served.
        let client = client.clone().with("host", "evilhost").with("x-forwarded-host", "evil.example");
        client.with("forwarded", "host=evil.example;proto=http").with("x-forwarded-proto", "ftp")
    };
    let mut responses = Vec::new();
    for (client, routes) in routes(&server).await {
        let client = forged(&client);
        // The self-test fetches the server by its configured name, which does not resolve here.
        for request in routes.iter().filter(|request| request.route.name() != "POST /connection-test") {
            responses.push(request.send(&client).await);
        }
        let file = json!({ "filename": "a.pdf", "contentType": "application/pdf", "bytes": 9 });
        if client.get("/rest/v2/usage").await.status == 200 {
            let ticket = client.post("/rest/v2/uploads", file).await;
            let url = ticket.data(201)["putUrl"].as_str().unwrap().to_owned();
            assert!(url.starts_with("https://carrel.example/files/"), "{url}");
        }
    }
    let (anonymous, assistant) = (forged(&server.anonymous()), OAuthClient::new(server.anonymous()).await);
    for path in
        ["/", "/openapi.json", "/docs", "/nowhere", "/oauth/authorize", &assistant.authorization_url(&[])]
    {
        responses.push(anonymous.get(path).await);
    }

    for (response, name) in
        responses.iter().flat_map(|response| [(response, "evilhost"), (response, "evil.example")])
    {
        assert!(!response.text.contains(name), "{}", response.text);
        assert!(!headers(response).contains(name), "{}", headers(response));
    }
    let called = anonymous.post("/mcp", json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).await;
    assert_eq!(called.status, 403, "a page that rebinds a name sends the name as its host");
}

/// Covers the threat table (row H3).
#[actix_web::test]
async fn unknown_host_is_refused_before_anything_else() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    for (client, routes) in routes(&server).await {
        let rebound = client.with("host", "evil.example:8080");
        for request in &routes {
            let refused = request.send(&rebound).await;
            assert_eq!(refused.error_code(400), "VALIDATION_FAILED", "{}", request.route.name());
            assert_eq!(refused.faults(), ["Host"], "{}", request.route.name());
        }
    }
    let status = async |host: &str, path: &str| server.anonymous().with("host", host).get(path).await.status;

    for path in ["/offline", "/openapi.json", "/metrics", "/.well-known/oauth-authorization-server"] {
        assert_eq!(status("evil.example", path).await, 400, "{path}");
        assert_eq!(status("carrel.example", path).await, 200, "{path}");
    }
    for host in ["evil.example", "10.1.2.3:8080", "carrel:8080"] {
        for path in ["/healthz", "/readyz"] {
            assert_eq!(status(host, path).await, 200, "{host} {path}");
        }
    }
    assert_eq!(status("10.1.2.3:8080", "/metrics").await, 200);
}

/// Covers the threat table (row H5).
#[actix_web::test]
async fn routes_with_credentials_send_no_cors_headers() {
    let server = Server::start().await;

    for (client, routes) in routes(&server).await {
        let foreign = client.with("origin", "https://evil.example");
        for request in &routes {
            let asking = foreign.clone().with("access-control-request-method", request.route.method.as_str());
            for response in
                [request.send(&foreign).await, asking.send(Method::OPTIONS, &request.path, None).await]
            {
                let shared = headers(&response).contains("access-control-");
                assert!(!shared, "{}: {}", request.route.name(), headers(&response));
            }
        }
    }
}

/// Covers the threat table (row X9).
#[actix_web::test]
async fn api_responses_are_json_and_not_sniffed() {
    let server = Server::start().await;

    for (client, routes) in routes(&server).await {
        for request in &routes {
            for query in ["", "?q=%3Cscript%3Ealert(1)%3C/script%3E"] {
                let browser = client.clone().with("accept", "text/html");
                let response = request.send_with(&browser, query, request.body()).await;

                assert_eq!(response.header("content-type"), "application/json", "{}", request.route.name());
                assert_eq!(response.header("x-content-type-options"), "nosniff", "{}", request.route.name());
            }
        }
    }
}

/// Covers the threat table (row H7).
#[actix_web::test]
async fn forwarded_ips_count_behind_a_trusted_proxy_only() {
    let spoofed = |client: &Client, n: usize| {
        let address = format!("198.51.100.{n}");
        let client = client.clone().with_key("no key at all").with("x-forwarded-for", &address);
        client.with("x-real-ip", &address).with("forwarded", &format!("for={address}"))
    };
    let direct = Server::start().await;
    let proxied = Server::start_with(&[("SERVER__TRUSTED_PROXIES", "127.0.0.1/32")]).await;

    for n in 0..20 {
        assert_eq!(
            spoofed(&direct.anonymous(), n).get("/rest/v2/usage").await.error_code(401),
            "API_KEY_INVALID"
        );
    }
    for n in 20..60 {
        assert_eq!(
            spoofed(&direct.anonymous(), n).get("/rest/v2/usage").await.error_code(429),
            "RATE_LIMITED"
        );
        assert_eq!(
            spoofed(&proxied.anonymous(), n).get("/rest/v2/usage").await.error_code(401),
            "API_KEY_INVALID"
        );
    }
    // The IP addresses before the last one are sent by the client and not trusted.
    for n in 0..21 {
        let chain = format!("192.0.2.{n}, 198.51.100.200");
        let client = proxied.anonymous().with_key("no key at all").with("x-forwarded-for", &chain);
        let refused = client.get("/rest/v2/usage").await;
        assert_eq!(refused.status, if n < 20 { 401 } else { 429 }, "{n}");
    }
}
