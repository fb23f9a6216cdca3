//! What is being made of a library, seen by its person: what waits, how far it is, what failed and why; and tried again.

use entity::plan::Plan;
use serde_json::{Value, json};

use crate::world::{Client, Reply, Server, Site, article, eventually};

async fn shown(session: &Client) -> Value {
    session.get("/app/api/work").await.data(200).clone()
}

#[actix_web::test]
async fn what_failed_is_shown_with_its_reason_and_tried_again_by_hand() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let url = site.page("/heron", [Reply::Status(404), article("Herons", "a heron")]);
    let saved = key.save(json!({ "url": url })).await;
    key.once(&saved, "failed").await;

    let work = shown(&session).await;

    assert_eq!((&work["waiting"], &work["running"], &work["failed"]), (&json!(0), &json!(0), &json!(1)));
    let failed = &work["work"][0];
    assert_eq!((&failed["stage"], &failed["documentId"]), (&json!("failed"), &saved["documentId"]));
    assert!(failed["reason"].as_str().is_some_and(|reason| reason.contains("404")), "{failed}");
    let retry = format!("/app/api/work/{}/retry", saved["documentId"].as_str().unwrap());
    let stranger = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(stranger.post(&retry, json!({})).await.refused(404), "NOT_FOUND");
    assert_eq!(shown(&stranger).await["work"], json!([]));
    session.post(&retry, json!({})).await.data(202);
    key.once(&saved, "ready").await;
    assert_eq!(session.post(&retry, json!({})).await.refused(409), "CONFLICT");
    eventually("nothing is left to do", async || (shown(&session).await["work"] == json!([])).then_some(()))
        .await;
}

#[actix_web::test]
async fn what_waits_says_for_what() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let site = Site::start().await;
    let url = site.page("/talk", [Reply::File("audio/mpeg", vec![0; 64])]);
    key.save(json!({ "url": url })).await;

    let waiting = eventually("it waits for the model", async || {
        let work = shown(&session).await;
        Some(work["work"][0].clone()).filter(|work| work["reason"] == "waiting for the speech model")
    })
    .await;

    assert_eq!((&waiting["stage"], &waiting["work"]), (&json!("waiting"), &json!("hear")));
    assert!(waiting["nextAt"].is_string(), "{waiting}");
}
