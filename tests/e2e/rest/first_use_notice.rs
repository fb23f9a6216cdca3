//! The notice of a key's first use: one, whatever the order of the first uses (spec.md: Events).

use values::plan::Plan;

use crate::support::{Client, Server, eventually};

async fn count_first_use_notices(session: &Client) -> usize {
    let answer = session.get("/app/api/notices").await;
    let notices = answer.data(200)["notices"].as_array().unwrap().iter();
    notices.filter(|notice| notice["kind"] == "key_first_use").count()
}

async fn flush_records(server: &Server) {
    // Each answered use is in the mailbox of the keys actor before the first flush, and its notice before the second.
    server.context().auth.keys.flush().await.unwrap();
    server.service().notices.flush().await;
}

#[actix_web::test]
async fn concurrent_first_uses_make_one_notice() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);

    let answers = futures_util::future::join_all((0..20).map(|_| key.get("/rest/v2/usage"))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));

    flush_records(&server).await;
    assert_eq!(count_first_use_notices(&session).await, 1);
}

#[actix_web::test]
async fn first_use_notice_names_key_and_client_once() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);

    key.clone().with("user-agent", "bookworm/3.1 (linux)").get("/rest/v2/usage").await.data(200);
    flush_records(&server).await;
    server.context().auth.keys.invalidate_cache();
    key.get("/rest/v2/usage").await.data(200);
    flush_records(&server).await;

    let answer = session.get("/app/api/notices").await;
    let notice = &answer.data(200)["notices"][0];
    assert_eq!(notice["client"], "bookworm/3.1");
    assert!(notice["title"].as_str().unwrap().contains("reader"));
    assert_eq!(count_first_use_notices(&session).await, 1);
}

#[actix_web::test]
async fn first_use_notice_is_sent_once_over_a_restart() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let created =
        session.post("/app/api/keys", serde_json::json!({ "name": "reader", "kind": "rest" })).await;
    let secret = created.data(201)["secret"].as_str().unwrap().to_owned();
    let cookie = session.header("cookie");
    server.anonymous().with_key(&secret).get("/rest/v2/usage").await.data(200);

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;
    server.anonymous().with_key(&secret).get("/rest/v2/usage").await.data(200);
    flush_records(&server).await;

    assert_eq!(count_first_use_notices(&server.anonymous().with("cookie", &cookie)).await, 1);
}

#[actix_web::test]
async fn first_use_lost_in_a_crash_is_notified_by_the_next_use() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let session = user.sign_in().await;
    let notices = server.service().notices.port();
    let mut keys = Vec::new();
    for deaths in 1..=8 {
        let key = user.full_key().await;
        notices.crash();
        key.get("/rest/v2/usage").await.data(200);
        eventually("the notices actor has crashed", async || {
            (notices.health().report().restarts >= deaths).then_some(())
        })
        .await;
        keys.push(key);
    }

    for key in &keys {
        key.get("/rest/v2/usage").await.data(200);
    }

    flush_records(&server).await;
    assert_eq!(count_first_use_notices(&session).await, keys.len());
}
