//! Setting a new password by a link that is sent by e-mail.

use std::path::{Path, PathBuf};
use std::time::Duration;

use actors::auth::accounts;
use serde_json::json;
use tempfile::TempDir;
use values::plan::Plan;

use crate::support::{Client, OAuthClient, PASSWORD, Response, Server, User, eventually};

const NEW_PASSWORD: &str = "seven bitterns by the weir";
const FORGOT: &str = "/app/api/password/forgot";
const RESET: &str = "/app/api/password/reset";

/// A server that writes its e-mails into a folder.
async fn start_with_mail() -> (Server, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&[("MAIL__URL", &format!("file://{}", folder.path().display()))]).await;
    (server, folder)
}

async fn request_link(client: &Client, email: &str) -> Response {
    client.post(FORGOT, json!({ "email": email })).await
}

/// Returns the secrets of the links in the e-mails of a folder.
fn tokens(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let emails = files.filter(|path| path.extension().is_some_and(|kind| kind == "eml"));
    let token = |path: PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let (_, rest) = text.split_once("/reset?token=")?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    emails.filter_map(token).collect()
}

/// Waits until this number of e-mails with links has been sent, and returns the secrets.
async fn wait_for_links(server: &Server, folder: &TempDir, number: usize) -> Vec<String> {
    eventually("the links are sent", async || {
        // One e-mail is sent at a time, and the next a second of this clock later.
        server.clock.advance(Duration::from_secs(1));
        let found = tokens(folder.path());
        (found.len() >= number).then_some(found)
    })
    .await
}

async fn reset(client: &Client, token: &str, password: &str) -> Response {
    client.post(RESET, json!({ "token": token, "new": password })).await
}

async fn sign_in_status(server: &Server, user: &User<'_>, password: &str) -> u16 {
    let credentials = json!({ "email": user.email(), "password": password });
    server.anonymous().post("/app/api/session", credentials).await.status
}

#[actix_web::test]
async fn link_sets_a_password_once_and_ends_sessions_and_apps() {
    let (server, folder) = start_with_mail().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let anonymous = server.anonymous();
    request_link(&anonymous, &user.email().to_uppercase()).await.data(202);
    let token = wait_for_links(&server, &folder, 1).await.remove(0);
    let app = OAuthClient::new(server.anonymous()).await;
    let tokens = app.connect(&session, "read:library").await;

    reset(&anonymous, &token, NEW_PASSWORD).await.data(200);

    assert_eq!(reset(&anonymous, &token, PASSWORD).await.faults(), ["token"]);
    assert_eq!(session.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
    assert_eq!(app.refresh(&tokens.refresh).await.status, 400);
    key.get("/rest/v2/usage").await.data(200);
    assert_eq!(sign_in_status(&server, &user, PASSWORD).await, 401);
    assert_eq!(sign_in_status(&server, &user, NEW_PASSWORD).await, 200);
}

#[actix_web::test]
async fn unacceptable_password_leaves_the_link_as_it_is() {
    let (server, folder) = start_with_mail().await;
    let user = server.user(Plan::Pro).await;
    request_link(&server.anonymous(), user.email()).await.data(202);
    let token = wait_for_links(&server, &folder, 1).await.remove(0);

    assert_eq!(reset(&server.anonymous(), &token, "short").await.faults(), ["new"]);

    reset(&server.anonymous(), &token, NEW_PASSWORD).await.data(200);
}

#[actix_web::test]
async fn request_does_not_tell_whether_an_account_exists() {
    let (server, folder) = start_with_mail().await;
    let (user, disabled) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    accounts::set_disabled(&server.context().core, disabled.id(), true).await.unwrap();
    let anonymous = server.anonymous();

    let unknown = request_link(&anonymous, "nobody@reader.example").await;
    let refused = request_link(&anonymous, disabled.email()).await;
    let known = request_link(&anonymous, user.email()).await;

    wait_for_links(&server, &folder, 1).await;
    for other in [&unknown, &refused] {
        assert_eq!((other.status, other.data(202)), (known.status, known.data(202)));
    }
    assert_eq!(tokens(folder.path()).len(), 1);
}

#[actix_web::test]
async fn expired_link_and_made_up_link_are_refused() {
    let (server, folder) = start_with_mail().await;
    let user = server.user(Plan::Pro).await;
    request_link(&server.anonymous(), user.email()).await.data(202);
    let token = wait_for_links(&server, &folder, 1).await.remove(0);

    server.clock.advance(Duration::from_secs(3600));

    let made_up = format!("cr_{}", "a".repeat(43));
    for token in [token.as_str(), &made_up, "nonsense"] {
        assert_eq!(reset(&server.anonymous(), token, NEW_PASSWORD).await.faults(), ["token"], "{token}");
    }
    assert_eq!(sign_in_status(&server, &user, PASSWORD).await, 200);
}

#[actix_web::test]
async fn new_password_ends_the_other_links() {
    let (server, folder) = start_with_mail().await;
    let user = server.user(Plan::Pro).await;
    for _ in 0..2 {
        request_link(&server.anonymous(), user.email()).await.data(202);
    }
    let links = wait_for_links(&server, &folder, 2).await;

    reset(&server.anonymous(), &links[0], NEW_PASSWORD).await.data(200);

    assert_eq!(reset(&server.anonymous(), &links[1], PASSWORD).await.faults(), ["token"]);
}

#[actix_web::test]
async fn account_gets_three_links_in_an_hour() {
    let (server, folder) = start_with_mail().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    for number in 1..=3 {
        request_link(&server.anonymous(), user.email()).await.data(202);
        wait_for_links(&server, &folder, number).await;
    }

    request_link(&server.anonymous(), user.email()).await.data(202);
    request_link(&server.anonymous(), other.email()).await.data(202);

    // The one of the other account was requested after the one that is not sent.
    wait_for_links(&server, &folder, 4).await;
    assert_eq!(tokens(folder.path()).len(), 4);
}

#[actix_web::test]
async fn requests_for_links_are_limited_by_ip_address() {
    let (server, _folder) = start_with_mail().await;
    for _ in 0..20 {
        request_link(&server.anonymous(), "nobody@reader.example").await.data(202);
    }

    let refused = request_link(&server.anonymous(), "nobody@reader.example").await;

    assert_eq!((refused.error_code(429), refused.header_number("retry-after")), ("RATE_LIMITED", 180));
}

#[actix_web::test]
async fn server_without_mail_says_what_its_operator_can_do() {
    let server = Server::start().await;

    let refused = request_link(&server.anonymous(), "a@reader.example").await;

    assert_eq!(refused.error_code(403), "CLOSED");
    assert!(refused.body["error"]["message"].as_str().unwrap().contains("carrel user set-password"));
}

#[actix_web::test]
async fn new_password_ends_the_wait_after_failed_sign_ins() {
    let (server, folder) = start_with_mail().await;
    let user = server.user(Plan::Pro).await;
    for _ in 0..5 {
        assert_eq!(sign_in_status(&server, &user, "forgotten by now").await, 401);
    }
    assert_eq!(sign_in_status(&server, &user, PASSWORD).await, 429);
    request_link(&server.anonymous(), user.email()).await.data(202);
    let token = wait_for_links(&server, &folder, 1).await.remove(0);

    reset(&server.anonymous(), &token, NEW_PASSWORD).await.data(200);

    assert_eq!(sign_in_status(&server, &user, NEW_PASSWORD).await, 200);
}

/// Covers the threat table (row C1).
#[actix_web::test]
async fn link_is_not_requested_from_a_foreign_origin() {
    let (server, _folder) = start_with_mail().await;
    let foreign = server.anonymous().with("origin", "https://elsewhere.example");

    assert_eq!(request_link(&foreign, "a@b.example").await.error_code(403), "FOREIGN_ORIGIN");
    assert_eq!(reset(&foreign, "cr_a", NEW_PASSWORD).await.error_code(403), "FOREIGN_ORIGIN");
}
