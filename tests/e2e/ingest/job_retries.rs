//! Attempts of a job: permanent failures are not retried, transient ones are retried after a delay.

use std::time::Duration;

use entity::job;
use library::clock::Clock;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
use serde_json::{Value, json};
use uuid::Uuid;
use values::kind::JobState;
use values::plan::Plan;

use crate::export::exports::pdf_with_text;
use crate::ingest::uploads;
use crate::support::{Key, Reply, Server, Site, article, eventually};

async fn page_job(server: &Server, bookmark: &Value) -> job::Model {
    job_of(server, bookmark["documentId"].as_str().unwrap(), "fetch_page").await
}

async fn job_of(server: &Server, document: &str, kind: &str) -> job::Model {
    let subject: Uuid = document.parse().unwrap();
    let jobs =
        job::Entity::find().filter(job::Column::Subject.eq(subject)).filter(job::Column::Kind.eq(kind));
    jobs.one(server.context().core.db.read()).await.unwrap().unwrap()
}

/// Waits until another bookmark is ready; all jobs that were due before it have then been claimed.
async fn wait_for_other_job(key: &Key, name: &str) {
    let other = key.save_text(&format!("https://example.org/{name}"), "Something else.").await;
    key.wait_for(&other, "ready").await;
}

#[actix_web::test]
async fn missing_page_fails_with_reason_and_is_not_retried() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/gone", [Reply::Status(404)]);

    let saved = key.save(json!({ "url": url })).await;
    let failed = key.wait_for(&saved, "failed").await;

    assert!(failed["error"].as_str().unwrap().contains("404"), "{failed}");
    server.clock.advance(Duration::from_secs(20 * 86_400));
    wait_for_other_job(&key, "later").await;
    assert_eq!(site.request_count("/gone"), 1);
    assert_eq!(page_job(&server, &saved).await.state, JobState::GivenUp);
    // By its URL, which is all that is known of it.
    assert_eq!(key.search("gone").await, [saved["documentId"].as_str().unwrap()]);
}

#[actix_web::test]
async fn job_of_unknown_kind_waits_while_others_run() {
    let server = Server::start().await;
    let (user, now) = (server.user(Plan::Pro).await, server.context().core.clock.now());
    let key = user.full_key().await;
    let unknown = job::Model {
        queue_position: Some(0),
        ..job::Model::queued(user.id(), "a_later_kind", Uuid::now_v7(), (1, 0), now)
    };
    let row = unknown.clone().into_active_model();
    job::Entity::insert(row).exec_without_returning(server.context().core.db.write()).await.unwrap();

    wait_for_other_job(&key, "known").await;

    let after = job::Entity::find_by_id(unknown.id).one(server.context().core.db.read()).await.unwrap();
    assert_eq!((unknown.state, unknown.attempts), (JobState::Queued, 0));
    assert_eq!(after, Some(unknown));
}

/// As long as it counts as running, it blocks the other jobs of its subject.
#[actix_web::test]
async fn crashed_job_of_unknown_kind_is_put_back_within_seconds() {
    let server = Server::start().await;
    let (user, now) = (server.user(Plan::Pro).await, server.context().core.clock.now());
    let db = &server.context().core.db;
    let crashed = job::Model {
        state: JobState::Running,
        attempts: 1,
        lease_until: Some(now - Duration::from_millis(1)),
        ..job::Model::queued(user.id(), "a_later_kind", Uuid::now_v7(), (1, 0), now)
    };
    let row = crashed.clone().into_active_model();
    job::Entity::insert(row).exec_without_returning(db.write()).await.unwrap();

    let waiting = eventually("the crashed job waits again", async || {
        let row = job::Entity::find_by_id(crashed.id).one(db.read()).await.unwrap();
        row.filter(|job| job.state == JobState::Queued)
    });

    let waiting = waiting.await;
    assert_eq!((waiting.attempts, waiting.crashes), (1, 1));
}

/// Covers the threat table (row S1).
#[actix_web::test]
async fn forbidden_url_is_refused_on_save() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;

    let answer = key.post("/rest/v1/bookmarks", json!({ "url": "http://10.1.2.3/" })).await;

    assert_eq!(answer.error_code(422), "URL_REJECTED");
}

#[actix_web::test]
async fn page_with_transient_failure_is_retried_after_a_minute() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/busy", [Reply::Status(503), article("Busy", "a heron")]);
    let saved = key.save(json!({ "url": url })).await;
    let failed = key.wait_for(&saved, "failed").await;
    assert!(failed["error"].is_string());
    let job = page_job(&server, &saved).await;
    assert_eq!((job.state, job.attempts), (JobState::Queued, 1));

    server.clock.advance(Duration::from_secs(59));
    wait_for_other_job(&key, "too-soon").await;
    assert_eq!(site.request_count("/busy"), 1);
    server.clock.advance(Duration::from_secs(17));

    let ready = key.wait_for(&saved, "ready").await;
    assert_eq!(ready["error"], Value::Null);
    assert_eq!(key.search("heron").await, [saved["documentId"].as_str().unwrap()]);
}

#[actix_web::test]
async fn page_that_keeps_failing_is_given_up_with_last_reason() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/broken", [Reply::Status(503)]);
    let saved = key.save(json!({ "url": url })).await;

    let tries = eventually("the job is given up", async || {
        let job = page_job(&server, &saved).await;
        // Not while an attempt is due or running: it would lose its lease and not count.
        let wait = job.run_at.since(server.clock.now());
        if job.state == JobState::Queued && !wait.is_zero() {
            server.clock.advance(wait);
        }
        (job.state == JobState::GivenUp).then_some(job.attempts)
    })
    .await;

    assert_eq!(usize::try_from(tries).unwrap(), site.request_count("/broken"));
    assert!(key.wait_for(&saved, "failed").await["error"].is_string());
}

/// A PDF of 5 KB whose page unpacks to 3 GB of spaces (compressed twice).
const PDF_BOMB: &[u8] = include_bytes!("bomb.pdf");

/// Uploads a PDF and returns the id of its document.
async fn upload_pdf(key: &Key, bytes: &[u8]) -> String {
    let ticket = uploads::upload(key, "application/pdf", bytes).await;
    key.get(&uploads::path(&ticket)).await.data(200)["documentId"].as_str().unwrap().to_owned()
}

async fn document_status(key: &Key, document: &str) -> Value {
    key.get(&format!("/rest/v2/documents/{document}")).await.data(200)["status"].clone()
}

/// Covers the fault table (row 35).
#[actix_web::test]
async fn file_that_crashes_its_parser_fails_after_three_attempts() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);

    let bomb = upload_pdf(&key, PDF_BOMB).await;
    let paper = upload_pdf(&key, &pdf_with_text("A paper about herons")).await;

    eventually("the other upload is processed", async || {
        (document_status(&key, &paper).await == "ready").then_some(())
    })
    .await;
    for tries in 1..=3 {
        let job = eventually("the job was tried", async || {
            let job = job_of(&server, &bomb, "process_file").await;
            (job.attempts == tries && job.state != JobState::Running).then_some(job)
        })
        .await;
        let last = if tries == 3 { JobState::GivenUp } else { JobState::Queued };
        assert_eq!((job.state, document_status(&key, &bomb).await), (last, json!("failed")));
        server.clock.advance(Duration::from_secs(86_400));
    }
    wait_for_other_job(&key, "later").await;
    assert_eq!(job_of(&server, &bomb, "process_file").await.attempts, 3);
    let work = session.get("/app/api/work").await.data(200).clone();
    assert_eq!(
        (&work["failed"], &work["work"][0]["reason"]),
        (&json!(1), &json!("reading the file needed more memory than is allowed, so it was stopped"))
    );
}
