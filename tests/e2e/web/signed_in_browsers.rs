//! The list of the browsers in which a user is signed in, and signing them out.

use std::time::Duration;

use serde_json::Value;
use values::plan::Plan;

use crate::support::{Client, PASSWORD, Server, eventually};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

async fn list(browser: &Client) -> Vec<Value> {
    browser.get("/app/api/sessions").await.data(200)["sessions"].as_array().unwrap().clone()
}

#[actix_web::test]
async fn sessions_are_listed_with_their_devices_newest_first() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    other.sign_in().await;
    let phone = user.sign_in().await;
    server.clock.advance(Duration::from_millis(1));
    let browser = server.anonymous().with("user-agent", FIREFOX).sign_in(user.email(), PASSWORD).await;

    let listed = list(&browser).await;

    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[0]["device"], &listed[0]["isCurrent"]), (&"Firefox on Linux".into(), &true.into()));
    assert_eq!((&listed[1]["device"], &listed[1]["isCurrent"]), (&Value::Null, &false.into()));
    assert_eq!(list(&phone).await.len(), 2);
}

#[actix_web::test]
async fn ended_session_is_signed_out_at_once() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (lost, of_other) = (user.sign_in().await, other.sign_in().await);
    let id = list(&lost).await[0]["id"].as_str().unwrap().to_owned();
    let own = user.sign_in().await;

    assert_eq!(of_other.delete(&format!("/app/api/sessions/{id}")).await.error_code(404), "NOT_FOUND");
    let ended = own.delete(&format!("/app/api/sessions/{id}")).await;

    assert_eq!(ended.data(200)["ended"], 1);
    assert_eq!(lost.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
    own.get("/app/api/session").await.data(200);
}

#[actix_web::test]
async fn own_session_ends_with_its_copies() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let id = list(&browser).await[0]["id"].as_str().unwrap().to_owned();

    let left = browser.post_form(&format!("/settings/security/sessions/{id}"), &[]).await;

    assert_eq!((left.status, left.header("location")), (303, "/sign-in"));
    assert_eq!(left.header("clear-site-data"), "\"cache\", \"storage\"");
    assert_eq!(browser.get("/").await.status, 303);
}

#[actix_web::test]
async fn all_other_sessions_are_signed_out_together() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (first, second, own) = (user.sign_in().await, user.sign_in().await, user.sign_in().await);
    let of_other = other.sign_in().await;

    let ended = own.delete("/app/api/sessions").await;

    assert_eq!(ended.data(200)["ended"], 2);
    for browser in [&first, &second] {
        assert_eq!(browser.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
    }
    for browser in [&own, &of_other] {
        browser.get("/app/api/session").await.data(200);
    }
}

#[actix_web::test]
async fn use_of_a_session_is_recorded_once_an_hour() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let signed_in = list(&browser).await[0]["lastUsedAt"].clone();

    server.clock.advance(Duration::from_secs(3599));
    assert_eq!(list(&browser).await[0]["lastUsedAt"], signed_in);
    server.clock.advance(Duration::from_secs(1));

    eventually("the use is recorded", async || {
        (list(&browser).await[0]["lastUsedAt"] != signed_in).then_some(())
    })
    .await;
}
