//! The notice of a key's first use: one, whatever the order of the first uses (spec.md: Events).

use std::time::Duration;

use database::insert_all;
use entity::notice;
use sea_orm::QueryOrder;
use values::id::{NoticeId, UserId};
use values::kind::NoticeKind;
use values::plan::Plan;

use crate::support::{Client, NOON, Server, eventually};

/// Notices of a user that are kept.
const MAX_NOTICES: usize = 1_000;

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

/// Inserts notices of a user, a millisecond apart, the last one just before the server was started. Returns their ids, the oldest first.
async fn insert_notices(server: &Server, user: UserId, number: usize) -> Vec<NoticeId> {
    let row = |age: usize| {
        let created_at = NOON - Duration::from_millis(age as u64);
        notice::Model {
            id: NoticeId::new(created_at),
            user_id: user,
            kind: NoticeKind::AppConnected,
            title: "“Heron” was connected to your library".to_owned(),
            body: "Heron can now use your library.".to_owned(),
            client: Some("Heron".to_owned()),
            created_at,
            read_at: None,
            subject_id: None,
        }
    };
    let rows: Vec<notice::Model> = (1..=number).rev().map(row).collect();
    insert_all::<notice::Entity>(server.context().core.db.write(), rows.clone(), None).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

async fn list_notices(server: &Server, user: UserId) -> Vec<NoticeId> {
    let oldest_first = notice::Entity::owned_by(user).order_by_asc(notice::Column::Id);
    let rows = oldest_first.all(server.context().core.db.read()).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

#[actix_web::test]
async fn notice_beyond_the_maximum_removes_the_oldest() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let of_other = insert_notices(&server, other.id(), MAX_NOTICES + 1).await;
    let own = insert_notices(&server, user.id(), MAX_NOTICES).await;

    user.full_key().await.get("/rest/v2/usage").await.data(200);
    flush_records(&server).await;

    let left = list_notices(&server, user.id()).await;
    assert_eq!(left.len(), MAX_NOTICES);
    assert_eq!(left[..MAX_NOTICES - 1], own[1..]);
    assert_eq!(list_notices(&server, other.id()).await, of_other);
    assert_eq!(count_first_use_notices(&user.sign_in().await).await, 1);
}
