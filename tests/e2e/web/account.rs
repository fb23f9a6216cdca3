//! The settings of an account, by forms alone.

use serde_json::json;
use values::plan::Plan;

use crate::support::{Client, PASSWORD, Response, Server};

/// Posts a form as a browser does from a page of this server.
async fn send_form(session: &Client, path: &str, fields: &[(&str, &str)]) -> Response {
    let own = session.clone().with("origin", session.base_url()).with("sec-fetch-site", "same-origin");
    own.post_form(path, fields).await
}

/// Posts a form, and gets the page to which it leads.
async fn page_after_form(session: &Client, path: &str, fields: &[(&str, &str)]) -> Response {
    let sent = send_form(session, path, fields).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    session.get(sent.header("location")).await
}

#[actix_web::test]
async fn name_language_zone_and_theme_are_changed_together() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let fields = [("name", "Mara <b>"), ("language", "de"), ("timeZone", "Europe/Berlin"), ("theme", "dark")];

    let page = page_after_form(&session, "/settings/account", &fields).await;

    assert!(page.text.contains("lang=\"de\"") && page.text.contains("data-theme=\"dark\""), "{}", page.text);
    assert!(page.text.contains("Mara &#60;b&#62;") && !page.text.contains("Mara <b>"), "{}", page.text);
    assert!(page.text.contains("Gespeichert"), "{}", page.text);
    let again = session.get("/settings/account").await;
    assert!(!again.text.contains("Gespeichert"), "{}", again.text);
    assert_eq!(again.header("cache-control"), "private, no-store");
}

#[actix_web::test]
async fn message_of_an_action_is_shown_to_its_user_once() {
    let server = Server::start().await;
    let (first, second) =
        (server.user(Plan::Pro).await.sign_in().await, server.user(Plan::Pro).await.sign_in().await);
    let sent = send_form(&first, "/settings/keyboard", &[]).await;
    let path = sent.header("location");

    let (foreign, own, again) = (second.get(path).await, first.get(path).await, first.get(path).await);

    assert!(!foreign.text.contains("id=\"toast\""));
    assert!(own.text.contains("id=\"toast\"") && !again.text.contains("id=\"toast\""));
}

#[actix_web::test]
async fn refused_settings_keep_what_was_typed() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let refused =
        send_form(&session, "/settings/account", &[("timeZone", "Mars/Olympus"), ("name", "Mara")]).await;

    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("Choose a time zone of the list."), "{}", refused.text);
    assert!(refused.text.contains("value=\"Mars/Olympus\"") && refused.text.contains("value=\"Mara\""));
}

#[actix_web::test]
async fn fault_of_the_name_saves_no_setting() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let name = "a".repeat(301);

    let refused = send_form(&session, "/settings/account", &[("theme", "dark"), ("name", &name)]).await;

    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("value=\"dark\" checked"), "{}", refused.text);
    assert_eq!(session.get("/app/api/settings").await.data(200)["theme"], "system");
}

#[actix_web::test]
async fn refused_form_of_the_reader_keeps_what_was_sent() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let fields = [
        ("preset", "large"),
        ("own", "on"),
        ("size", "1400"),
        ("leading", "150"),
        ("measure", "30"),
        ("justified", "on"),
        ("wordsPerMinute", "many"),
    ];

    let refused = send_form(&session, "/settings/reading", &fields).await;

    assert_eq!(refused.status, 422, "{}", refused.text);
    for shown in [
        "value=\"large\" checked",
        "value=\"1400\"",
        "name=\"own\" checked",
        "name=\"justified\" checked",
        "name=\"pictures\">",
        "value=\"many\"",
    ] {
        assert!(refused.text.contains(shown), "{shown}: {}", refused.text);
    }
}

#[actix_web::test]
async fn own_sizes_of_the_reader_are_a_stylesheet() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let sizes = [("own", "on"), ("size", "1500"), ("leading", "170"), ("measure", "30"), ("paper", "linen")];

    let page = page_after_form(&session, "/settings/reading", &sizes).await;

    let link = page.text.split("href=\"/assets/me.css").nth(1).unwrap().split('"').next().unwrap();
    let style = session.get(&format!("/assets/me.css{link}")).await;
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert!(style.header("cache-control").starts_with("private"), "{}", style.header("cache-control"));
    assert!(
        style.text.contains("--read-size: 1.5rem; --read-leading: 1.7; --read-measure: 30em;"),
        "{}",
        style.text
    );
    let without = page_after_form(&session, "/settings/reading", &[("paper", "auto")]).await;
    assert!(!without.text.contains("me.css"), "{}", without.text);
}

#[actix_web::test]
async fn single_keys_are_turned_off_on_every_page() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    assert!(session.get("/").await.text.contains("data-keys=\"on\""));

    page_after_form(&session, "/settings/keyboard", &[]).await;

    assert!(session.get("/").await.text.contains("data-keys=\"off\""));
    assert!(session.get("/help/keys").await.text.contains("Single keys are turned off."));
}

#[actix_web::test]
async fn other_sessions_end_and_the_own_one_stays() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (own, other) = (user.sign_in().await, user.sign_in().await);

    let page = page_after_form(&own, "/settings/security/sessions", &[]).await;

    assert!(page.text.contains("One session ended"), "{}", page.text);
    assert_eq!((own.get("/").await.status, other.get("/").await.status), (200, 303));
}

#[actix_web::test]
async fn session_of_another_user_cannot_be_ended() {
    let server = Server::start().await;
    let (own, other) =
        (server.user(Plan::Pro).await.sign_in().await, server.user(Plan::Pro).await.sign_in().await);
    let sessions = other.get("/app/api/sessions").await;
    let id = sessions.data(200)["sessions"][0]["id"].as_str().unwrap().to_owned();

    let by_page = send_form(&own, &format!("/settings/security/sessions/{id}"), &[]).await;
    let by_route = own.delete(&format!("/app/api/sessions/{id}")).await;

    assert_eq!((by_page.status, by_route.error_code(404)), (404, "NOT_FOUND"));
    assert_eq!(other.get("/").await.status, 200);
}

#[actix_web::test]
async fn password_is_changed_with_the_current_one() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (own, other) = (user.sign_in().await, user.sign_in().await);
    let new = "seven herons on the weir";

    let wrong = send_form(&own, "/settings/security", &[("current", "no"), ("new", new)]).await;
    let page = page_after_form(&own, "/settings/security", &[("current", PASSWORD), ("new", new)]).await;

    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("This is not the password of your account."), "{}", wrong.text);
    assert!(!wrong.text.contains(new));
    assert!(page.text.contains("The password was changed"), "{}", page.text);
    assert_eq!(other.get("/").await.status, 303);
    assert_eq!(server.anonymous().sign_in(user.email(), new).await.get("/").await.status, 200);
}

#[actix_web::test]
async fn email_address_is_changed_with_the_password() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (session, path) = (user.sign_in().await, "/settings/account/email");
    let new = "heron@reed.example";

    let wrong = send_form(&session, path, &[("email", new), ("current", "no")]).await;
    let invalid = send_form(&session, path, &[("email", "heron"), ("current", PASSWORD)]).await;
    let taken = send_form(&session, path, &[("email", other.email()), ("current", PASSWORD)]).await;
    let by_route =
        session.post("/app/api/email", json!({ "email": other.email(), "current": PASSWORD })).await;
    let fields = [("email", "Heron@Reed.example"), ("current", PASSWORD)];
    let page = page_after_form(&session, path, &fields).await;

    assert_eq!((wrong.status, invalid.status, by_route.error_code(409)), (422, 422, "CONFLICT"));
    assert!(wrong.text.contains("value=\"heron@reed.example\""), "{}", wrong.text);
    assert!(taken.text.contains("Another account has this e-mail address."), "{}", taken.text);
    assert!(page.text.contains("<bdi dir=\"ltr\">heron@reed.example</bdi>"), "{}", page.text);
    assert_eq!(server.anonymous().sign_in(new, PASSWORD).await.get("/").await.status, 200);
    let former = json!({ "email": user.email(), "password": PASSWORD });
    assert_eq!(server.anonymous().post("/app/api/session", former).await.status, 401);
}

#[actix_web::test]
async fn account_is_deleted_with_its_password_alone() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let asked = session.get_part("/settings/account/delete", "dialog").await;
    assert!(
        asked.text.starts_with("<div id=\"dialog\"") && asked.text.contains("/exports"),
        "{}",
        asked.text
    );

    let wrong = send_form(&session, "/settings/account/delete", &[("password", "no")]).await;
    let deleted = send_form(&session, "/settings/account/delete", &[("password", PASSWORD)]).await;

    assert_eq!(wrong.status, 422);
    assert_eq!((deleted.status, deleted.header("location")), (303, "/sign-in"));
    let account = json!({ "email": user.email(), "password": PASSWORD });
    assert_eq!(server.anonymous().post("/app/api/session", account).await.status, 401);
}

#[actix_web::test]
async fn palette_finds_pages_titles_and_actions() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let saved =
        json!({ "url": "https://tide.example/a", "title": "The <b>harbour</b>", "text": "Low water." });
    session.post("/app/api/library/bookmarks", saved).await;

    let list = session.get_part("/go?q=harb", "palette-list").await;
    let pages = session.get_part("/go?q=secur", "palette-list").await;
    let ask = session.get("/ask?q=harb").await;

    assert!(list.text.starts_with("<ul id=\"palette-list\""), "{}", list.text);
    assert!(list.text.contains("The &#60;b&#62;harbour&#60;/b&#62;"), "{}", list.text);
    assert!(list.text.contains("/search?q=harb") && list.text.contains("/ask?q=harb"), "{}", list.text);
    assert!(ask.text.contains(">harb</textarea>"), "{}", ask.text);
    assert!(
        pages.text.contains("/settings/security") && !pages.text.contains("/settings/usage"),
        "{}",
        pages.text
    );
}

#[actix_web::test]
async fn palette_finds_names_among_many_whatever_their_case() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    for (client, name) in [(&session, "Öl_1"), (&session, "Öl 1"), (&other, "Öl_1 of others")] {
        client.post("/app/api/projects", json!({ "name": name })).await.data(201);
        client.post("/app/api/library/collections", json!({ "name": name })).await.data(201);
    }
    // More than the longest page of a list of projects.
    for number in 0..51 {
        let project = json!({ "name": format!("Project {number}") });
        session.post("/app/api/projects", project).await.data(201);
    }

    let found = session.get_part("/go?q=%C3%B6l_1", "palette-list").await;
    let many = session.get_part("/go?q=project+", "palette-list").await;

    for path in ["href=\"/projects/", "href=\"/collections/"] {
        assert_eq!(found.text.matches(path).count(), 1, "{path}: {}", found.text);
    }
    assert!(found.text.contains("Öl_1") && !found.text.contains("others"), "{}", found.text);
    assert_eq!(many.text.matches("href=\"/projects/").count(), 4, "{}", many.text);
}

#[actix_web::test]
async fn app_can_be_installed_and_shared_to() {
    let server = Server::start().await;
    let anonymous = server.anonymous();

    let manifest = anonymous.get("/manifest.webmanifest").await;
    let worker = anonymous.get("/sw.js").await;

    assert_eq!(manifest.header("content-type"), "application/manifest+json");
    assert_eq!(manifest.body["share_target"]["action"], "/add");
    for icon in manifest.body["icons"].as_array().unwrap() {
        assert_eq!(anonymous.get(icon["src"].as_str().unwrap()).await.status, 200);
    }
    assert_eq!(worker.header("service-worker-allowed"), "/");
    assert!(worker.text.contains("/assets/base.") && !worker.text.contains("\"ASSETS\""), "{}", worker.text);
    assert_eq!(anonymous.get("/offline").await.status, 200);
}
