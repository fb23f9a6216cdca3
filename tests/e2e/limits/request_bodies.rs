//! Stalled, slow and unauthenticated request bodies: they do not affect other clients.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use actors::service::scratch_folder;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use values::plan::Plan;

use crate::limits::connections::connect_from;
use crate::support::{Client, Home, Key, Program, Server, eventually, files, program};

/// Connects from this IP address and sends the head of a sign-in request without its body.
async fn begin_sign_in(service: SocketAddr, from: Ipv4Addr) -> TcpStream {
    begin_post_from(service, from, "/app/api/session", 1000).await
}

/// Connects from this IP address and sends the head of a request with a body of this length.
async fn begin_post_from(service: SocketAddr, from: Ipv4Addr, path: &str, length: usize) -> TcpStream {
    let mut stream = connect_from(service, from).await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {service}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Connects and sends the head of a bookmark POST with a body of this length.
async fn begin_post(client: &Client, authorization: Option<&str>, length: usize) -> TcpStream {
    let host = client.base_url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.unwrap();
    let key = authorization.map_or_else(String::new, |value| format!("Authorization: {value}\r\n"));
    let head = format!(
        "POST /rest/v1/bookmarks HTTP/1.1\r\nHost: {host}\r\n{key}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn begin_own_post(key: &Key, length: usize) -> TcpStream {
    begin_post(key, Some(&key.header("authorization")), length).await
}

/// Reads until the end of the connection.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    // The server may reset a connection on which it left bytes unread.
    let _ = stream.read_to_end(&mut response).await;
    String::from_utf8_lossy(&response).into_owned()
}

/// Reads the status of the next response; 0 if the connection ends before it.
async fn read_status(stream: &mut TcpStream) -> u16 {
    let mut begin = *b"HTTP/1.1 000";
    let _ = stream.read_exact(&mut begin).await;
    String::from_utf8_lossy(&begin[9..]).parse().unwrap_or_default()
}

/// Covers the fault table (row 25).
#[actix_web::test]
async fn stalled_bodies_of_one_key_leave_others_served() {
    // The last one exceeds the 256 MiB of an account.
    const STALLED: usize = 9;
    const SENT_BYTES: usize = 30 << 20;
    // A body that is not refused stalls for minutes.
    const REFUSAL_TIMEOUT: Duration = Duration::from_secs(20);
    let server = Server::start().await;
    let (greedy, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (greedy, other) = (greedy.full_key().await, other.full_key().await);
    let chunk = vec![b' '; 1 << 20];
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut stream = begin_own_post(&greedy, SENT_BYTES + 1).await;
        for _ in 0..SENT_BYTES >> 20 {
            // A body over the share of the key is refused in the middle.
            if stream.write_all(&chunk).await.is_err() {
                break;
            }
        }
        stalled.push(stream);
    }

    let small =
        other.post("/rest/v1/bookmarks", json!({ "url": "https://example.org/a", "text": "A heron." })).await;
    let text = "heron ".repeat(100_000);
    let large =
        other.post("/rest/v1/bookmarks", json!({ "url": "https://example.org/b", "text": text })).await;

    assert_eq!((small.status, large.status), (201, 201), "{} {}", small.body, large.body);
    let refused = timeout(REFUSAL_TIMEOUT, read_status(stalled.last_mut().unwrap())).await;
    // A connection on which bytes are left unread may be reset before its response is read.
    assert!(matches!(refused, Ok(503 | 0)), "the account has more than its share: {refused:?}");
}

/// Covers the fault table (row 25).
#[actix_web::test]
async fn stalled_posts_of_many_ips_leave_a_client_served() {
    // At most 384 connections, whatever the number of workers: fewer than the test opens.
    const MAX_FILES: usize = 512;
    const ADDRESSES: u8 = 5;
    const CONNECTIONS_PER_ADDRESS: usize = 90;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let settings = [("SERVER__BODY_GRACE_SECONDS", "3")];
    let running = Program::start_with_max_files(&home, "data", MAX_FILES, &settings).await;
    let (key, anonymous) = (running.client_with_key(&id, &secret), running.anonymous());
    key.get("/rest/v2/usage").await.data(200);
    let service = anonymous.base_url().trim_start_matches("http://").parse().unwrap();

    let mut stalled = Vec::new();
    for address in 0..ADDRESSES {
        for _ in 0..CONNECTIONS_PER_ADDRESS {
            stalled.push(begin_sign_in(service, Ipv4Addr::new(127, 0, 1, address)).await);
        }
    }
    // Uses the connection that is already open.
    let bookmark = key.save_text("https://example.org/a", "A heron in the reeds.").await;

    key.wait_for(&bookmark, "ready").await;
    eventually("a new connection is served", async || {
        let response = running.anonymous().try_send(Method::GET, "/healthz", None).await;
        response.is_ok_and(|response| response.status == 200).then_some(())
    })
    .await;
    for stream in &mut stalled {
        let response = read_to_end(stream).await;
        assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    }
}

#[actix_web::test]
async fn sign_in_works_while_stalled_bodies_fill_the_memory() {
    const ADDRESSES: u8 = 10;
    // More than the share of an IP address.
    const CONNECTIONS_PER_ADDRESS: usize = 40;
    const SENT_BYTES: usize = 60_000;
    let home = Home::new().await;
    program::create_account(&home);
    let running = Program::start_with(&home, "data", &[("SERVER__BODY_GRACE_SECONDS", "600")]).await;
    let anonymous = running.anonymous();
    let service = anonymous.base_url().trim_start_matches("http://").parse().unwrap();
    let blank = vec![b' '; SENT_BYTES];
    let mut stalled = Vec::new();
    let mut stall = async |address| {
        let from = Ipv4Addr::new(127, 0, 1, address);
        let mut stream = begin_post_from(service, from, "/app/api/session", SENT_BYTES + 1).await;
        // A body over a share is refused in the middle.
        let _ = stream.write_all(&blank).await;
        stalled.push(stream);
    };
    for address in 0..ADDRESSES {
        for _ in 0..CONNECTIONS_PER_ADDRESS {
            stall(address).await;
        }
    }
    eventually("a long body from another IP address is refused", async || {
        // A body that was refused leaves memory unused.
        for address in 0..ADDRESSES {
            stall(address).await;
        }
        let from = Ipv4Addr::new(127, 0, 2, 1);
        let mut stream = begin_post_from(service, from, "/app/api/setup", SENT_BYTES).await;
        let _ = stream.write_all(&blank).await;
        (read_status(&mut stream).await == 503).then_some(())
    })
    .await;

    anonymous.sign_in(program::EMAIL, program::PASSWORD).await;
    let token = anonymous.post_form("/oauth/token", &[("grant_type", "authorization_code")]).await;
    let client = json!({ "redirect_uris": ["https://heron.example/cb"], "client_name": "Heron" });
    let registered = anonymous.post("/oauth/register", client).await;

    assert!(matches!(token.status, 400 | 401), "{}", token.body);
    assert_eq!(registered.status, 201, "{}", registered.body);
    drop(stalled);
}

/// Covers the fault table (row 25).
#[actix_web::test]
async fn slow_body_gets_408_and_a_closed_connection() {
    let server = Server::start_with(&[("SERVER__BODY_GRACE_SECONDS", "1")]).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let mut stream = begin_own_post(&key, 1000).await;
    stream.write_all(b"{").await.unwrap();

    let response = read_to_end(&mut stream).await;

    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert!(response.contains("\"code\":\"REQUEST_TIMEOUT\""), "{response}");
    assert!(response.to_ascii_lowercase().contains("connection: close"), "{response}");
}

/// Covers the fault table (row 25).
#[actix_web::test]
async fn unauthenticated_body_is_not_awaited() {
    let server = Server::start().await;
    let mut stream = begin_post(&server.anonymous(), None, 1 << 20).await;

    let response = read_to_end(&mut stream).await;

    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
}

#[actix_web::test]
async fn long_body_goes_through_a_file_and_is_read_whole() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let scratch = scratch_folder(&server.context().core.data_dir);
    let text = format!("{} kingfisher", "heron ".repeat(200_000));
    let body = json!({ "url": "https://example.org/long", "text": text }).to_string();
    let (beginning, end) = body.split_at(1 << 20);
    let mut stream = begin_own_post(&key, body.len()).await;
    assert!(files(&scratch).is_empty());

    stream.write_all(beginning.as_bytes()).await.unwrap();
    eventually("the body is written to a scratch file", async || (!files(&scratch).is_empty()).then_some(()))
        .await;
    stream.write_all(end.as_bytes()).await.unwrap();

    assert_eq!(read_status(&mut stream).await, 201);
    let bookmark = key.get("/rest/v1/bookmarks").await.data(200)["bookmarks"][0].clone();
    key.wait_for(&bookmark, "ready").await;
    assert_eq!(key.search("kingfisher").await, [bookmark["documentId"].as_str().unwrap()]);
    assert!(files(&scratch).is_empty());
}
