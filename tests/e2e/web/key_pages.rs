//! The pages of API keys: creating one, its secret, which is shown once, its first call, a new secret, and its end.

use actors::auth::accounts;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Response, Server, read_ticket};

/// Returns the key in a page, if there is one.
fn secret_in(page: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = page.split(|c: char| !is_part(c));
    words.filter(|word| word.starts_with("pk_") && word.len() == 52).map(str::to_owned).next()
}

async fn create(browser: &Client, kind: &str, ticket: &str) -> Response {
    // A form that was opened just now: an old one whose ticket is spent is shown again.
    let opened = opened_in(&browser.get("/settings/keys/new").await.text);
    let fields = [
        ("ticket", ticket),
        ("opened", opened.as_str()),
        ("kind", kind),
        ("name", "Reading group bot"),
        ("scope", "read:library"),
        ("hourlyLimit", "1,000"),
        ("until", "30"),
    ];
    browser.post_form("/settings/keys/new", &fields).await
}

fn opened_in(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"opened\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

async fn keys(browser: &Client) -> Vec<Value> {
    browser.get("/app/api/keys").await.data(200)["keys"].as_array().unwrap().clone()
}

#[actix_web::test]
async fn secret_is_in_one_answer_and_never_again() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let ticket = read_ticket(&browser.get("/settings/keys/new?kind=rest").await);

    let created = create(&browser, "rest", &ticket).await;

    assert_eq!(created.status, 200, "{}", created.text);
    assert!(created.header("cache-control").contains("no-store"));
    let secret = secret_in(&created.text).unwrap();
    server.anonymous().with_key(&secret).get("/rest/v2/usage").await.data(200);
    let listed = keys(&browser).await;
    let [key] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((&key["kind"], &key["hourlyLimit"]), (&"rest".into(), &600.into()));
    assert_eq!(key["expiresAt"], "2024-06-05T12:00:00.000Z");
    // The reload of the page sends the form again.
    let again = create(&browser, "rest", &ticket).await;
    assert_eq!((again.status, secret_in(&again.text)), (303, None));
    assert!(again.header("location").starts_with("/settings/keys?done="), "{}", again.header("location"));
    assert_eq!(keys(&browser).await.len(), 1);
    let id = key["id"].as_str().unwrap();
    for path in
        ["/settings/keys", again.header("location"), &format!("/settings/keys/{id}"), "/settings/activity"]
    {
        let page = browser.get(path).await;
        assert_eq!((page.status, page.text.contains(&secret)), (200, false), "{path}");
        assert!(page.header("cache-control").contains("no-store"), "{path}");
    }
}

#[actix_web::test]
async fn form_without_a_ticket_creates_no_key() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (browser, of_other) = (user.sign_in().await, other.sign_in().await);
    let foreign = read_ticket(&of_other.get("/settings/keys/new").await);

    for ticket in ["", "made-up", &foreign] {
        assert_eq!(create(&browser, "mcp", ticket).await.status, 303, "{ticket}");
    }
    let late = [("ticket", "x"), ("opened", "1"), ("name", "Reader"), ("scope", "write:notes")];
    let shown = browser.post_form("/settings/keys/new", &late).await;

    assert_eq!(shown.status, 422);
    assert!(shown.text.contains("value=\"Reader\"") && shown.text.contains("value=\"write:notes\" checked"));
    assert_eq!(keys(&browser).await, Vec::<Value>::new());
}

#[actix_web::test]
async fn faults_are_shown_beside_their_fields() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let ticket = read_ticket(&browser.get("/settings/keys/new").await);

    let fields =
        [("ticket", ticket.as_str()), ("kind", "mcp"), ("scope", "read:library"), ("hourlyLimit", "many")];
    let refused = browser.post_form("/settings/keys/new", &fields).await;

    assert_eq!(refused.status, 422, "{}", refused.text);
    for field in ["name", "hourlyLimit"] {
        assert!(refused.text.contains(&format!("id=\"f-{field}-wrong\"")), "{field}: {}", refused.text);
    }
    assert!(refused.text.contains("value=\"many\""), "{}", refused.text);
}

#[actix_web::test]
async fn permissions_beyond_the_plan_are_locked() {
    let server = Server::start().await;
    let browser = server.user(Plan::Free).await.sign_in().await;

    let page = browser.get("/settings/keys/new?kind=mcp").await;
    let rest = browser.get("/settings/keys/new?kind=rest").await;

    assert!(
        page.text.contains("value=\"read:library\" checked")
            && page.text.contains("value=\"write:notes\" disabled")
    );
    assert!(
        rest.text.contains("includes no REST keys") && !rest.text.contains("name=\"ticket\""),
        "{}",
        rest.text
    );
}

#[actix_web::test]
async fn waiting_turns_to_connected_by_the_first_call() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    let path = format!("/settings/keys/{}", key.id);
    let waiting = browser.get_part(&path, "first-call").await;
    assert!(
        waiting.text.starts_with("<div id=\"first-call\"") && waiting.text.contains("data-live="),
        "{}",
        waiting.text
    );

    key.clone().with("user-agent", "bookworm/3.1").get("/rest/v2/usage").await.data(200);
    server.context().auth.keys.flush().await.unwrap();
    server.service().notices.flush().await;
    server.context().requests.activity.flush().await.unwrap();

    let connected = browser.get_part(&path, "first-call").await;
    assert!(
        connected.text.contains("bookworm/3.1") && !connected.text.contains("data-live="),
        "{}",
        connected.text
    );
}

#[actix_web::test]
async fn key_is_changed_and_revoked_by_forms() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await.sign_in().await);
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    let path = format!("/settings/keys/{}", key.id);
    let form = [("name", "Heron"), ("scope", "read:library"), ("scope", "read:user"), ("until", "keep")];

    let changed = browser.post_form(&path, &form).await;

    assert_eq!(changed.status, 303, "{}", changed.text);
    let shown = keys(&browser).await.remove(0);
    assert_eq!((&shown["name"], shown["scopes"].as_array().unwrap().len()), (&"Heron".into(), 2));
    for (path, form) in [(path.clone(), &form[..]), (format!("{path}/revoke"), &[])] {
        assert_eq!(other.post_form(&path, form).await.status, 404, "{path}");
    }
    assert_eq!(other.get(&path).await.status, 404);
    let revoked = browser.post_form(&format!("{path}/revoke"), &[]).await;
    assert_eq!(revoked.status, 303);
    assert!(browser.get(revoked.header("location")).await.text.contains("“Heron” was revoked"));
    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
}

#[actix_web::test]
async fn form_keeps_scopes_and_limit_beyond_the_plan() {
    let server = Server::start().await;
    let (core, user) = (&server.context().core, server.user(Plan::Pro).await);
    let browser = user.sign_in().await;
    let new = json!({ "name": "a", "kind": "mcp", "scopes": ["read:library", "ask:library", "write:notes"] });
    let created = browser.post("/app/api/keys", new).await;
    let path = format!("/settings/keys/{}", created.data(201)["key"]["id"].as_str().unwrap());
    let limit = core.plans.limits(Plan::Free).hourly_per_key.to_string();
    let form = [
        ("name", "Heron"),
        ("scope", "read:library"),
        ("scope", "read:projects"),
        ("hourlyLimit", limit.as_str()),
        ("until", "keep"),
    ];

    accounts::set_plan(core, user.id(), Plan::Free).await.unwrap();
    let changed = browser.post_form(&path, &form).await;
    accounts::set_plan(core, user.id(), Plan::Pro).await.unwrap();

    assert_eq!(changed.status, 303, "{}", changed.text);
    let key = keys(&browser).await.remove(0);
    let scopes = json!(["mcp", "read:library", "ask:library", "read:projects", "write:notes"]);
    assert_eq!((&key["name"], &key["effectiveScopes"]), (&"Heron".into(), &scopes));
    assert_eq!(key["hourlyLimit"], core.plans.limits(Plan::Pro).hourly_per_key);
}

#[actix_web::test]
async fn reload_of_a_new_secret_keeps_the_secret() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    let path = format!("/settings/keys/{}", key.id);
    let page = browser.get(&path).await;
    let (ticket, opened) = (read_ticket(&page), opened_in(&page.text));
    let form = [("ticket", ticket.as_str()), ("opened", opened.as_str())];

    let regenerated = browser.post_form(&format!("{path}/regenerate"), &form).await;
    let again = browser.post_form(&format!("{path}/regenerate"), &form).await;

    let secret = secret_in(&regenerated.text).unwrap();
    assert_eq!((again.status, secret_in(&again.text)), (303, None));
    server.anonymous().with_key(&secret).get("/rest/v2/usage").await.data(200);
    assert_eq!(key.get("/rest/v2/usage").await.error_code(401), "API_KEY_INVALID");
    assert_eq!(browser.get(&format!("{path}/regenerate")).await.status, 303);
}
