//! Crashes of actors: callers get a clear error at worst, and the actor restarts.

use runtime::Health;
use serde_json::json;
use values::plan::Plan;

use crate::support::{OAuthClient, Reply, Response, Server, Site, Tokens, article, eventually};

/// Crashes the actor until a request fails because of it; all other requests must succeed.
async fn crash_until_seen(health: &Health, crash: impl Fn(), mut ask: impl AsyncFnMut() -> Response) {
    for deaths in 1..=20 {
        crash();
        // The delay before a restart doubles each time, so a request soon falls into it.
        wait_for_crash(health, deaths).await;
        let answer = ask().await;
        if answer.status >= 400 {
            let outcome = (answer.status, answer.error_code(answer.status));
            assert!([(503, "OVERLOADED"), (500, "INTERNAL")].contains(&outcome), "{}", answer.body);
            return;
        }
        answer.data(answer.status);
        wait_for_restart(health, deaths).await;
    }
    panic!("no request met a dead actor");
}

async fn wait_for_crash(health: &Health, deaths: u64) {
    eventually("the actor died", async || {
        let report = health.report();
        (!report.up || report.restarts >= deaths).then_some(())
    })
    .await;
}

async fn wait_for_restart(health: &Health, deaths: u64) {
    eventually("a new actor is running", async || {
        let report = health.report();
        (report.up && report.restarts >= deaths).then_some(())
    })
    .await;
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn keys_actor_restarts_after_a_crash() {
    let server = Server::start().await;
    let port = server.context().auth.keys.port();
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let path = format!("/app/api/keys/{}", key.id);

    // The delay before a restart doubles each time, so the requests soon fall into it.
    for deaths in 1..=8 {
        port.crash();
        wait_for_crash(port.health(), deaths).await;

        // Neither changes of keys nor authentication need the actor, even if the row is not in the cache.
        session.patch(&path, json!({ "name": format!("renamed {deaths}") })).await.data(200);
        server.context().auth.keys.invalidate_cache();
        key.get("/rest/v2/usage").await.data(200);
        wait_for_restart(port.health(), deaths).await;
    }
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn limits_actor_keeps_the_daily_count_after_a_crash() {
    let server = Server::start().await;
    let port = server.context().auth.limits.port();
    let key = server.user(Plan::Pro).await.full_key().await;
    for _ in 0..5 {
        key.get("/rest/v2/usage").await.data(200);
    }
    server.context().auth.limits.flush().await.unwrap();

    crash_until_seen(
        port.health(),
        || port.crash(),
        async || {
            let answer = key.get("/rest/v2/usage").await;
            let _ = server.context().auth.limits.flush().await;
            answer
        },
    )
    .await;

    wait_for_restart(port.health(), 1).await;
    let usage = key.get("/rest/v2/usage").await;
    assert!(usage.data(200)["rest"]["today"].as_u64().unwrap() >= 6, "{}", usage.body);
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn oauth_connection_survives_a_grants_actor_crash() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let assistant = OAuthClient::new(server.anonymous()).await;
    let mut tokens = assistant.connect(&browser, "read:library").await;
    let port = server.context().auth.grants.port();

    for deaths in 1..=3 {
        port.crash();
        wait_for_crash(port.health(), deaths).await;

        // Token exchanges do not need the actor.
        assert_eq!(assistant.call_status(&tokens.access).await, 200);
        let refreshed = assistant.refresh(&tokens.refresh).await;
        assert_eq!(refreshed.status, 200, "{}", refreshed.body);
        tokens = Tokens::from_response(&refreshed);
        wait_for_restart(port.health(), deaths).await;
    }
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn retrieval_actor_finds_documents_after_a_crash() {
    let server = Server::start().await;
    let port = server.context().retrieval.port();
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save_text("https://example.org/heron", "The heron stands still in the water.").await;
    key.wait_for(&saved, "ready").await;

    port.crash();

    // Searches do not go through the actor.
    assert_eq!(key.search("heron").await, [saved["documentId"].as_str().unwrap()]);
    wait_for_restart(port.health(), 1).await;
    let saved = key.save_text("https://example.org/egret", "The egret wades through the reeds.").await;
    key.wait_for(&saved, "ready").await;
    assert!(key.search("egret").await.iter().any(|document| *document == saved["documentId"]));
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn activity_actor_crash_is_invisible_to_callers() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let activity = server.context().requests.activity.port();

    activity.crash();
    key.get("/rest/v2/usage").await.data(200);
    wait_for_restart(activity.health(), 1).await;
    key.get("/rest/v2/search?q=heron").await.data(200);

    server.context().requests.activity.flush().await.unwrap();
    let answer = session.get("/app/api/activity").await;
    let lines = answer.data(200)["activity"].as_array().unwrap();
    assert_eq!(lines.iter().filter(|line| line["route"] == "GET /search").count(), 1);
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn ingest_actor_crash_is_invisible_to_callers() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    server.service().worker.port().crash();
    let saved = key.save_text("https://example.org/heron", "The heron stands still in the water.").await;

    key.wait_for(&saved, "ready").await;
    assert_eq!(server.service().worker.port().health().report().restarts, 1);
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn actor_restart_is_shown_by_readyz() {
    let server = Server::start().await;
    let port = server.service().notices.port();

    port.crash();
    wait_for_restart(port.health(), 1).await;

    let ready = server.anonymous().get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.body);
    let notices =
        ready.body["actors"].as_array().unwrap().iter().find(|actor| actor["name"] == "notices").unwrap();
    assert_eq!((&notices["up"], &notices["restarts"]), (&json!(true), &json!(1)));
}

/// Covers the fault table (row 30).
#[actix_web::test]
async fn job_of_crashed_actor_runs_again_after_its_lease() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/slow", [Reply::Never, article("Slow", "a heron")]);
    let saved = key.save(json!({ "url": url })).await;
    eventually("the page is being fetched", async || (site.request_count("/slow") == 1).then_some(())).await;

    server.service().worker.port().crash();
    wait_for_restart(server.service().worker.port().health(), 1).await;
    let other = key.save_text("https://example.org/other", "Another one, of a kingfisher.").await;
    key.wait_for(&other, "ready").await;
    assert_eq!(site.request_count("/slow"), 1, "the lease of the dead still holds");
    server.clock.advance(std::time::Duration::from_secs(13));

    key.wait_for(&saved, "ready").await;
    assert_eq!(site.request_count("/slow"), 2);
    assert_eq!(key.search("heron").await, [saved["documentId"].as_str().unwrap()]);
}
