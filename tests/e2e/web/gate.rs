//! The pages before a session: set-up, sign-in, sign-up and sign-out, by forms alone.

use values::plan::Plan;

use crate::support::{Client, PASSWORD, Response, Server};

/// Posts a form as a browser does from a page of this server.
async fn send_form(client: &Client, path: &str, fields: &[(&str, &str)]) -> Response {
    let own = client.clone().with("origin", client.base_url()).with("sec-fetch-site", "same-origin");
    own.post_form(path, fields).await
}

/// Returns a client with the cookie that a response sets.
fn with_cookie_of(client: Client, response: &Response) -> Client {
    let cookie = response.header("set-cookie").split(';').next().unwrap().to_owned();
    client.with("cookie", &cookie)
}

#[actix_web::test]
async fn first_visit_leads_to_the_set_up() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;
    let anonymous = server.anonymous();

    let home = anonymous.get("/").await;
    let sign_in = anonymous.get("/sign-in").await;
    let set_up = anonymous.get("/setup").await;

    assert_eq!((home.status, home.header("location")), (303, "/sign-in"));
    assert_eq!((sign_in.status, sign_in.header("location")), (303, "/setup"));
    assert_eq!(set_up.status, 200);
    for text in
        ["https://carrel.example/mcp", "carrel user add --email ", "href=\"/docs\"", "href=\"/readyz\""]
    {
        assert!(set_up.text.contains(text), "{text}: {}", set_up.text);
    }
}

#[actix_web::test]
async fn first_account_is_created_once_and_signed_in() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    let account = [
        ("email", "mara@home.example"),
        ("password", PASSWORD),
        ("name", "Mara"),
        ("timeZone", "Europe/Berlin"),
    ];

    let created = send_form(&anonymous, "/setup", &account).await;
    let again = send_form(&anonymous, "/setup", &account).await;

    assert_eq!((created.status, created.header("location")), (303, "/"));
    let session = with_cookie_of(anonymous.clone(), &created);
    assert_eq!(session.get("/app/api/settings").await.data(200)["timeZone"], "Europe/Berlin");
    let home = session.get("/").await;
    assert!(home.status == 200 && home.text.contains("Mara"), "{}", home.text);
    assert_eq!(again.status, 403);
    assert_eq!(anonymous.get("/setup").await.header("location"), "/sign-in");
}

#[actix_web::test]
async fn faults_of_an_account_stand_at_their_fields() {
    let server = Server::start().await;

    let refused = send_form(&server.anonymous(), "/setup", &[("email", "mara"), ("password", "short")]).await;

    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("This is not an e-mail address."), "{}", refused.text);
    assert!(refused.text.contains("Use at least 10 characters."), "{}", refused.text);
    assert!(refused.text.contains("value=\"mara\"") && !refused.text.contains("short"), "{}", refused.text);
}

#[actix_web::test]
async fn wrong_password_says_one_thing_and_the_sixth_waits() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let wrong = [("email", user.email()), ("password", "not the password")];

    for _ in 0..5 {
        let refused = send_form(&server.anonymous(), "/sign-in", &wrong).await;
        assert_eq!(refused.status, 401);
        assert!(refused.text.contains("Wrong e-mail address or password."), "{}", refused.text);
    }
    let limited =
        send_form(&server.anonymous(), "/sign-in", &[("email", user.email()), ("password", PASSWORD)]).await;

    assert_eq!(limited.status, 429);
    assert!(limited.text.contains("Try again in 15 minutes."), "{}", limited.text);
    assert!(limited.headers.contains_key("retry-after"));
}

#[actix_web::test]
async fn sign_in_continues_on_an_own_page_only() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let sent_on = server.anonymous().get("/?a=b&c").await;
    let fields = |next| [("email", user.email()), ("password", PASSWORD), ("next", next)];

    let own = send_form(&server.anonymous(), "/sign-in", &fields("/library?state=unread")).await;
    let foreign = send_form(&server.anonymous(), "/sign-in", &fields("//evil.example/")).await;

    assert_eq!(sent_on.header("location"), "/sign-in?next=%2F%3Fa%3Db%26c");
    assert_eq!((own.status, own.header("location")), (303, "/library?state=unread"));
    assert_eq!((foreign.status, foreign.header("location")), (303, "/"));
}

#[actix_web::test]
async fn sign_up_continues_on_the_page_that_was_asked_for() {
    let server = Server::start_with(&[("ACCOUNTS__SIGNUP", "open")]).await;
    server.user(Plan::Pro).await;
    let account = |next| [("email", "mara@home.example"), ("password", PASSWORD), ("next", next)];

    let sign_in = server.anonymous().get("/sign-in?next=%2Fsearch%3Fq%3Dheron").await;
    let form = server.anonymous().get("/sign-up?next=%2Fsearch%3Fq%3Dheron").await;
    let foreign = server.anonymous().get("/sign-up?next=%2F%2Fevil.example").await;
    let created = send_form(&server.anonymous(), "/sign-up", &account("/search?q=heron")).await;

    assert!(sign_in.text.contains("href=\"/sign-up?next=/search%3Fq%3Dheron\""), "{}", sign_in.text);
    assert!(form.text.contains("name=\"next\" value=\"/search?q=heron\""), "{}", form.text);
    assert!(foreign.text.contains("name=\"next\" value=\"/\""), "{}", foreign.text);
    assert_eq!((created.status, created.header("location")), (303, "/search?q=heron"));
}

#[actix_web::test]
async fn sign_out_ends_the_session_and_its_copies() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let left = send_form(&session, "/sign-out", &[]).await;

    assert_eq!((left.status, left.header("location")), (303, "/sign-in"));
    assert_eq!(left.header("clear-site-data"), "\"cache\", \"storage\"");
    assert_eq!(session.get("/").await.status, 303);
}

#[actix_web::test]
async fn closed_sign_up_is_a_page_that_says_so() {
    let server = Server::start_with(&[("ACCOUNTS__SIGNUP", "closed")]).await;
    server.user(Plan::Pro).await;

    let page = server.anonymous().get("/sign-up").await;

    assert_eq!(page.status, 403);
    assert!(page.text.contains("New accounts cannot be created here."), "{}", page.text);
    assert!(!server.anonymous().get("/sign-in").await.text.contains("/sign-up"));
}

#[actix_web::test]
async fn pages_speak_the_language_of_the_browser() {
    let server = Server::start().await;

    let german = server.anonymous().with("accept-language", "de-DE,en;q=0.5").get("/setup").await;

    assert!(
        german.text.contains("<html lang=\"de\"") && german.text.contains("Carrel einrichten"),
        "{}",
        german.text
    );
}

#[actix_web::test]
async fn sign_in_over_a_session_forgets_the_kept_pages() {
    let server = Server::start().await;
    let (first, second) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let form = [("email", second.email()), ("password", PASSWORD)];

    let fresh = send_form(&server.anonymous(), "/sign-in", &form).await;
    let over = send_form(&first.sign_in().await, "/sign-in", &form).await;

    assert_eq!((fresh.status, fresh.header("clear-site-data")), (303, ""));
    assert_eq!((over.status, over.header("clear-site-data")), (303, "\"cache\", \"storage\""));
}
