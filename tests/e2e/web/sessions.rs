//! Sessions of signed-in browsers: a user has a hundred at most.

use std::time::Duration;

use actors::auth::{accounts, sessions};
use values::plan::Plan;

use crate::support::{Client, PASSWORD, Response, Server};

/// Sessions that a user has at most.
const MAX_SESSIONS: usize = 100;
/// Sessions are ordered by the millisecond in which they are opened.
const MILLISECOND: Duration = Duration::from_millis(1);

/// Opens this many sessions of a user, one after another.
async fn open_sessions(server: &Server, email: &str, number: usize) {
    let core = &server.context().core;
    let owner = accounts::by_email(core, email).await.unwrap();
    for _ in 0..number {
        server.clock.advance(MILLISECOND);
        sessions::open_session(core, &owner, None, None).await.unwrap();
    }
}

#[track_caller]
fn assert_ended(response: &Response) {
    assert_eq!(response.error_code(401), "NOT_SIGNED_IN");
}

/// Asserts that these sessions are valid.
async fn assert_valid<const N: usize>(sessions: [&Client; N]) {
    for session in sessions {
        session.get("/app/api/notices").await.data(200);
    }
}

#[actix_web::test]
async fn session_beyond_the_maximum_ends_the_oldest() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (of_other, oldest) = (other.sign_in().await, user.sign_in().await);
    server.clock.advance(MILLISECOND);
    let second = user.sign_in().await;
    open_sessions(&server, user.email(), MAX_SESSIONS - 2).await;
    assert_valid([&oldest]).await;

    server.clock.advance(MILLISECOND);
    let newest = user.sign_in().await;

    assert_ended(&oldest.get("/app/api/notices").await);
    assert_valid([&second, &newest, &of_other]).await;
}

#[actix_web::test]
async fn session_that_replaces_another_ends_no_further_one() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let oldest = user.sign_in().await;
    open_sessions(&server, user.email(), MAX_SESSIONS - 2).await;
    server.clock.advance(MILLISECOND);
    let replaced = user.sign_in().await;

    server.clock.advance(MILLISECOND);
    let newest = replaced.sign_in(user.email(), PASSWORD).await;

    assert_ended(&replaced.get("/app/api/notices").await);
    assert_valid([&oldest, &newest]).await;
}

#[actix_web::test]
async fn session_is_valid_although_the_clock_was_set_back() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    open_sessions(&server, user.email(), MAX_SESSIONS).await;

    server.clock.set_back(Duration::from_secs(3600));
    let newest = user.sign_in().await;

    assert_valid([&newest]).await;
}
