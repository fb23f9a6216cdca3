//! Jobs as the user sees them: waiting, running and failed ones with reasons, and retries.

use std::time::Duration;

use entity::job;
use jobs::JobKind;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
use serde_json::{Value, json};
use uuid::Uuid;
use values::id::UserId;
use values::kind::JobState;
use values::plan::Plan;

use crate::import::imports::{start_import, wait_for};
use crate::ingest::uploads;
use crate::support::{Client, Home, Program, Reply, Server, Site, article, eventually, program};

async fn read_jobs(session: &Client) -> Value {
    session.get("/app/api/work").await.data(200).clone()
}

#[actix_web::test]
async fn failed_job_is_listed_with_reason_and_can_be_retried() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let url = site.page("/heron", [Reply::Status(404), article("Herons", "a heron")]);
    let saved = key.save(json!({ "url": url })).await;
    key.wait_for(&saved, "failed").await;

    let work = read_jobs(&session).await;

    assert_eq!((&work["waiting"], &work["running"], &work["failed"]), (&json!(0), &json!(0), &json!(1)));
    let failed = &work["work"][0];
    assert_eq!((&failed["stage"], &failed["documentId"]), (&json!("failed"), &saved["documentId"]));
    assert!(failed["reason"].as_str().is_some_and(|reason| reason.contains("404")), "{failed}");
    let other = key.save(json!({ "url": site.page("/bittern", [Reply::Status(404)]) })).await;
    key.wait_for(&other, "failed").await;
    let listed = async |more: &str| {
        session.get(&format!("/app/api/work?stage=failed&limit=1{more}")).await.data(200).clone()
    };
    let first = listed("").await;
    let second = listed(&format!("&cursor={}", first["nextCursor"].as_str().unwrap())).await;
    assert_eq!(
        [&first, &second]
            .map(|page| (page["work"][0]["documentId"].clone(), page["work"].as_array().unwrap().len())),
        [&other, &saved].map(|saved| (saved["documentId"].clone(), 1))
    );
    assert_eq!((&second["nextCursor"], &second["failed"]), (&json!(null), &json!(2)));
    session.get("/app/api/work?cursor=x").await.error_code(400);
    session
        .delete(&format!("/app/api/library/bookmarks/{}", other["bookmarkId"].as_str().unwrap()))
        .await
        .data(200);
    let retry = format!("/app/api/work/{}/retry", saved["documentId"].as_str().unwrap());
    let other_user = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other_user.post(&retry, json!({})).await.error_code(404), "NOT_FOUND");
    assert_eq!(read_jobs(&other_user).await["work"], json!([]));
    session.post(&retry, json!({})).await.data(202);
    key.wait_for(&saved, "ready").await;
    assert_eq!(session.post(&retry, json!({})).await.error_code(409), "CONFLICT");
    eventually("no job waits or runs", async || {
        (read_jobs(&session).await["work"] == json!([])).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn waiting_job_states_its_reason() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let site = Site::start().await;
    let url = site.page("/talk", [Reply::File("audio/mpeg", vec![0; 64])]);
    key.save(json!({ "url": url })).await;

    let waiting = eventually("the job waits for the model", async || {
        let work = read_jobs(&session).await;
        Some(work["work"][0].clone()).filter(|work| work["reason"] == "waiting for the speech model")
    })
    .await;

    assert_eq!((&waiting["stage"], &waiting["work"]), (&json!("waiting"), &json!("transcribe")));
    assert!(waiting["nextAt"].is_string(), "{waiting}");
}

/// Inserts a running job and returns its subject, so that other jobs of the subject wait.
async fn insert_running_job(server: &Server, user: UserId) -> Uuid {
    let now = server.context().core.clock.now();
    let row = job::Model {
        state: JobState::Running,
        lease_until: Some(now + Duration::from_secs(365 * 86_400)),
        ..job::Model::queued(user, JobKind::RemoveFromIndex.name(), Uuid::now_v7(), (1, 0), now)
    };
    let subject = row.subject;
    job::Entity::insert(row.into_active_model())
        .exec_without_returning(server.context().core.db.write())
        .await
        .unwrap();
    subject
}

/// Inserts jobs of a user that are due.
async fn insert_waiting_jobs(
    server: &Server,
    user: UserId,
    subject: Uuid,
    priority: i16,
    numbers: std::ops::Range<u64>,
) {
    let now = server.context().core.clock.now();
    let row = |n: u64| job::Model {
        queue_position: Some(1_000_000),
        ..job::Model::queued(user, &format!("{priority}-{n}"), subject, (1, priority), now)
    };
    // Databases limit the parameters of a statement, so a thousand rows at a time.
    for chunk in numbers.collect::<Vec<_>>().chunks(1_000) {
        let rows = chunk.iter().map(|n| row(*n).into_active_model());
        job::Entity::insert_many(rows)
            .exec_without_returning(server.context().core.db.write())
            .await
            .unwrap();
    }
}

#[actix_web::test]
async fn full_queue_of_one_user_refuses_saves_of_that_user_only() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    key.wait_for(&key.save_text("https://site.example/known", "Known.").await, "ready").await;
    let subject = insert_running_job(&server, user.id()).await;
    // One job less than the maximum: the next save is accepted and fills the queue.
    insert_waiting_jobs(&server, user.id(), subject, 0, 1..jobs::MAX_WAITING_JOBS).await;
    let new = |n: u32| json!({ "url": format!("https://site.example/{n}"), "text": "A heron." });
    key.post("/rest/v1/bookmarks", new(1)).await.data(201);
    // The saved text may be processed already, so another job takes its place.
    insert_waiting_jobs(&server, user.id(), subject, 0, 0..1).await;

    let full = key.post("/rest/v1/bookmarks", new(2)).await;
    assert_eq!((full.error_code(503), full.header("retry-after")), ("OVERLOADED", "60"));
    key.post("/rest/v1/bookmarks", json!({ "url": "https://site.example/known", "text": "Known." }))
        .await
        .data(200);
    let other = server.user(Plan::Pro).await.full_key().await;
    other.post("/rest/v1/bookmarks", new(3)).await.data(201);
    insert_waiting_jobs(&server, user.id(), subject, 10, 0..jobs::MAX_WAITING_JOBS).await;
    let file: &[u8] = b"{\"url\": \"https://site.example/4\", \"text\": \"Imported.\"}\n";
    let dry_run = start_import(&session, file, &[("dryRun", "true")]).await;
    wait_for(&session, &dry_run, "checked").await;
    let import = start_import(&session, file, &[]).await;
    eventually("the import waits", async || {
        let rows =
            job::Entity::find().filter(job::Column::Kind.eq("import")).all(server.context().core.db.read());
        rows.await.unwrap().iter().any(|row| row.error.is_some()).then_some(())
    })
    .await;

    job::Entity::delete_many()
        .filter(job::Column::UserId.eq(user.id()))
        .filter(job::Column::Subject.eq(subject))
        .exec(server.context().core.db.write())
        .await
        .unwrap();
    server.clock.advance(Duration::from_secs(61));
    assert_eq!(wait_for(&session, &import, "done").await["report"]["created"], 1);
    key.post("/rest/v1/bookmarks", new(2)).await.data(201);
}

#[actix_web::test]
async fn given_up_jobs_are_counted_in_metrics() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);

    let ticket = uploads::upload(&key, "application/pdf", b"no paper at all").await;
    eventually("the job is given up", async || {
        (key.get(&uploads::path(&ticket)).await.data(200)["status"] == "failed").then_some(())
    })
    .await;

    let (_, _, metrics) = running.anonymous().download("/metrics").await;
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(metrics.contains("carrel_jobs_given_up_total{kind=\"process_file\"} 1"), "{metrics}");
    running.terminate().await;
}
