//! Connections: their limits, slow readers and malformed requests.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use values::plan::Plan;

use crate::support::{Home, Program, Server, eventually, program};

async fn connect(server: &Server) -> TcpStream {
    let anonymous = server.anonymous();
    TcpStream::connect(anonymous.base_url().trim_start_matches("http://")).await.unwrap()
}

/// Connects from this local IP address.
pub async fn connect_from(service: SocketAddr, from: Ipv4Addr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(service).await.unwrap()
}

/// Sends a request and reads until the connection ends.
pub async fn exchange(server: &Server, request: &str) -> String {
    let mut stream = connect(server).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    // The server may reset a connection on which it left bytes unread.
    let _ = stream.read_to_end(&mut response).await;
    String::from_utf8_lossy(&response).into_owned()
}

/// Returns whether a request on this connection is answered.
async fn is_served(stream: &mut TcpStream) -> bool {
    let request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut response = [0; 12];
    stream.write_all(request).await.is_ok()
        && stream.read_exact(&mut response).await.is_ok()
        && response == *b"HTTP/1.1 200"
}

/// Covers the fault table (row 28).
#[actix_web::test]
async fn connections_over_the_limit_of_an_ip_address_are_closed() {
    let server = Server::start_with(&[("SERVER__MAX_CONNECTIONS_PER_ADDRESS", "3")]).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(&server).await;
        assert!(is_served(&mut stream).await);
        open.push(stream);
    }

    assert!(!is_served(&mut connect(&server).await).await);

    open.pop();
    eventually("a connection slot is free", async || {
        is_served(&mut connect(&server).await).await.then_some(())
    })
    .await;
}

/// Covers the fault table (row 28).
#[actix_web::test]
async fn flood_of_connections_leaves_files_to_the_database() {
    // At most 128 connections, and 32 per IP address.
    const MAX_FILES: usize = 256;
    const ADDRESSES: u8 = 6;
    const CONNECTIONS_PER_ADDRESS: usize = 50;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start_with_max_files(&home, "data", MAX_FILES, &[]).await;
    let key = running.client_with_key(&id, &secret);
    key.get("/rest/v2/usage").await.data(200);
    let service = running.anonymous().base_url().trim_start_matches("http://").parse().unwrap();
    let mut flood = Vec::new();
    for address in 0..ADDRESSES {
        for _ in 0..CONNECTIONS_PER_ADDRESS {
            flood.push(connect_from(service, Ipv4Addr::new(127, 0, 1, address)).await);
        }
    }

    // Uses the connection that is already open.
    let bookmark = key.save_text("https://example.org/a", "A heron in the reeds.").await;
    key.wait_for(&bookmark, "ready").await;

    drop(flood);
    let anonymous = running.anonymous();
    eventually("new connections are served", async || {
        let response = anonymous.try_send(Method::GET, "/healthz", None).await;
        response.is_ok_and(|response| response.status == 200).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn connections_of_one_ip_address_leave_room_for_others() {
    // At most 384 connections: fewer than the one IP address opens.
    const MAX_FILES: usize = 512;
    const CONNECTIONS: usize = 400;
    const WAITS_FOR_REQUEST: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    const WAITS_FOR_BODY: &str = "POST /app/api/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n";
    for sent in [WAITS_FOR_REQUEST, WAITS_FOR_BODY] {
        let home = Home::new().await;
        let running = Program::start_with_max_files(&home, "data", MAX_FILES, &[]).await;
        let anonymous = running.anonymous();
        let service = anonymous.base_url().trim_start_matches("http://").parse().unwrap();

        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = connect_from(service, Ipv4Addr::new(127, 0, 1, 1)).await;
            // One over the limit may be closed already.
            let _ = stream.write_all(sent.as_bytes()).await;
            held.push(stream);
        }
        let response =
            timeout(Duration::from_secs(2), anonymous.try_send(Method::GET, "/healthz", None)).await;

        let response =
            response.unwrap_or_else(|_| panic!("a new connection waits behind {CONNECTIONS} of {sent:?}"));
        assert_eq!(response.unwrap().status, 200);
    }
}

/// Covers the threat table (row H2).
#[actix_web::test]
async fn bare_lf_in_a_head_gets_400_and_a_closed_connection() {
    let server = Server::start().await;

    for request in [
        "GET /healthz HTTP/1.1\nHost: x\n\n",
        "GET /healthz HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\nHost: x\r\n\r\n",
    ] {
        let response = exchange(&server, request).await;

        let last = response.rfind("HTTP/1.1 ").and_then(|at| response.get(at..)).unwrap_or_default();
        assert!(last.starts_with("HTTP/1.1 400 "), "{request:?}: {response}");
    }
}

#[actix_web::test]
async fn head_over_96_kib_gets_400_and_a_closed_connection() {
    let server = Server::start().await;
    let request = |padding: usize| {
        format!("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: {}\r\n\r\n", "y".repeat(padding))
    };

    let longer = exchange(&server, &request(96 << 10)).await;
    let long = exchange(&server, &request(95 << 10)).await;

    assert!(longer.starts_with("HTTP/1.1 400 "), "{longer}");
    assert!(long.starts_with("HTTP/1.1 200 "), "{long}");
}

#[actix_web::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = Server::start().await;
    let requests = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nPOST /oauth/token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    let response = exchange(&server, requests).await;

    let statuses: Vec<&str> =
        response.split("HTTP/1.1 ").skip(1).filter_map(|response| response.get(..3)).collect();
    assert_eq!(statuses, ["200", "404", "400", "200"], "{response}");
}

/// Covers the threat table (row H6).
#[actix_web::test]
async fn trace_and_connect_are_refused_with_allow_on_every_path() {
    const PATHS: [&str; 8] = [
        "/",
        "/healthz",
        "/docs",
        "/nowhere",
        "/mcp",
        "/app/api/session",
        "/app/api/nowhere",
        "/oauth/token",
    ];
    let server = Server::start().await;

    for path in PATHS {
        let request = format!("TRACE {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let response = exchange(&server, &request).await.to_ascii_lowercase();

        assert!(response.starts_with("http/1.1 405 "), "{path}: {response}");
        assert!(response.contains("\r\nallow: get, "), "{path}: {response}");
    }
    let tunnel = exchange(&server, "CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(tunnel.starts_with("HTTP/1.1 405 "), "{tunnel}");
    let key = server.user(Plan::Pro).await.full_key().await;
    for path in ["/rest/v2/usage", "/rest/v2/nowhere", "/rest"] {
        let response = key.send(Method::TRACE, path, None).await;
        assert_eq!(
            (response.error_code(405), response.header("allow").get(..3)),
            ("METHOD_NOT_ALLOWED", Some("GET"))
        );
    }
}

/// Covers the threat table (row H4).
#[actix_web::test]
async fn responses_vary_by_credential() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for response in [key.get("/rest/v2/usage").await, server.anonymous().get("/rest/v2/usage").await] {
        assert!(response.header("vary").contains("Authorization"), "{}", response.status);
        assert_eq!(response.header("cache-control"), "no-store");
    }
}

/// Covers the fault table (row 26).
#[actix_web::test]
async fn client_that_does_not_read_is_closed() {
    const REQUESTS: usize = 2000;
    let server = Server::start_with(&[("SERVER__WRITE_TIMEOUT_SECONDS", "1")]).await;
    let mut stream = connect(&server).await;

    stream
        .write_all("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(REQUESTS).as_bytes())
        .await
        .unwrap();

    eventually("the connection is reset", async || match stream.try_write(b"\r\n") {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Some(()),
        Ok(_) | Err(_) => None,
    })
    .await;
}
