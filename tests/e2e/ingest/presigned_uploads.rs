//! Uploads by presigned URLs to a bucket: the object is checked when the upload is completed, and copied to where its sender
//! cannot change it.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;

use crate::ingest::uploads::{complete, path, put};
use crate::support::{Client, S3Bucket, Server, eventually};

const PDF_BYTES: &[u8] = b"%PDF-1.7 as far as its first bytes say";

async fn server(store: &S3Bucket) -> Server {
    Server::start_with(&store.settings()).await
}

async fn announce(key: &Client) -> Value {
    let announcement =
        json!({ "filename": "a.pdf", "contentType": "application/pdf", "bytes": PDF_BYTES.len() });
    key.post("/rest/v2/uploads", announcement).await.data(201).clone()
}

#[actix_web::test]
async fn completed_upload_is_copied_within_the_bucket() {
    let store = S3Bucket::start().await;
    let server = server(&store).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key).await;
    let url = ticket["putUrl"].as_str().unwrap();
    assert!(url.starts_with(&format!("{}/shelf/library/incoming/", store.endpoint)), "{url}");
    assert!(url.contains("X-Amz-Signature=") && url.contains("content-type"), "{url}");

    assert_eq!(complete(&key, &ticket).await.error_code(409), "UPLOAD_INCOMPLETE");
    assert_eq!(put(&ticket, &PDF_BYTES[1..]).await, 200);
    assert_eq!(complete(&key, &ticket).await.error_code(409), "UPLOAD_INCOMPLETE");
    assert_eq!(put(&ticket, PDF_BYTES).await, 200);
    let wrong = key.post(&format!("{}/complete", path(&ticket)), json!({ "sha256": "0".repeat(64) })).await;
    assert_eq!(wrong.error_code(409), "UPLOAD_INCOMPLETE");

    let answers = futures_util::future::join_all((0..5).map(|_| complete(&key, &ticket))).await;

    let first = answers[0].data(202);
    assert!(answers.iter().all(|answer| answer.data(202) == first));
    // The sent object, and the one copy that is kept.
    eventually("the other copies are deleted", async || (store.paths().len() == 2).then_some(())).await;
    let shown = eventually("the bytes of the object were read", async || {
        let shown = key.get(&path(&ticket)).await.data(200).clone();
        shown["error"].is_string().then_some(shown)
    })
    .await;
    assert_eq!(shown["status"], "failed", "what only begins like a PDF is none");
    server.clock.advance(Duration::from_secs(7 * 3600));
    eventually("the received object is deleted", async || (store.paths().len() == 1).then_some(())).await;
    assert!(!store.paths()[0].contains("incoming"));
}

#[actix_web::test]
async fn upload_received_in_time_can_be_completed_late() {
    let store = S3Bucket::start().await;
    let server = server(&store).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let (received, unsent) = (announce(&key).await, announce(&key).await);
    assert_eq!(put(&received, PDF_BYTES).await, 200);
    server.clock.advance(Duration::from_secs(900));

    assert_eq!(key.get(&path(&received)).await.data(200)["status"], "awaiting");
    assert_eq!(key.get(&path(&unsent)).await.data(200)["status"], "expired");
    complete(&key, &received).await.data(202);
    assert_eq!(complete(&key, &unsent).await.error_code(410), "UPLOAD_EXPIRED");
}

/// Covers the threat table (row U2).
#[actix_web::test]
async fn presigned_url_accepts_only_the_announced_type() {
    let store = S3Bucket::start().await;
    let server = server(&store).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key).await;
    let changed = |pointer: &str, from: &str, to: &str| {
        let mut changed = ticket.clone();
        let place = changed.pointer_mut(pointer).unwrap();
        *place = json!(place.as_str().unwrap().replacen(from, to, 1));
        changed
    };

    let others = [
        changed("/putHeaders/Content-Type", "application/pdf", "text/html"),
        changed("/putUrl", "X-Amz-Expires=", "X-Amz-Expires=1"),
        changed("/putUrl", "/incoming/", "/incoming/0"),
    ];
    for other in &others {
        assert_eq!(put(other, PDF_BYTES).await, 403, "{other}");
    }
    assert!(store.paths().is_empty());
    assert_eq!(put(&ticket, PDF_BYTES).await, 200);
}
