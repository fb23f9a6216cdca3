//! The disk floor: below it unauthenticated writes and imports are refused, and users can still sign in.

use reqwest::Method;
use serde_json::json;
use values::plan::Plan;

use crate::import::imports::bookmark_list;
use crate::support::{OAuthClient, PASSWORD, S3Bucket, Server};

/// Covers the fault table (row 6).
#[actix_web::test]
async fn unauthenticated_writes_are_refused_below_the_disk_floor() {
    let open = ("ACCOUNTS__SIGNUP", "open");
    let server = Server::start_with(&[open]).await;
    let email = server.user(Plan::Pro).await.email().to_owned();
    let address = OAuthClient::new(server.anonymous()).await.authorization_url(&[]);
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[open, ("STORAGE__MIN_FREE_BYTES", "1099511627776")]).await;
    let anonymous = server.anonymous();

    let account = json!({ "email": "new@b.example", "password": PASSWORD });
    let signed_up = anonymous.post("/app/api/signup", account).await;
    let client = json!({ "redirect_uris": ["http://127.0.0.1:9/back"] });
    let registered = anonymous.post("/oauth/register", client).await;
    let page = anonymous.get(&address).await;
    let preflight = anonymous.send(Method::OPTIONS, "/oauth/register", None).await;
    let user = anonymous.sign_in(&email, PASSWORD).await;

    for refused in [&signed_up, &registered, &page] {
        assert_eq!((refused.status, refused.header("retry-after")), (507, "60"), "{}", refused.text);
    }
    assert_eq!(signed_up.error_code(507), "STORAGE_FULL");
    assert_eq!(registered.header("access-control-allow-origin"), "*");
    assert_eq!(preflight.status, 204);
    assert_eq!(user.get(&address).await.status, 200);
}

#[actix_web::test]
async fn import_below_the_disk_floor_stores_no_file() {
    let store = S3Bucket::start().await;
    let server = Server::start_with(&store.settings()).await;
    let email = server.user(Plan::Free).await.email().to_owned();
    let (home, clock) = server.stop().await;
    let settings: Vec<_> =
        store.settings().into_iter().chain([("STORAGE__MIN_FREE_BYTES", "1099511627776")]).collect();
    let server = Server::start_in(home, clock, &settings).await;
    let session = server.anonymous().sign_in(&email, PASSWORD).await;

    let file = bookmark_list("<DT><A HREF=\"https://a.example/\">A</A>");
    let import = session.post_file("/app/api/imports", file.as_bytes(), &[]).await;

    assert_eq!(import.error_code(507), "STORAGE_FULL");
    assert!(store.paths().is_empty(), "{:?}", store.paths());
}
