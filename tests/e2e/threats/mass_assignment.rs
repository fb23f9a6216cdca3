//! Mass assignment: fields that a caller may not set, in every request body (row T5).

use reqwest::Method;
use serde_json::{Map, Value, json};
use values::plan::Plan;

use super::routes;
use crate::support::route_table::RouteRequest;
use crate::support::{PASSWORD, Response, Server};

/// Names of columns that other services have accepted from a body.
const FOREIGN_FIELDS: [&str; 18] = [
    "userId",
    "user_id",
    "ownerId",
    "id",
    "plan",
    "role",
    "isAdmin",
    "scopes",
    "kind",
    "status",
    "state",
    "secret",
    "secretHash",
    "createdAt",
    "deletedAt",
    "documentId",
    "verified",
    "__proto__",
];

/// Those of [`FOREIGN_FIELDS`] that the route does not have.
fn fields_not_in_route(request: &RouteRequest) -> Vec<&'static str> {
    let schema = (request.route.request.schema)();
    FOREIGN_FIELDS.into_iter().filter(|name| schema["properties"].get(name).is_none()).collect()
}

fn object_with(names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), json!("x"))).collect::<Map<_, _>>().into()
}

#[track_caller]
fn assert_names_all(answer: &Response, names: &[&str], what: &str) {
    assert_eq!(answer.error_code(400), "VALIDATION_FAILED", "{what}");
    let faults = answer.faults();
    for name in names {
        assert!(faults.contains(name), "{what} takes {name}: {}", answer.body);
    }
}

/// Covers the threat table (row T5).
#[actix_web::test]
async fn every_body_refuses_foreign_columns() {
    let server = Server::start().await;
    let tables = routes(&server).await;

    for (client, routes) in &tables {
        for request in routes.iter().filter(|request| request.body().is_some()) {
            let names = fields_not_in_route(request);
            let answer = request.send_with(client, "", Some(object_with(&names))).await;
            assert_names_all(&answer, &names, request.route.name());
        }
    }
    let [_, (browser, _)] = &tables;
    let mine = browser.get("/app/api/session").await.data(200)["user"].clone();
    assert_eq!(mine["plan"], "pro");
}

/// Covers the threat table (row T5).
#[actix_web::test]
async fn account_bodies_refuse_foreign_columns() {
    let server = Server::start_with(&[("ACCOUNTS__SIGNUP", "open")]).await;
    let account = json!({ "email": "a@reader.example", "password": PASSWORD, "name": "A" });
    let signed_out = server.anonymous();
    for path in ["/app/api/setup", "/app/api/signup"] {
        for (name, value) in [("plan", "research"), ("userId", "x"), ("passwordHash", "x")] {
            let mut body = account.clone();
            body[name] = json!(value);
            assert_names_all(&signed_out.post(path, body).await, &[name], path);
        }
    }
    let user = server.user(Plan::Free).await;
    let browser = user.sign_in().await;

    let credentials = json!({ "email": user.email(), "password": PASSWORD, "userId": "x" });
    assert_names_all(&signed_out.post("/app/api/session", credentials).await, &["userId"], "session");
    let change = json!({ "current": PASSWORD, "new": "another long pass 9!", "userId": "x" });
    assert_names_all(&browser.post("/app/api/password", change).await, &["userId"], "password");
    let change = json!({ "email": "mara@home.example", "current": PASSWORD, "userId": "x" });
    assert_names_all(&browser.post("/app/api/email", change).await, &["userId"], "email");
    let removal = json!({ "password": PASSWORD, "userId": "x" });
    let removed = browser.send(Method::DELETE, "/app/api/account", Some(removal)).await;
    assert_names_all(&removed, &["userId"], "account");
    browser.get("/app/api/session").await.data(200);
}

/// Covers the threat table (row T5).
#[actix_web::test]
async fn nested_objects_refuse_foreign_columns() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, browser, assistant) = (user.full_key().await, user.sign_in().await, user.assistant().await);
    let project = crate::rest::projects::create_project(&browser, "P").await;

    let items = json!({ "items": [{ "url": "https://example.org/", "userId": "x" }] });
    let added = key.post(&format!("/rest/v2/projects/{project}/items"), items).await;
    assert_names_all(&added, &["items[0].userId"], "items");
    let operations = json!({ "operations": [
        { "op": "create", "url": "https://example.org/a", "userId": "x" },
        { "op": "create", "url": "https://example.org/b", "status": "ready" },
    ] });
    let batch = key.post("/rest/v1/bookmarks/batch", operations).await;
    for result in batch.data(200)["results"].as_array().unwrap() {
        assert_eq!((&result["ok"], &result["error"]["code"]), (&json!(false), &json!("VALIDATION_FAILED")));
    }
    for tool in assistant.list_tools().await {
        let error = assistant.call(&tool, json!({ "userId": user.id().to_string() })).await.unwrap_err();
        assert_eq!(error["code"], "VALIDATION_FAILED", "{tool}");
        assert!(error["fields"].to_string().contains("userId"), "{tool}: {error}");
    }
    assert_eq!(key.get("/rest/v1/bookmarks").await.data(200)["bookmarks"], json!([]));
}
