//! E-mails of notices: one per notice, also after retries and restarts.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use values::plan::Plan;

use crate::support::{Home, Server, eventually};

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
