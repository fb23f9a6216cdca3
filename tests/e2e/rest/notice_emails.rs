//! E-mails of notices: one per notice, also after retries and restarts.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use entity::job;
use jobs::{JobKind, Priority};
use sea_orm::{ColumnTrait, QueryFilter};
use values::id::NoticeId;
use values::kind::JobState;
use values::plan::Plan;

use crate::support::{Home, NOON, Server, eventually};

fn read_emails(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let whole = files.filter(|file| file.path().extension().is_some_and(|kind| kind == "eml"));
    whole.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect()
}

#[actix_web::test]
async fn notice_is_written_as_one_email_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&[("MAIL__URL", &format!("file://{}", folder.path().display()))]).await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for _ in 0..3 {
        key.clone().with("user-agent", "bookworm/3.1").get("/rest/v2/usage").await.data(200);
    }

    let email = eventually("an e-mail is sent", async || read_emails(folder.path()).pop()).await;
    for part in ["To: ", "@reader.example\n", "Subject: The key “reader”", "bookworm/3.1"] {
        assert!(email.contains(part), "{email}");
    }
    assert!(!email.contains("pk_"), "no secret in an e-mail");
    server.service().notices.flush().await;
    assert_eq!(read_emails(folder.path()).len(), 1);
}

/// Covers the fault table (row 20).
#[actix_web::test]
async fn undelivered_email_is_sent_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    // No server listens there when the e-mail is sent.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (home, clock) = {
        let server = Server::start_with(&[("MAIL__URL", &format!("smtp://{silent}"))]).await;
        let key = server.user(Plan::Pro).await.full_key().await;
        key.get("/rest/v2/usage").await.data(200);
        server.context().auth.keys.flush().await.unwrap();
        server.service().notices.flush().await;
        server.stop().await
    };

    clock.advance(Duration::from_secs(3 * 60));
    let folder_url = format!("file://{}", folder.path().display());
    let server = Server::start_in(home, clock, &[("MAIL__URL", &folder_url)]).await;

    eventually("the e-mail is sent", async || read_emails(folder.path()).pop()).await;
    assert_eq!(read_emails(folder.path()).len(), 1);
    let _: (Home, _) = server.stop().await;
}

#[actix_web::test]
async fn email_of_a_deleted_notice_is_not_sent_and_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&[("MAIL__URL", &format!("file://{}", folder.path().display()))]).await;
    let (user, db) = (server.user(Plan::Pro).await, &server.context().core.db);
    let deleted = NoticeId::new(NOON).0;

    jobs::enqueue(db.write(), user.id(), JobKind::SendEmail, deleted, Priority::Now, NOON).await.unwrap();

    let ended = eventually("the job has ended", async || {
        let of_notice = job::Entity::owned_by(user.id()).filter(job::Column::Subject.eq(deleted));
        let row = of_notice.one(db.read()).await.unwrap()?;
        row.finished_at.is_some().then_some(row)
    })
    .await;
    assert_eq!((ended.state, ended.error), (JobState::Done, None));
    assert!(read_emails(folder.path()).is_empty());
}
