//! The settings of an account, by the routes of the web app.

use serde_json::json;
use values::plan::Plan;

use crate::support::Server;

#[actix_web::test]
async fn settings_keep_what_is_not_changed() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let before = session.get("/app/api/settings").await;
    assert_eq!(before.data(200)["theme"], "system");

    session
        .patch("/app/api/settings", json!({ "theme": "dark", "timeZone": "Europe/Berlin" }))
        .await
        .data(200);
    session.patch("/app/api/settings", json!({ "language": "de", "size": 1_500 })).await.data(200);
    session.patch("/app/api/settings", json!({ "timeZone": null })).await.data(200);

    let after = session.get("/app/api/settings").await;
    let settings = after.data(200);
    assert_eq!((&settings["theme"], &settings["language"]), (&json!("dark"), &json!("de")));
    assert_eq!((&settings["timeZone"], &settings["reading"]["size"]), (&json!(null), &json!(1_500)));
}

#[actix_web::test]
async fn settings_outside_of_their_bounds_are_refused() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    for (name, value) in [
        ("theme", json!("pink")),
        ("timeZone", json!("Mars/Olympus")),
        ("size", json!(200)),
        ("wordsPerMinute", json!(0)),
        ("language", json!("xx")),
    ] {
        let refused = session.patch("/app/api/settings", json!({ name: value })).await;
        assert_eq!(refused.error_code(400), "VALIDATION_FAILED", "{name}");
    }
}

#[actix_web::test]
async fn settings_of_one_user_are_not_those_of_another() {
    let server = Server::start().await;
    let (first, second) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);

    first.sign_in().await.patch("/app/api/settings", json!({ "theme": "dark" })).await.data(200);

    let other = second.sign_in().await.get("/app/api/settings").await;
    assert_eq!(other.data(200)["theme"], "system");
}

#[actix_web::test]
async fn page_is_written_in_the_language_of_the_account() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    session.patch("/app/api/settings", json!({ "language": "de", "theme": "dark" })).await.data(200);

    let home = session.with("accept-language", "en").get("/").await;

    assert!(home.text.contains("<html lang=\"de\" dir=\"ltr\" data-theme=\"dark\">"), "{}", home.text);
    assert!(home.text.contains("Bibliothek"), "{}", home.text);
}

#[actix_web::test]
async fn counts_of_an_empty_account_are_zero() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let counts = session.get("/app/api/counts").await;

    assert_eq!(
        counts.data(200),
        &json!({ "unreadEntries": 0, "unreadNotices": 0, "pendingWork": 0, "failedDocuments": 0, "bookmarks": 0 })
    );
}
