//! The pages by which a user who forgot the password sets a new one.

use serde_json::json;
use values::plan::Plan;

use crate::support::{PASSWORD, Server, eventually};

const NEW_PASSWORD: &str = "seven bitterns by the weir";

#[actix_web::test]
async fn forgotten_password_is_replaced_by_pages() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&[("MAIL__URL", &format!("file://{}", folder.path().display()))]).await;
    let (user, anonymous) = (server.user(Plan::Pro).await, server.anonymous());
    let asked = anonymous.post_form("/forgot", &[("email", user.email())]).await;
    assert_eq!((asked.status, asked.header("location")), (303, "/forgot?sent"));
    let unknown = anonymous.post_form("/forgot", &[("email", "nobody@reader.example")]).await;
    assert_eq!((unknown.status, unknown.header("location")), (303, "/forgot?sent"));
    let path = eventually("the link is sent", async || {
        let files = std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.path());
        let emails = files.filter(|path| path.extension().is_some_and(|kind| kind == "eml"));
        let text = emails.map(|path| std::fs::read_to_string(path).unwrap()).next()?;
        let (_, rest) = text.split_once("/reset?token=")?;
        Some(format!("/reset?token={}", rest.split_whitespace().next()?))
    })
    .await;

    let page = anonymous.get(&path).await;
    let token = path.split_once('=').unwrap().1;
    let weak = anonymous.post_form("/reset", &[("token", token), ("new", "short")]).await;
    let set = anonymous.post_form("/reset", &[("token", token), ("new", NEW_PASSWORD)]).await;

    assert!(
        page.text.contains("autocomplete=\"new-password\"")
            && page.header("cache-control").contains("no-store")
    );
    assert_eq!((weak.status, weak.text.contains("id=\"new-wrong\"")), (422, true));
    assert_eq!((set.status, set.header("location")), (303, "/reset?done"));
    let done = anonymous.get("/reset?done").await.text;
    assert!(done.contains("API keys stay valid") && done.contains("href=\"/settings/keys\""), "{done}");
    assert!(anonymous.get(&path).await.text.contains("used before or has expired"));
    anonymous.sign_in(user.email(), NEW_PASSWORD).await;
    let old = json!({ "email": user.email(), "password": PASSWORD });
    assert_eq!(anonymous.post("/app/api/session", old).await.status, 401);
}

#[actix_web::test]
async fn server_without_mail_shows_the_command_of_its_operator() {
    let server = Server::start().await;

    let page = server.anonymous().get("/forgot").await;
    let asked = server.anonymous().post_form("/forgot", &[("email", "a@b.example")]).await;

    assert!(page.text.contains("carrel user set-password") && !page.text.contains("<form"), "{}", page.text);
    assert_eq!((asked.status, asked.header("location")), (303, "/forgot"));
}

#[actix_web::test]
async fn pages_of_a_german_browser_are_in_german() {
    let server = Server::start().await;
    let german = server.anonymous().with("accept-language", "de-DE,de;q=0.9");

    assert!(german.get("/forgot").await.text.contains("Passwort vergessen?"));
    assert!(german.get("/reset?token=x").await.text.contains("Dieser Link wurde schon benutzt"));
}
