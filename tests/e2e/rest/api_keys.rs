//! API keys: revocation, regeneration, scope changes and expiry take effect immediately.

use std::time::Duration;

use actors::auth::accounts;
use futures_util::FutureExt;
use reqwest::Method;
use serde_json::json;
use values::plan::Plan;
use values::scope::Scope;

use crate::support::{PASSWORD, Server};

/// Covers the fault table (row 43).
#[actix_web::test]
async fn revoked_key_is_refused_immediately() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, other, session) = (user.full_key().await, user.full_key().await, user.sign_in().await);
    key.get("/rest/v2/usage").await.data(200);

    session.delete(&format!("/app/api/keys/{}", key.id)).await.data(200);

    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
    other.get("/rest/v2/usage").await.data(200);
}

/// The caller of a change is dropped when its client disconnects.
#[actix_web::test]
async fn revocation_whose_caller_is_gone_takes_effect() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    key.get("/rest/v2/usage").await.data(200);
    let keys = &server.context().auth.keys;

    let answered = keys.revoke(user.id(), key.id.parse().unwrap()).now_or_never();
    assert!(answered.is_none());
    // Waits for the revocation, and not for the next check of the generation.
    keys.port().drain().await;

    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
}

/// Covers the fault table (row 43).
#[actix_web::test]
async fn regenerated_key_works_with_its_new_secret_only() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    key.get("/rest/v2/usage").await.data(200);

    let response = session.post(&format!("/app/api/keys/{}/regenerate", key.id), json!({})).await;
    let secret = response.data(200)["secret"].as_str().unwrap();

    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
    server.anonymous().with_key(secret).get("/rest/v2/usage").await.data(200);
}

/// Covers the fault table (row 43).
#[actix_web::test]
async fn removed_scope_is_refused_immediately() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.key([Scope::ReadUser]).await, user.sign_in().await);
    key.get("/rest/v1/user").await.data(200);

    let changed = session
        .send(
            Method::PATCH,
            &format!("/app/api/keys/{}", key.id),
            Some(json!({ "scopes": ["read:library"] })),
        )
        .await;
    changed.data(200);

    assert_eq!(key.get("/rest/v1/user").await.error_code(403), "SCOPE_REQUIRED");
}

#[actix_web::test]
async fn key_is_refused_from_its_expiry_time() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let new_key = json!({ "name": "for a day", "kind": "rest", "expiresAt": "2024-05-07T12:00:00Z" });
    let created = session.post("/app/api/keys", new_key).await;
    let key = server.anonymous().with_key(created.data(201)["secret"].as_str().unwrap());

    server.clock.advance(Duration::from_secs(86_400) - Duration::from_millis(1));
    key.get("/rest/v2/usage").await.data(200);
    server.clock.advance(Duration::from_millis(1));

    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
}

/// Covers the fault table (row 43).
#[actix_web::test]
async fn keys_of_disabled_account_are_refused_until_enabled() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    key.get("/rest/v2/usage").await.data(200);

    accounts::set_disabled(&server.context().core, user.id(), true).await.unwrap();
    crate::support::eventually("the running service sees the rows of the command", async || {
        (key.get("/rest/v2/usage").await.status == 401).then_some(())
    })
    .await;
    accounts::set_disabled(&server.context().core, user.id(), false).await.unwrap();

    key.get("/rest/v2/usage").await.data(200);
}

/// Covers the threat table (row A1).
#[actix_web::test]
async fn repeated_wrong_keys_get_429_and_a_valid_key_works() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let wrong = server.anonymous().with_key("no key at all");

    for _ in 0..20 {
        assert_eq!(wrong.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
    }
    let refused = wrong.get("/rest/v2/usage").await;

    assert_eq!(refused.error_code(429), "RATE_LIMITED");
    assert!((1..=60).contains(&refused.header_number("retry-after")));
    key.get("/rest/v2/usage").await.data(200);
    server.clock.advance(Duration::from_secs(60));
    assert_eq!(wrong.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
}

/// Covers the threat table (row X6).
#[actix_web::test]
async fn deceptive_names_are_refused_with_all_other_faults() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    for name in ["a\u{202e}gpj.exe", "a\nb", "a\u{7}", "a\u{2066}b", "a\u{200f}", "a\u{200b}b"] {
        let new_key = json!({ "name": name, "kind": "rest", "hourlyLimit": 0 });
        let refused = session.post("/app/api/keys", new_key).await;
        assert_eq!(refused.error_code(400), "VALIDATION_FAILED", "{name:?}");
        let mut faults = refused.faults();
        faults.sort_unstable();
        assert_eq!(faults, ["hourlyLimit", "name"], "{name:?}");

        let path = format!("/app/api/keys/{}", key.id);
        let renamed = session.patch(&path, json!({ "name": name })).await;
        assert_eq!(
            (renamed.error_code(400), renamed.faults()),
            ("VALIDATION_FAILED", vec!["name"]),
            "{name:?}"
        );
    }

    session.post("/app/api/keys", json!({ "name": "👩\u{200d}🔬 مفتاح", "kind": "rest" })).await.data(201);
}

#[actix_web::test]
async fn unknown_scopes_are_refused_with_all_other_faults() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let scopes = ["read:everything", "read:library", "READ:LIBRARY"];

    let new_key = json!({ "name": "", "kind": "rest", "scopes": scopes });
    let refused = session.post("/app/api/keys", new_key).await;

    assert_eq!(refused.error_code(400), "VALIDATION_FAILED");
    let mut faults = refused.faults();
    faults.sort_unstable();
    assert_eq!(faults, ["name", "scopes[0]", "scopes[2]"]);
}

/// Covers the threat table (row X6).
#[actix_web::test]
async fn deceptive_email_addresses_are_refused() {
    let server = Server::start_with(&[("ACCOUNTS__SIGNUP", "open")]).await;
    for path in ["/app/api/setup", "/app/api/signup"] {
        for email in ["a\u{202e}b@reader.example", "a\u{200b}@reader.example", "a\u{7}b@reader.example"] {
            let sign_up = json!({ "email": email, "password": PASSWORD, "name": "A" });
            let response = server.anonymous().post(path, sign_up).await;
            assert_eq!(
                (response.error_code(400), response.faults()),
                ("VALIDATION_FAILED", vec!["email"]),
                "{email:?}"
            );
        }
    }
}
