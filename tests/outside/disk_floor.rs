//! The disk floor for requests without an account: below it they add nothing, and users can still sign in.

use entity::plan::Plan;
use reqwest::Method;
use serde_json::json;

use crate::world::{Assistant, PASSWORD, Server};

#[actix_web::test]
async fn strangers_add_nothing_below_the_floor() {
    let open = ("ACCOUNTS__SIGNUP", "open");
    let server = Server::with(&[open]).await;
    let email = server.user(Plan::Pro).await.email().to_owned();
    let address = Assistant::new(server.stranger()).await.address(&[]);
    let (home, clock) = server.stop().await;
    let server = Server::at(home, clock, &[open, ("STORAGE__MIN_FREE_BYTES", "1099511627776")]).await;
    let stranger = server.stranger();

    let account = json!({ "email": "new@b.example", "password": PASSWORD });
    let signed_up = stranger.post("/app/api/signup", account).await;
    let client = json!({ "redirect_uris": ["http://127.0.0.1:9/back"] });
    let registered = stranger.post("/oauth/register", client).await;
    let page = stranger.get(&address).await;
    let preflight = stranger.send(Method::OPTIONS, "/oauth/register", None).await;
    let user = stranger.sign_in(&email, PASSWORD).await;

    for refused in [&signed_up, &registered, &page] {
        assert_eq!((refused.status, refused.said("retry-after")), (507, "60"), "{}", refused.text);
    }
    assert_eq!(signed_up.refused(507), "STORAGE_FULL");
    assert_eq!(registered.said("access-control-allow-origin"), "*");
    assert_eq!(preflight.status, 204);
    assert_eq!(user.get(&address).await.status, 200);
}
