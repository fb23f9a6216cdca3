//! Shutdown by SIGTERM: requests are finished, and counts and saves are kept.

use std::time::{Duration, Instant};

use database::Db;
use entity::service_state;
use reqwest::Method;
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Home, Program, Server, eventually, program};

/// Covers the fault table (row 36).
#[actix_web::test]
async fn sigterm_exits_with_status_0_and_keeps_counts() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    for count in 1..=5 {
        assert_eq!(key.get("/rest/v2/usage").await.data(200)["rest"]["today"], count);
    }

    let began = Instant::now();
    let ended = running.terminate().await;

    assert_eq!(ended.code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    assert_eq!(key.get("/rest/v2/usage").await.data(200)["rest"]["today"], 6);
    assert_eq!(count_activity_rows(&running, "GET /usage").await, 6);
    assert!(running.terminate().await.success());
}

/// Covers the fault table (row 36).
#[actix_web::test]
async fn text_saved_before_sigterm_is_ready_after_restart() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let mut saved = Vec::new();
    for n in 0..10 {
        saved.push(
            key.save_text(&format!("https://example.org/{n}"), &format!("The heron number n{n}n.")).await,
        );
    }

    assert!(running.terminate().await.success());

    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    for (n, bookmark) in saved.iter().enumerate() {
        key.wait_for(bookmark, "ready").await;
        assert_eq!(key.search(&format!("n{n}n")).await, [bookmark["documentId"].as_str().unwrap()]);
    }
}

/// Covers the fault table (row 36).
#[actix_web::test]
async fn service_during_shutdown_is_alive_and_not_ready() {
    let home = Home::new().await;
    program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let anonymous = running.anonymous();
    let address = anonymous.base_url().trim_start_matches("http://").to_owned();
    let mut slow = TcpStream::connect(&address).await.unwrap();
    let head = "POST /app/api/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    slow.write_all(head.as_bytes()).await.unwrap();
    // The request is in progress once the server has read its head.
    anonymous.get("/healthz").await;

    let requests = async {
        let not_ready = eventually("the service is shutting down", async || {
            let response = anonymous.try_send(Method::GET, "/readyz", None).await.ok()?;
            (response.status == 503).then_some(response)
        })
        .await;
        // The server may close a connection during a request.
        let alive = eventually("the service is alive", async || {
            anonymous.try_send(Method::GET, "/healthz", None).await.ok()
        });
        let alive = alive.await;
        let call = eventually("the service takes no more calls", async || {
            let response = anonymous.try_send(Method::GET, "/rest/v2/search?q=x", None).await.ok()?;
            (response.status == 503).then_some(response)
        })
        .await;
        slow.write_all(b"\"a\": 1} ").await.unwrap();
        let mut response = String::new();
        slow.read_to_string(&mut response).await.unwrap();
        (not_ready, alive.status, call, response)
    };
    let (ended, (not_ready, alive, call, response)) = tokio::join!(running.terminate(), requests);

    assert!(ended.success());
    assert_eq!((&not_ready.body["ready"], alive), (&serde_json::json!(false), 200));
    assert_eq!(call.header_number("retry-after"), 1);
    assert!(response.starts_with("HTTP/1.1 400"), "what was in progress was not answered: {response}");
}

/// Covers the fault table (row 36).
#[actix_web::test]
async fn requests_on_busy_connections_are_answered_during_a_drain() {
    const CONNECTIONS: usize = 64;
    let home = Home::new().await;
    program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let address = running.anonymous().base_url().trim_start_matches("http://").to_owned();
    let mut busy = Vec::new();
    for _ in 0..CONNECTIONS {
        busy.push(actix_web::rt::spawn(request_until_closed(address.clone())));
    }
    // Each connection is busy once other requests have been answered.
    for _ in 0..20 {
        running.anonymous().get("/healthz").await;
    }

    let ended = running.terminate().await;

    assert!(ended.success());
    for outcome in futures_util::future::join_all(busy).await {
        assert_eq!(outcome.unwrap(), Ok(()));
    }
}

/// Services whose data folder does not outlast them would leave one row for each start.
#[actix_web::test]
async fn shutdown_removes_the_row_of_the_test_writes() {
    let server = Server::start().await;
    eventually("a test write", async || {
        (count_test_rows(&server.context().core.db).await == 1).then_some(())
    })
    .await;

    let (home, _) = server.stop().await;

    let db = Db::connect(&home.database_url()).await.unwrap();
    assert_eq!(count_test_rows(&db).await, 0);
}

async fn count_test_rows(db: &Db) -> u64 {
    let is_test_row = service_state::Column::Name.starts_with("round_trip:");
    service_state::Entity::find().filter(is_test_row).count(db.read()).await.unwrap()
}

/// Sends requests on one connection until a response closes it. Fails if a request gets no response.
async fn request_until_closed(address: String) -> Result<(), String> {
    let mut stream = TcpStream::connect(&address).await.map_err(|error| error.to_string())?;
    loop {
        let sent = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
        sent.map_err(|error| format!("a request could not be sent: {error}"))?;
        let head = read_response(&mut stream).await?;
        if head.to_ascii_lowercase().contains("\r\nconnection: close") {
            return Ok(());
        }
    }
}

/// Reads the next response and returns its head.
async fn read_response(stream: &mut TcpStream) -> Result<String, String> {
    let mut read = Vec::new();
    loop {
        let got = stream.read_buf(&mut read).await.map_err(|error| error.to_string())?;
        if got == 0 {
            return Err(format!("a request got no whole response: {}", String::from_utf8_lossy(&read)));
        }
        let text = String::from_utf8_lossy(&read);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
            return Ok(head.to_owned());
        }
    }
}

/// Waits until the activity no longer changes, and returns the number of rows with this route.
async fn count_activity_rows(running: &Program, route: &str) -> usize {
    let credentials = serde_json::json!({ "email": program::EMAIL, "password": program::PASSWORD });
    let signed_in = running.anonymous().post("/app/api/session", credentials).await;
    signed_in.data(200);
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let session = running.anonymous().with("cookie", &cookie);
    // The last call is written within a second.
    let mut seen = 0;
    eventually("the activity has stopped growing", async || {
        let response = session.get("/app/api/activity").await;
        let all = response.data(200)["activity"].as_array().unwrap();
        let count = all.iter().filter(|line| line["route"] == route).count();
        let rests = count == seen && count >= 6;
        seen = count;
        rests.then_some(count)
    })
    .await
}
