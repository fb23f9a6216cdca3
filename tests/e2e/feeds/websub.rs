//! Feed updates by WebSub hubs.

use std::time::Duration;

use entity::feed_push;
use hmac::{Hmac, KeyInit, Mac};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use sha2::Sha256;
use values::kind::PushState;
use values::plan::Plan;

use crate::support::{Client, Hub, HubRequest, Key, Reply, Server, Site, eventually};

const DAY: Duration = Duration::from_secs(86_400);

/// A feed with this number of entries that names its hub.
fn feed_reply(hub: &Hub, own: &str, count: usize) -> Reply {
    let entry = |n: usize| {
        format!("<entry><id>e{n}</id><title>Entry {n}</title><content>Heron {n}.</content></entry>")
    };
    let entries: String = (0..count).map(entry).collect();
    let body = format!("<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Reeds</title>{entries}</feed>");
    let link = format!("<{}>; rel=\"hub\", <{own}>; rel=self", hub.base);
    Reply::Plain {
        status: 200,
        headers: vec![("content-type", "application/atom+xml".to_owned()), ("link", link)],
        body,
    }
}

/// Follows a feed and waits for the subscription request. Returns the key, the topic and the request to the hub.
async fn follow_feed(server: &Server, site: &Site, hub: &Hub) -> (Key, String, HubRequest) {
    let key = server.user(Plan::Pro).await.full_key().await;
    let own = site.page("/feed", [Reply::Status(404)]);
    site.page("/feed", [feed_reply(hub, &own, 1)]);
    key.post("/rest/v1/feeds", json!({ "url": own })).await.data(201);
    let form = eventually("the hub receives a request", async || hub.requests().first().cloned()).await;
    (key, own, form)
}

/// The path of the callback URL.
fn callback_path(server: &Server, form: &HubRequest) -> String {
    let address = form["hub.callback"].clone();
    address.strip_prefix(server.anonymous().base_url()).unwrap_or_else(|| panic!("{address}")).to_owned()
}

/// Verifies the intent, as the hub does. Returns status and body.
async fn verify_intent(
    server: &Server,
    form: &HubRequest,
    topic: &str,
    mode: &str,
    lease: &str,
) -> (u16, String) {
    let query =
        [("hub.mode", mode), ("hub.topic", topic), ("hub.challenge", "c7"), ("hub.lease_seconds", lease)];
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let answer = server.anonymous().get(&format!("{}?{query}", callback_path(server, form))).await;
    (answer.status, answer.text)
}

/// Sends a notification with a signature by this secret, as the hub does. Returns the status.
async fn send_notification(server: &Server, form: &HubRequest, secret: &str) -> u16 {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(b"<feed/>");
    let tag: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let hub: Client = server.anonymous().with("x-hub-signature", &format!("sha256={tag}"));
    hub.post_bytes(&callback_path(server, form), "application/atom+xml", b"<feed/>".to_vec()).await.status
}

async fn list_titles(key: &Key) -> Vec<Value> {
    let entries = key.get("/rest/v1/entries").await.data(200)["entries"].clone();
    entries.as_array().unwrap().iter().map(|entry| entry["title"].clone()).collect()
}

#[actix_web::test]
async fn signed_hub_notification_triggers_one_fetch() {
    let (site, hub) = (Site::start().await, Hub::start().await);
    let server = Server::start_with(&[("FEEDS__PUSH", "always")]).await;
    let (key, own, form) = follow_feed(&server, &site, &hub).await;
    assert_eq!((form["hub.mode"].as_str(), form["hub.topic"].as_str()), ("subscribe", own.as_str()));
    // Notifications before the verification of intent are refused.
    assert_eq!(send_notification(&server, &form, &form["hub.secret"]).await, 410);
    assert_eq!(verify_intent(&server, &form, "https://other.example/", "subscribe", "9").await.0, 410);
    assert_eq!(verify_intent(&server, &form, &own, "unsubscribe", "9").await.0, 410);
    let asked_back = eventually("the subscription is stored", async || {
        Some(verify_intent(&server, &form, &own, "subscribe", "864000").await)
            .filter(|answer| answer.0 == 200)
    });
    assert_eq!(asked_back.await, (200, "c7".to_owned()));
    // Only the hub knows the callback URL.
    let guessed = format!("{}x", callback_path(&server, &form));
    assert_eq!(
        server.anonymous().post_bytes(&guessed, "application/atom+xml", b"<feed/>".to_vec()).await.status,
        410
    );
    let hits = site.request_count("/feed");
    // A feed is fetched at most once a minute, even after notifications.
    server.clock.advance(Duration::from_secs(61));

    site.page("/feed", [feed_reply(&hub, &own, 2)]);
    assert_eq!(send_notification(&server, &form, "guessed").await, 202);
    assert_eq!(send_notification(&server, &form, &form["hub.secret"]).await, 202);

    eventually("the new entry is listed", async || (list_titles(&key).await.len() == 2).then_some(())).await;
    assert_eq!(site.request_count("/feed"), hits + 1, "the unsigned one was listened to");
}

#[actix_web::test]
async fn hub_notification_during_a_fetch_is_not_lost() {
    let (site, hub) = (Site::start().await, Hub::start().await);
    let server = Server::start_with(&[("FEEDS__PUSH", "always")]).await;
    let (key, own, form) = follow_feed(&server, &site, &hub).await;
    assert_eq!(verify_intent(&server, &form, &own, "subscribe", "864000").await.0, 200);
    let feeds = key.get("/rest/v1/feeds").await.data(200)["feeds"].clone();
    let refresh = format!("/rest/v1/feeds/{}/refresh", feeds[0]["feedId"].as_str().unwrap());
    let Reply::Plain { body, .. } = feed_reply(&hub, &own, 1) else { panic!() };
    let (slow, hits) = (Reply::Slow(Duration::from_secs(2), body), site.request_count("/feed"));
    site.page("/feed", [slow, feed_reply(&hub, &own, 2)]);

    key.post(&refresh, json!({})).await.data(202);
    eventually("the feed is being fetched", async || (site.request_count("/feed") == hits + 1).then_some(()))
        .await;
    assert_eq!(send_notification(&server, &form, &form["hub.secret"]).await, 202);
    eventually("the fetch has ended", async || {
        use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
        let fetches = entity::job::Entity::find().filter(entity::job::Column::Kind.eq("fetch_feed"));
        let fetches = fetches.all(server.context().core.db.read()).await.unwrap();
        fetches.iter().all(|fetch| fetch.state == values::kind::JobState::Done).then_some(())
    })
    .await;
    server.clock.advance(Duration::from_secs(61));

    eventually("the new entry is listed", async || (list_titles(&key).await.len() == 2).then_some(())).await;
}

#[actix_web::test]
async fn subscription_is_renewed_early_and_ends_when_denied() {
    let (site, hub) = (Site::start().await, Hub::start().await);
    let server = Server::start_with(&[("FEEDS__PUSH", "always")]).await;
    let (_, own, form) = follow_feed(&server, &site, &hub).await;
    assert_eq!(verify_intent(&server, &form, &own, "subscribe", "864000").await.0, 200);

    server.clock.advance(DAY * 8);

    eventually("the hub receives a second request", async || (hub.requests().len() == 2).then_some(())).await;
    assert_eq!(hub.requests()[1]["hub.callback"], form["hub.callback"]);
    assert_eq!(send_notification(&server, &form, &form["hub.secret"]).await, 202);
    assert_eq!(verify_intent(&server, &form, &own, "denied", "").await.0, 200);
    assert_eq!(send_notification(&server, &form, &form["hub.secret"]).await, 410);
}

#[actix_web::test]
async fn feed_that_drops_its_hub_is_fetched_on_schedule_only() {
    let (site, hub) = (Site::start().await, Hub::start().await);
    let server = Server::start_with(&[("FEEDS__PUSH", "always")]).await;
    let (key, own, form) = follow_feed(&server, &site, &hub).await;
    assert_eq!(verify_intent(&server, &form, &own, "subscribe", "864000").await.0, 200);
    let body = "<rss version=\"2.0\"><channel><title>Reeds</title></channel></rss>".to_owned();
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    site.page("/feed", [Reply::Plain { status: 200, headers, body }]);
    server.clock.advance(Duration::from_secs(61));

    assert_eq!(send_notification(&server, &form, &form["hub.secret"]).await, 202);

    eventually("the subscription is deleted", async || {
        (send_notification(&server, &form, &form["hub.secret"]).await == 410).then_some(())
    })
    .await;
    assert_eq!(list_titles(&key).await.len(), 1);
}

#[actix_web::test]
async fn hub_is_not_asked_when_the_service_is_unreachable() {
    let (site, hub) = (Site::start().await, Hub::start().await);
    // The base URL is not https.
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let own = site.page("/feed", [Reply::Status(404)]);
    site.page("/feed", [feed_reply(&hub, &own, 1)]);
    key.post("/rest/v1/feeds", json!({ "url": own })).await.data(201);

    server.clock.advance(DAY);
    eventually("the feed is fetched again", async || (site.request_count("/feed") > 1).then_some(())).await;

    assert!(hub.requests().is_empty());
}

#[actix_web::test]
async fn refusing_hub_is_not_asked_for_a_week() {
    let (site, hub) = (Site::start().await, Hub::start().await);
    hub.set_status(404);
    let server = Server::start_with(&[("FEEDS__PUSH", "always")]).await;
    let (_, own, form) = follow_feed(&server, &site, &hub).await;
    // Read from the row: a verification that came before the refusal is stored would be accepted.
    eventually("the refusal is stored", async || {
        let row = feed_push::Entity::find().one(server.context().core.db.read()).await.unwrap().unwrap();
        (row.state == PushState::Refused).then_some(())
    })
    .await;
    assert_eq!(verify_intent(&server, &form, &own, "subscribe", "9").await.0, 410);

    let hits = site.request_count("/feed");
    server.clock.advance(DAY * 6);
    eventually("the feed is fetched on schedule", async || {
        (site.request_count("/feed") > hits).then_some(())
    })
    .await;
    assert_eq!(hub.requests().len(), 1);
    server.clock.advance(DAY);
    eventually("the hub receives a second request", async || (hub.requests().len() == 2).then_some(())).await;
}
