//! What operators see and change; for others it does not exist.

use actors::auth::accounts;
use carrel::app;
use entity::job;
use jobs::JobKind;
use sea_orm::{EntityTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;
use values::kind::JobState;
use values::plan::Plan;

use crate::support::route_table::{self, RouteRequest};
use crate::support::{Client, NOON, PASSWORD, Reply, Server, Site, User, eventually};

fn routes() -> Vec<RouteRequest> {
    route_table::requests("/app/api", app::OPERATOR_ROUTES)
}

/// Makes a user an operator, and signs in.
async fn operator(server: &Server, user: &User<'_>) -> Client {
    accounts::set_operator(&server.context().core, user.id(), true).await.unwrap();
    user.sign_in().await
}

#[actix_web::test]
async fn operator_routes_do_not_exist_for_others() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);

    for request in routes() {
        let name = request.route.name();
        assert_eq!(request.send(&browser).await.error_code(404), "NOT_FOUND", "{name}");
        for client in [&server.anonymous(), &*key] {
            assert_eq!(request.send(client).await.error_code(401), "NOT_SIGNED_IN", "{name}");
        }
    }
}

#[actix_web::test]
async fn operator_routes_refuse_foreign_origins_and_parameters() {
    let server = Server::start().await;
    let user = server.user(Plan::Free).await;
    let browser = operator(&server, &user).await;

    for request in routes() {
        let name = request.route.name();
        let refused = request.send_with(&browser, "?surprise=1", request.body()).await;
        assert!(refused.faults().contains(&"surprise"), "{name}: {}", refused.body);
        if request.route.method.as_str() != "GET" {
            let foreign = browser.clone().with("origin", "https://elsewhere.example");
            assert_eq!(request.send(&foreign).await.error_code(403), "FOREIGN_ORIGIN", "{name}");
        }
    }
}

#[actix_web::test]
async fn first_account_of_the_setup_is_the_operator() {
    let server = Server::start().await;
    let account = json!({ "email": "first@reader.example", "password": PASSWORD });
    server.anonymous().post("/app/api/setup", account).await.data(201);
    let first = server.anonymous().sign_in("first@reader.example", PASSWORD).await;
    let second = server.user(Plan::Research).await.sign_in().await;

    first.get("/app/api/operator/health").await.data(200);

    assert_eq!(second.get("/app/api/operator/health").await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn former_operator_is_refused_at_once() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let browser = operator(&server, &user).await;
    browser.get("/app/api/operator/users").await.data(200);

    accounts::set_operator(&server.context().core, user.id(), false).await.unwrap();

    assert_eq!(browser.get("/app/api/operator/users").await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn accounts_are_listed_in_pages_with_their_counts() {
    let server = Server::start().await;
    let (own, reader) = (server.user(Plan::Pro).await, server.user(Plan::Free).await);
    let browser = operator(&server, &own).await;
    own.full_key().await.save_text("https://reeds.example/canary", "canary text").await;

    let first = browser.get("/app/api/operator/users?limit=1").await;
    let first = first.data(200);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = browser.get(&format!("/app/api/operator/users?limit=1&cursor={cursor}")).await;
    let second = second.data(200);

    let shown = &first["users"][0];
    assert_eq!((&shown["email"], &shown["isOperator"]), (&own.email().into(), &true.into()));
    assert_eq!((&shown["plan"], &shown["documents"]), (&"pro".into(), &1.into()));
    assert!(shown["libraryBytes"].as_u64().unwrap() > 0);
    let other = &second["users"][0];
    assert_eq!((&other["email"], &other["documents"]), (&reader.email().into(), &0.into()));
    assert_eq!(second["nextCursor"], Value::Null);
}

#[actix_web::test]
async fn disabled_account_is_refused_at_once_and_enabled_again() {
    let server = Server::start().await;
    let (own, user) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (browser, key, session) =
        (operator(&server, &own).await, user.full_key().await, user.sign_in().await);
    key.get("/rest/v2/usage").await.data(200);
    let path = format!("/app/api/operator/users/{}", user.id());

    let disabled = browser.patch(&path, json!({ "disabled": true })).await;

    assert!(disabled.data(200)["user"]["disabledAt"].is_string());
    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
    assert_eq!(session.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
    browser.patch(&path, json!({ "disabled": false })).await.data(200);
    key.get("/rest/v2/usage").await.data(200);
}

#[actix_web::test]
async fn operator_changes_a_plan_but_not_the_own_access() {
    let server = Server::start().await;
    let (own, user) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (browser, key) = (operator(&server, &own).await, user.full_key().await);
    key.get("/rest/v2/usage").await.data(200);

    let path = format!("/app/api/operator/users/{}", user.id());
    let changed = browser.patch(&path, json!({ "plan": "free" })).await;
    let own_path = format!("/app/api/operator/users/{}", own.id());
    let refused = browser.patch(&own_path, json!({ "disabled": true })).await;

    assert_eq!(changed.data(200)["user"]["plan"], "free");
    assert_eq!(key.get("/rest/v2/usage").await.error_code(402), "PLAN_REQUIRED");
    assert_eq!(refused.error_code(409), "CONFLICT");
    let unknown = format!("/app/api/operator/users/{}", Uuid::now_v7());
    assert_eq!(browser.patch(&unknown, json!({ "plan": "free" })).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn failed_job_is_listed_without_its_document_and_retried() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let browser = operator(&server, &user).await;
    let failed = job::Model {
        state: JobState::GivenUp,
        error: Some("refused".to_owned()),
        finished_at: Some(NOON),
        ..job::Model::queued(user.id(), JobKind::SendEmail.name(), Uuid::now_v7(), (0, 0), NOON)
    };
    let (id, db) = (failed.id, server.context().core.db.clone());
    job::Entity::insert(failed.into_active_model()).exec_without_returning(db.write()).await.unwrap();

    let shown = browser.get("/app/api/operator/work").await;
    let shown = shown.data(200);
    let retry = format!("/app/api/operator/work/{id}/retry");
    browser.post(&retry, json!({})).await.data(202);

    assert_eq!(shown["failedKinds"], json!([{ "work": "send_email", "failed": 1 }]));
    let row = &shown["failed"][0];
    assert_eq!((&row["id"], &row["reason"]), (&id.to_string().into(), &"refused".into()));
    assert_eq!((&row["email"], &row["canRetry"]), (&user.email().into(), &true.into()));
    assert!(shown["tracks"].as_array().unwrap().iter().any(|track| track["track"] == "web"));
    eventually("the job has ended", async || {
        let again = browser.get("/app/api/operator/work").await;
        again.data(200)["failed"].as_array().unwrap().is_empty().then_some(())
    })
    .await;
}

#[actix_web::test]
async fn failing_host_is_listed_without_its_pages_and_retried() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (browser, key) = (operator(&server, &user).await, user.full_key().await);
    let url = site.page("/canary-page", [Reply::Status(404)]);
    let saved = key.save(json!({ "url": url })).await;
    key.wait_for(&saved, "failed").await;
    let listed = eventually("the host is listed", async || {
        let hosts = browser.get("/app/api/operator/hosts").await;
        let hosts = hosts.data(200).clone();
        (!hosts["hosts"].as_array().unwrap().is_empty()).then_some(hosts)
    })
    .await;

    let host = listed["hosts"][0]["host"].as_str().unwrap().to_owned();
    let retried = browser.post("/app/api/operator/hosts/retry", json!({ "host": host })).await;

    assert_eq!((&listed["hosts"][0]["pages"], &listed["all"]), (&1.into(), &1.into()));
    assert!(listed["hosts"][0]["reason"].as_str().unwrap().contains("404"), "{listed}");
    assert!(!listed.to_string().contains("canary"), "{listed}");
    assert_eq!(retried.data(202), &json!({ "pages": 1, "feeds": 0 }));
}

#[actix_web::test]
async fn operator_pauses_and_resumes_ai() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let browser = operator(&server, &user).await;

    let paused = browser.post("/app/api/operator/ai/pause", json!({})).await;
    let health = browser.get("/app/api/operator/health").await;
    let resumed = browser.post("/app/api/operator/ai/resume", json!({})).await;

    assert_eq!(paused.data(200)["pausedUntil"], "2024-05-07T00:00:00.000Z");
    assert_eq!(health.data(200)["ai"]["pausedUntil"], "2024-05-07T00:00:00.000Z");
    assert_eq!(resumed.data(200)["pausedUntil"], Value::Null);
}

#[actix_web::test]
async fn health_and_storage_show_no_content_of_users() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let browser = operator(&server, &user).await;
    user.full_key().await.save_text("https://canary.example/canary", "canary canary").await;

    for request in routes().iter().filter(|request| request.route.method.as_str() == "GET") {
        let shown = request.send(&browser).await;
        shown.data(200);
        assert!(!shown.text.contains("canary"), "{}: {}", request.route.name(), shown.text);
    }
    let storage = browser.get("/app/api/operator/storage").await;
    assert_eq!((&storage.data(200)["accounts"], &storage.data(200)["bookmarks"]), (&1.into(), &1.into()));
    let health = browser.get("/app/api/operator/health").await;
    assert_eq!(
        (&health.data(200)["database"], &health.data(200)["hasMailer"]),
        (&"ok".into(), &false.into())
    );
}
