//! Dynamic client registration.

use std::time::Duration;

use entity::oauth_client;
use reqwest::Method;
use sea_orm::{Database, EntityTrait, PaginatorTrait};
use serde_json::json;
use values::id::ClientId;
use values::plan::Plan;

use crate::support::{OAuthClient, REDIRECT_URI, Server, Tokens, eventually};

const DAY: Duration = Duration::from_secs(86_400);

#[actix_web::test]
async fn record_contains_known_metadata_and_no_empty_fields() {
    let server = Server::start().await;
    let metadata = json!({
        "redirect_uris": [REDIRECT_URI], "client_name": null, "client_uri": "", "client_id": "mine", "client_secret": "mine",
        "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"], "scope": "read:library",
        "software_id": "x", "application_type": "native",
    });

    let record = server.anonymous().post("/oauth/register", metadata).await;

    assert_eq!((record.status, record.header("cache-control")), (201, "no-store"));
    assert_eq!(record.body["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(record.body["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert!(record.body["client_id_issued_at"].is_i64());
    assert_eq!(record.body["client_secret_expires_at"], 0);
    assert_ne!(record.body["client_id"], "mine");
    assert_ne!(record.body["client_secret"], "mine");
    for absent in ["client_name", "client_uri", "scope", "registration_client_uri"] {
        assert!(record.body.get(absent).is_none(), "{absent}");
    }
}

#[actix_web::test]
async fn public_client_gets_no_secret() {
    let server = Server::start().await;

    let assistant = OAuthClient::new(server.anonymous()).await;

    assert!(assistant.secret.is_none());
}

/// Covers the threat table (row O6).
#[actix_web::test]
async fn invalid_metadata_gets_rfc_error_codes() {
    let server = Server::start_with(&[("AUTH__FAILURES_PER_MINUTE", "1000")]).await;
    let good = json!([REDIRECT_URI]);
    let redirects = [
        json!(null),
        json!([]),
        json!("https://a.example/"),
        json!([7]),
        json!([REDIRECT_URI, "myapp://cb"]),
        json!(["http://a.example/cb"]),
        json!(["javascript:alert(1)"]),
        json!(["https://a.example/cb#x"]),
        json!(["https://a.example@evil.example/"]),
        json!(["http://localhost@evil/"]),
        json!(["http://127.0.0.1.evil.example/"]),
        json!(["data:text/html,x"]),
        json!(["cursor://anysphere.cursor-mcp/oauth/callback"]),
        json!(["/relative"]),
        json!(["https://a.example\\@evil.example/"]),
        json!(["https://a.example/ cb"]),
        json!(["https://a.example/\ncb"]),
        json!(["https://a.example/\u{7}"]),
        json!([format!("https://a.example/{}", "a".repeat(2048))]),
        json!(["https://*.a.example/"]),
        json!(vec![REDIRECT_URI; 21]),
    ];
    for uris in redirects {
        let refused = server.anonymous().post("/oauth/register", json!({ "redirect_uris": uris })).await;
        assert_eq!((refused.status, &refused.body["error"]), (400, &json!("invalid_redirect_uri")), "{uris}");
    }
    for (name, value) in [
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("token_endpoint_auth_method", json!("made_up")),
        ("grant_types", json!(["client_credentials"])),
        ("grant_types", json!(["implicit", "password"])),
        ("grant_types", json!([])),
        ("response_types", json!(["token"])),
        ("client_name", json!("x".repeat(201))),
        ("client_name", json!({})),
        ("client_uri", json!("javascript:alert(1)")),
    ] {
        let refused =
            server.anonymous().post("/oauth/register", json!({ "redirect_uris": good, name: value })).await;
        assert_eq!(
            (refused.status, &refused.body["error"]),
            (400, &json!("invalid_client_metadata")),
            "{name}"
        );
    }
    let none = server.anonymous().post("/oauth/register", json!({ "client_name": "Heron" })).await;
    assert_eq!((none.status, &none.body["error"]), (400, &json!("invalid_redirect_uri")));
    let rows = Database::connect(server.database_url()).await.unwrap();
    assert_eq!(oauth_client::Entity::find().count(&rows).await.unwrap(), 0, "nothing of them is kept");
}

#[actix_web::test]
async fn redirect_uris_of_the_specification_are_accepted() {
    let server = Server::start().await;
    let uris = json!(["https://x/cb", "http://127.0.0.1:1/cb", "http://localhost/cb", "http://[::1]:9/cb"]);
    let metadata = json!({
        "redirect_uris": uris, "client_name": "Heron", "client_uri": "https://heron.example/",
        "token_endpoint_auth_method": "none",
    });

    let record = server.anonymous().post("/oauth/register", metadata.clone()).await;
    let other = server.anonymous().post("/oauth/register", metadata).await;

    assert_eq!((record.status, &record.body["redirect_uris"]), (201, &uris));
    assert_eq!(record.body["response_types"], json!(["code"]));
    assert_eq!(record.body["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(
        (&record.body["client_name"], &record.body["client_uri"]),
        (&json!("Heron"), &json!("https://heron.example/"))
    );
    assert!(record.body["client_id_issued_at"].is_i64());
    assert!(record.body.get("client_secret_expires_at").is_none());
    assert_ne!(record.body["client_id"], other.body["client_id"]);
}

/// Covers the threat table (row O6).
#[actix_web::test]
async fn invalid_or_oversized_body_is_refused() {
    let server = Server::start().await;
    let anonymous = server.anonymous();

    assert_eq!(anonymous.post_form("/oauth/register", &[("redirect_uris", REDIRECT_URI)]).await.status, 415);
    assert_eq!(anonymous.post("/oauth/register", json!([REDIRECT_URI])).await.status, 400);
    let twice = r#"{"redirect_uris": ["https://a.example/"], "redirect_uris": ["https://b.example/"]}"#;
    assert_eq!(anonymous.post_text("/oauth/register", twice).await.status, 400);
    for broken in [
        "{not json".to_owned(),
        "[".repeat(50_000),
        format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000)),
    ] {
        assert_eq!(anonymous.post_text("/oauth/register", &broken).await.status, 400);
    }
    let long = json!({ "redirect_uris": [REDIRECT_URI], "software_statement": "x".repeat(70_000) });
    assert_eq!(anonymous.post("/oauth/register", long).await.status, 413);
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        for path in ["/oauth/register", "/oauth/register/01890000-0000-7000-8000-000000000000"] {
            let status = anonymous.send(method.clone(), path, None).await.status;
            assert!(matches!(status, 404 | 405), "{method} {path}: {status}");
        }
    }
}

#[actix_web::test]
async fn repeated_invalid_registrations_get_429() {
    let server = Server::start().await;
    for _ in 0..20 {
        assert_eq!(server.anonymous().post("/oauth/register", json!({})).await.status, 400);
    }

    let waits = server.anonymous().post("/oauth/register", json!({})).await;

    assert_eq!(waits.status, 429);
    assert!((1..=60).contains(&waits.header_number("retry-after")));
    OAuthClient::new(server.anonymous()).await;
}

/// Covers the threat table (row O6).
#[actix_web::test]
async fn registrations_over_the_hourly_limit_get_429() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    for _ in 0..3 {
        assert_eq!(anonymous.post("/oauth/register", json!({})).await.status, 400);
    }
    for _ in 0..20 {
        OAuthClient::new(anonymous.clone()).await;
    }

    let refused = anonymous.post("/oauth/register", json!({ "redirect_uris": [REDIRECT_URI] })).await;

    assert_eq!(refused.status, 429);
    assert!((1..=3600).contains(&refused.header_number("retry-after")));
    server.clock.advance(Duration::from_secs(3600));
    OAuthClient::new(anonymous).await;
}

#[actix_web::test]
async fn closed_registration_is_not_advertised_and_refused() {
    let server = Server::start_with(&[("OAUTH__REGISTRATION", "closed")]).await;

    let metadata = server.anonymous().get("/.well-known/oauth-authorization-server").await;
    let refused =
        server.anonymous().post("/oauth/register", json!({ "redirect_uris": [REDIRECT_URI] })).await;

    assert!(metadata.body.get("registration_endpoint").is_none());
    assert_eq!(refused.status, 403);
}

#[actix_web::test]
async fn unused_client_is_deleted_after_thirty_days() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let (idle, connected) =
        (OAuthClient::new(server.anonymous()).await, OAuthClient::new(server.anonymous()).await);
    connected.connect(&browser, "read:library").await;

    server.clock.advance(DAY * 30);
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;
    assert_eq!(server.anonymous().get(&idle.authorization_url(&[])).await.status, 200);
    // Opening the page counted as a use.
    server.clock.advance(DAY * 30 + Duration::from_millis(1));
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;

    // Checked in the database: opening the page would count as a use.
    let id: ClientId = idle.id.parse().unwrap();
    eventually("the unused client is deleted", async || {
        let row = oauth_client::Entity::find_by_id(id).one(server.context().core.db.read()).await.unwrap();
        row.is_none().then_some(())
    })
    .await;
    assert_eq!(server.anonymous().get(&idle.authorization_url(&[])).await.status, 400);
    let refused = idle.with_client(server.anonymous()).exchange("cc_nothing").await;
    assert_eq!((refused.status, &refused.body["error"]), (401, &json!("invalid_client")));
    let connected_client = connected.with_client(server.anonymous());
    assert_eq!(server.anonymous().get(&connected_client.authorization_url(&[])).await.status, 200);
}

/// Covers the threat table (row O6).
#[actix_web::test]
async fn executable_redirect_uri_is_refused_even_when_listed() {
    let listed = "javascript:alert(1),data:text/html;x,cursor://app/*,cursor://app/cb#x,cursor://app/cb";
    let server = Server::start_with(&[("OAUTH__PRIVATE_REDIRECT_URIS", listed)]).await;
    let register = async |uri: &str| {
        server.anonymous().post("/oauth/register", json!({ "redirect_uris": [uri] })).await.status
    };
    for bad in ["javascript:alert(1)", "data:text/html;x", "cursor://app/*", "cursor://app/cb#x"] {
        assert_eq!(register(bad).await, 400, "{bad}");
    }
    assert_eq!(register("cursor://app/cb").await, 201);
}

#[actix_web::test]
async fn redirect_uri_removed_from_the_setting_is_refused() {
    let server = Server::start_with(&[("OAUTH__PRIVATE_REDIRECT_URIS", "cursor://app/cb")]).await;
    let metadata = json!({ "redirect_uris": ["cursor://app/cb"], "token_endpoint_auth_method": "none" });
    let assistant = OAuthClient::register(server.anonymous(), metadata).await;
    let address = assistant.authorization_url(&[("redirect_uri", "cursor://app/cb")]);
    assert_eq!(server.anonymous().get(&address).await.status, 200);

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;

    let page = server.anonymous().get(&address).await;
    assert_eq!((page.status, page.header("location")), (400, ""));
}

#[actix_web::test]
async fn used_client_is_kept_from_its_last_refresh() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let mut tokens = assistant.connect(&browser, "read:library").await;
    let unused = OAuthClient::new(server.anonymous()).await;
    for _ in 0..2 {
        server.clock.advance(DAY * 20);
        tokens = Tokens::from_response(&assistant.refresh(&tokens.refresh).await);
    }
    assistant.post_as_client("/oauth/revoke", &[("token", &tokens.refresh)]).await;
    server.clock.advance(DAY * 20);

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;

    let id: ClientId = unused.id.parse().unwrap();
    eventually("the clean-up has run", async || {
        let row = oauth_client::Entity::find_by_id(id).one(server.context().core.db.read()).await.unwrap();
        row.is_none().then_some(())
    })
    .await;
    // Twenty days after its last refresh and sixty after its registration.
    assert_eq!(server.anonymous().get(&assistant.authorization_url(&[])).await.status, 200);
}

/// Covers the threat table (row X6).
#[actix_web::test]
async fn client_ids_are_not_guessable() {
    let server = Server::start().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(uuid::Uuid::parse_str(&OAuthClient::new(server.anonymous()).await.id).unwrap());
    }
    // The clock does not move, so the ids share their time; the 62 bits after the variant must still differ.
    let tails: std::collections::BTreeSet<u64> = ids.iter().map(|id| id.as_u64_pair().1 << 2).collect();
    assert_eq!(tails.len(), 5);
    let near = tails.iter().zip(tails.iter().skip(1)).any(|(a, b)| b - a < 1 << 40);
    assert!(!near, "they follow each other: {ids:?}");
}
