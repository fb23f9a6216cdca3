//! Uploads to the server itself: acknowledged bytes are kept, interrupted uploads leave nothing.

use std::path::Path;
use std::time::Duration;

use entity::document;
use jobs::{JobKind, Priority};
use reqwest::Method;
use sea_orm::{ConnectionTrait, Database, QuerySelect, Statement};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use values::id::DocumentId;
use values::plan::Plan;

use crate::support::{Client, Home, Key, Program, Reply, Server, Site, eventually, files, program};

const PDF_BYTES: &[u8] = b"%PDF-1.7 as far as its first bytes say";
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

fn announcement(bytes: usize) -> Value {
    json!({ "filename": "paper.pdf", "contentType": "application/pdf", "bytes": bytes })
}

async fn announce(key: &Client, bytes: usize) -> Value {
    key.post("/rest/v2/uploads", announcement(bytes)).await.data(201).clone()
}

/// Sends these bytes to the URL of a ticket and returns the status.
pub async fn put(ticket: &Value, bytes: &[u8]) -> u16 {
    send(ticket, bytes).await.status().as_u16()
}

async fn send(ticket: &Value, bytes: &[u8]) -> reqwest::Response {
    let request = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = request.put(ticket["putUrl"].as_str().unwrap());
    let kind = ticket["putHeaders"]["Content-Type"].as_str().unwrap();
    request.header("content-type", kind).body(bytes.to_vec()).send().await.unwrap()
}

/// Starts a PUT that announces this number of bytes, and sends only `bytes`. Tests must not block on the response, because the
/// database connections run on the same thread.
async fn begin_put(ticket: &Value, bytes: &[u8], announced: usize) -> TcpStream {
    let url = url::Url::parse(ticket["putUrl"].as_str().unwrap()).unwrap();
    let mut sender = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).await.unwrap();
    let head = format!(
        "PUT {}?{} HTTP/1.1\r\nHost: x\r\nContent-Type: application/pdf\r\nContent-Length: {announced}\r\n\r\n",
        url.path(),
        url.query().unwrap(),
    );
    sender.write_all(head.as_bytes()).await.unwrap();
    sender.write_all(bytes).await.unwrap();
    sender
}

/// Reads the HTTP version and the status of the response.
async fn status_line(sender: &mut TcpStream) -> String {
    let mut bytes = [0; 12];
    sender.read_exact(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Uploads a file of this type and completes it. Returns the ticket.
pub async fn upload(key: &Client, content_type: &str, bytes: &[u8]) -> Value {
    let announcement = json!({ "filename": "a file", "contentType": content_type, "bytes": bytes.len() });
    let ticket = key.post("/rest/v2/uploads", announcement).await.data(201).clone();
    assert!(matches!(put(&ticket, bytes).await, 200 | 201 | 204));
    complete(key, &ticket).await.data(202);
    ticket
}

pub fn path(ticket: &Value) -> String {
    format!("/rest/v2/uploads/{}", ticket["uploadId"].as_str().unwrap())
}

pub async fn complete(key: &Client, ticket: &Value) -> crate::support::Response {
    key.send(Method::POST, &format!("{}/complete", path(ticket)), None).await
}

async fn upload_status(key: &Client, ticket: &Value) -> String {
    key.get(&path(ticket)).await.data(200)["status"].as_str().unwrap().to_owned()
}

async fn server_with_files() -> Server {
    server_with_files_and(&[]).await
}

/// A server with these settings whose files are in a folder that the test can list.
async fn server_with_files_and(settings: &[(&str, &str)]) -> Server {
    let home = Home::new().await;
    let folder = home.path("files").display().to_string();
    let clock = std::sync::Arc::new(library::clock::TestClock::at(crate::support::NOON));
    let settings = [&[("FILES__URL", folder.as_str())][..], settings].concat();
    Server::start_in(home, clock, &settings).await
}

/// Begins uploads of this length, one byte of each, and waits until the server receives them all.
async fn stall(server: &Server, key: &Client, uploads: usize, bytes: usize) -> Vec<TcpStream> {
    let mut stalled = Vec::new();
    for _ in 0..uploads {
        stalled.push(begin_put(&announce(key, bytes).await, b"o", bytes).await);
    }
    let folder = server.home().path("files");
    eventually("all uploads are being written", async || (files(&folder).len() == uploads).then_some(()))
        .await;
    stalled
}

/// Covers the fault table (row 25).
#[actix_web::test]
async fn stalled_uploads_of_one_account_leave_others_served() {
    const STALLED: usize = 8;
    const UNLIMITED: &str = "1000000000000000";
    let plan = [("PLANS__PRO__UPLOAD_BYTES", UNLIMITED), ("PLANS__PRO__STORED_BYTES", UNLIMITED)];
    let server = server_with_files_and(&plan).await;
    let (greedy, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (greedy, other) = (greedy.full_key().await, other.full_key().await);
    // Four files of this size would fill the disk. No byte is reserved: only one of each upload is written.
    let bytes = usize::try_from(disk::available_bytes(server.home().folder()).unwrap() / 4).unwrap();
    let stalled = stall(&server, &greedy, STALLED, bytes).await;

    let long = begin_put(&announce(&other, bytes).await, b"o", bytes).await;
    let short = announce(&other, PDF_BYTES.len()).await;
    let sent = put(&short, PDF_BYTES).await;

    assert_eq!(sent, 200);
    complete(&other, &short).await.data(202);
    let folder = server.home().path("files");
    eventually("the long upload is being written", async || {
        (files(&folder).len() == STALLED + 2).then_some(())
    })
    .await;
    drop((stalled, long));
}

#[actix_web::test]
async fn ninth_upload_at_a_time_is_refused_to_its_account_alone() {
    const MAX_UPLOADS: usize = 8;
    let server = server_with_files().await;
    let (greedy, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (greedy, other) = (greedy.full_key().await, other.full_key().await);
    let mut stalled = stall(&server, &greedy, MAX_UPLOADS, 3).await;
    let ticket = announce(&greedy, 3).await;

    let refused = send(&ticket, b"two").await;

    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "5"));
    let answer: Value = serde_json::from_str(&refused.text().await.unwrap()).unwrap();
    assert_eq!(answer["error"]["code"], "RATE_LIMITED");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("this account already sends 8 files"), "{message}");
    assert_eq!(put(&announce(&other, 3).await, b"two").await, 200);
    stalled.pop();
    eventually("a slot is free again", async || (put(&ticket, b"two").await == 200).then_some(())).await;
}

/// Covers the fault table (row 33).
#[actix_web::test]
async fn concurrent_completions_make_one_bookmark() {
    let server = server_with_files().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key, PDF_BYTES.len()).await;
    assert_eq!(put(&ticket, PDF_BYTES).await, 200);

    let answers = futures_util::future::join_all((0..20).map(|_| complete(&key, &ticket))).await;

    let first = answers[0].data(202);
    assert!(answers.iter().all(|answer| answer.data(202) == first));
    let listed = key.get("/rest/v1/bookmarks").await;
    let bookmarks = listed.data(200)["bookmarks"].as_array().unwrap();
    assert_eq!(bookmarks.len(), 1);
    assert_eq!(bookmarks[0]["bookmarkId"], first["bookmarkId"]);
    let read = format!("/read/{}", first["documentId"].as_str().unwrap());
    assert!(bookmarks[0]["url"].as_str().unwrap().ends_with(&read));
    assert_eq!(put(&ticket, PDF_BYTES).await, 409);
    assert_eq!(files(&server.home().path("files")).len(), 1);
}

/// Covers the fault table (row 32).
#[actix_web::test]
async fn interrupted_upload_leaves_nothing_and_can_be_sent_again() {
    let server = server_with_files().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key, PDF_BYTES.len()).await;
    let sender = begin_put(&ticket, &PDF_BYTES[..10], PDF_BYTES.len()).await;
    let folder = server.home().path("files");
    eventually("the bytes are being written", async || (files(&folder).len() == 1).then_some(())).await;

    drop(sender);

    eventually("no partial file is left", async || (files(&folder).is_empty()).then_some(())).await;
    assert_eq!(complete(&key, &ticket).await.error_code(409), "UPLOAD_INCOMPLETE");
    assert_eq!(put(&ticket, PDF_BYTES).await, 200);
    complete(&key, &ticket).await.data(202);
}

#[actix_web::test]
async fn repeated_upload_replaces_a_stalled_one() {
    let server = server_with_files().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key, 3).await;
    let folder = server.home().path("files");
    let mut stalled = begin_put(&ticket, b"o", 3).await;
    eventually("the upload is being written", async || (files(&folder).len() == 1).then_some(())).await;
    // More often than once: each replaced upload has to free its slot and its file.
    for _ in 0..4 {
        let newer = begin_put(&ticket, b"o", 3).await;
        assert_eq!(status_line(&mut stalled).await, "HTTP/1.1 409");
        stalled = newer;
    }

    let (whole, ended) = futures_util::join!(put(&ticket, b"two"), status_line(&mut stalled));

    assert_eq!((whole, ended.as_str()), (200, "HTTP/1.1 409"));
    eventually("the other uploads have left no file", async || (files(&folder).len() == 1).then_some(()))
        .await;
    let complete = format!("{}/complete", path(&ticket));
    key.post(&complete, json!({ "sha256": sha256(b"two") })).await.data(202);
}

/// Covers the threat table (rows U2, U3).
#[actix_web::test]
async fn refused_upload_does_not_end_a_running_one() {
    let server = server_with_files().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key, 3).await;
    let mut first = begin_put(&ticket, b"o", 3).await;
    let folder = server.home().path("files");
    eventually("the upload is being written", async || (files(&folder).len() == 1).then_some(())).await;
    let mut other = ticket.clone();
    other["putHeaders"]["Content-Type"] = json!("audio/mpeg");

    assert_eq!((put(&other, b"two").await, put(&ticket, b"too long").await), (400, 413));
    first.write_all(b"ne").await.unwrap();
    let status = status_line(&mut first).await;

    assert_eq!(status, "HTTP/1.1 200");
    key.post(&format!("{}/complete", path(&ticket)), json!({})).await.data(202);
}

#[actix_web::test]
async fn upload_that_ends_late_counts_while_it_is_received() {
    let server = server_with_files_and(&[("PLANS__PRO__STORED_BYTES", "5")]).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key, 3).await;
    // The URL of an upload is valid for 15 minutes; the upload begins five seconds before its end.
    server.clock.advance(15 * MINUTE - Duration::from_secs(5));
    let mut late = begin_put(&ticket, b"o", 3).await;
    let folder = server.home().path("files");
    eventually("the upload is being written", async || (files(&folder).len() == 1).then_some(())).await;

    server.clock.advance(Duration::from_secs(10));
    let refused = key.post("/rest/v2/uploads", announcement(3)).await;
    assert_eq!(upload_status(&key, &ticket).await, "awaiting");
    assert_eq!(complete(&key, &ticket).await.error_code(409), "UPLOAD_INCOMPLETE");
    late.write_all(b"ne").await.unwrap();
    let status = status_line(&mut late).await;

    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    assert_eq!(status, "HTTP/1.1 200");
    complete(&key, &ticket).await.data(202);
}

#[actix_web::test]
async fn second_upload_replaces_the_first() {
    let server = server_with_files().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = announce(&key, 3).await;
    assert_eq!((put(&ticket, b"one").await, put(&ticket, b"two").await), (200, 200));
    server.clock.advance(Duration::from_secs(1));
    let folder = server.home().path("files");

    eventually("the first file is deleted", async || (files(&folder).len() == 1).then_some(())).await;

    let sum = |of: &[u8]| json!({ "sha256": sha256(of) });
    let complete = format!("{}/complete", path(&ticket));
    assert_eq!(key.post(&complete, sum(b"one")).await.error_code(409), "UPLOAD_INCOMPLETE");
    key.post(&complete, sum(b"two")).await.data(202);
    let other = key.post(&complete, sum(b"one")).await;
    assert_eq!(other.error_code(409), "UPLOAD_INCOMPLETE");
    let message = other.body["error"]["message"].as_str().unwrap();
    assert!(message.contains(sha256(b"one")) && message.contains(sha256(b"two")), "{message}");
}

fn sha256(bytes: &[u8]) -> &'static str {
    match bytes {
        b"one" => "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
        b"two" => "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
        other => panic!("{other:?}"),
    }
}

/// Covers the threat table (row U2).
#[actix_web::test]
async fn upload_received_in_time_can_be_completed_late() {
    let server = server_with_files().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let (received, unsent) = (announce(&key, PDF_BYTES.len()).await, announce(&key, PDF_BYTES.len()).await);
    server.clock.advance(15 * MINUTE - Duration::from_millis(1));
    assert_eq!(put(&received, PDF_BYTES).await, 200);
    server.clock.advance(Duration::from_millis(1));

    assert_eq!((put(&received, PDF_BYTES).await, put(&unsent, PDF_BYTES).await), (403, 403));
    assert_eq!(
        (upload_status(&key, &received).await, upload_status(&key, &unsent).await),
        ("awaiting".into(), "expired".into())
    );
    assert_eq!(complete(&key, &unsent).await.error_code(410), "UPLOAD_EXPIRED");
    server.clock.advance(6 * DAY);
    complete(&key, &received).await.data(202);
}

#[actix_web::test]
async fn abandoned_upload_is_deleted_with_its_bytes() {
    let server = server_with_files().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let ticket = announce(&key, PDF_BYTES.len()).await;
    assert_eq!(put(&ticket, PDF_BYTES).await, 200);
    server.clock.advance(8 * DAY);
    let folder = server.home().path("files").display().to_string();
    let secret = key.header("authorization");

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[("FILES__URL", &folder)]).await;

    let key = server.anonymous().with("authorization", &secret);
    eventually("the bytes of the upload are deleted", async || {
        (files(Path::new(&folder)).is_empty()).then_some(())
    })
    .await;
    assert_eq!(key.get(&path(&ticket)).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn announced_bytes_count_until_the_upload_expires() {
    let limits = [("PLANS__PRO__UPLOAD_BYTES", "60"), ("PLANS__PRO__STORED_BYTES", "100")];
    let server = Server::start_with(&limits).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let announce = || key.post("/rest/v2/uploads", announcement(50));

    let answers = futures_util::future::join_all((0..6).map(|_| announce())).await;

    let accepted: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert_eq!(accepted.len(), 2);
    assert_eq!(put(accepted[0].data(201), &[b'x'; 50]).await, 200);
    server.clock.advance(15 * MINUTE);
    // The announced upload without bytes has expired; the received one still counts.
    announce().await.data(201);
    assert_eq!(announce().await.error_code(402), "PLAN_LIMIT_REACHED");
    let usage = key.get("/rest/v2/usage").await;
    assert_eq!(usage.data(200)["uploads"], json!({ "storedBytes": 100, "limit": 100, "largest": 60 }));
    assert_eq!(key.post("/rest/v2/uploads", announcement(61)).await.error_code(413), "PAYLOAD_TOO_LARGE");
}

#[actix_web::test]
async fn file_is_deleted_with_its_purged_bookmark_or_its_account() {
    let server = server_with_files().await;
    let (one, two) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let folder = server.home().path("files").display().to_string();
    let mut completed = Vec::new();
    for user in [&one, &two] {
        let key = user.full_key().await;
        let ticket = announce(&key, PDF_BYTES.len()).await;
        assert_eq!(put(&ticket, PDF_BYTES).await, 200);
        completed.push((complete(&key, &ticket).await.data(202).clone(), key));
    }
    let (done, key) = &completed[0];
    let bookmark = format!("/rest/v1/bookmarks/{}", done["bookmarkId"].as_str().unwrap());
    key.delete(&bookmark).await.data(200);

    actors::auth::accounts::delete(&server.context().core, two.id()).await.unwrap();

    // A file is not deleted immediately after it has lost its owner.
    server.clock.advance(Duration::from_secs(60));
    eventually("the file of the account is deleted", async || {
        (files(Path::new(&folder)).len() == 1).then_some(())
    })
    .await;
    server.clock.advance(30 * DAY);
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[("FILES__URL", &folder)]).await;
    eventually("the other file is deleted", async || (files(Path::new(&folder)).is_empty()).then_some(()))
        .await;
    drop(server);
}

#[actix_web::test]
async fn replayed_announcement_gets_a_newly_signed_url() {
    let server = server_with_files().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let client = server
        .anonymous()
        .with("authorization", &key.header("authorization"))
        .with("idempotency-key", "once");
    let first = client.post("/rest/v2/uploads", announcement(3)).await;

    let again = client.post("/rest/v2/uploads", announcement(3)).await;

    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.data(201), first.data(201));
    assert_eq!(put(again.data(201), b"one").await, 200);
    // A stored signature would let a reader of the database upload files.
    let rows = Database::connect(server.database_url()).await.unwrap();
    let body = Statement::from_string(rows.get_database_backend(), "SELECT body FROM idempotency");
    let body: String = rows.query_one_raw(body).await.unwrap().unwrap().try_get_by_index(0).unwrap();
    assert!(body.contains("uploadId") && !body.contains("signature"), "{body}");
}

#[actix_web::test]
async fn saved_file_urls_become_their_detected_type() {
    let site = Site::start().await;
    let audio = [&b"RIFF\x24\x00\x00\x00WAVEfmt "[..], &[0; 40]].concat();
    let large = vec![0; 5000];
    let pages = [
        ("/sound", Reply::File("application/octet-stream", audio.clone()), "audio"),
        ("/wrong-type", Reply::File("text/html", audio), "audio"),
        ("/archive", Reply::File("application/octet-stream", b"PK\x03\x04 an archive".to_vec()), "article"),
        ("/large", Reply::File("video/mp4", large), "video"),
        ("/picture", Reply::File("image/png", b"\x89PNG".to_vec()), "article"),
    ];
    let server = Server::start_with(&[("FETCH__MAX_FILE_BYTES", "4096")]).await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for (path, reply, kind) in pages {
        let saved = key.save(json!({ "url": site.page(path, [reply]) })).await;
        let shown = eventually(path, async || find_failed(&key, &saved).await).await;
        assert_eq!(shown["contentType"], kind, "{path}: {shown}");
    }
    assert_eq!(files(&server.context().core.data_dir.join("scratch")).len(), 0);
}

/// The bookmark, if it has an error.
async fn find_failed(key: &Key, saved: &Value) -> Option<Value> {
    let path = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    let shown = key.get(&path).await.data(200)["bookmark"].clone();
    shown["error"].is_string().then_some(shown)
}

/// Covers the fault table (row 32).
#[actix_web::test]
async fn acknowledged_upload_outlives_a_kill() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let ticket = announce(&key, PDF_BYTES.len()).await;
    assert_eq!(put(&ticket, PDF_BYTES).await, 200);
    running.kill();

    let running = Program::start(&home, "data").await;

    let key = running.client_with_key(&id, &secret);
    assert_eq!(upload_status(&key, &ticket).await, "awaiting");
    let done = complete(&key, &ticket).await.data(202).clone();
    let shown = key.get(&format!("/rest/v2/documents/{}", done["documentId"].as_str().unwrap())).await;
    assert_eq!(shown.data(200)["contentType"], "pdf");
    let folder = home.path("data").join("files");
    let within = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::read_dir(within).unwrap().next().unwrap().unwrap().path();
    let content = std::fs::read(file).unwrap();
    assert_eq!(content, PDF_BYTES);
}

#[actix_web::test]
async fn account_is_deleted_while_a_job_holds_its_document() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let saved = key.save_text("https://example.org/heron", "A heron.").await;
    key.wait_for(&saved, "ready").await;
    let document = DocumentId(saved["documentId"].as_str().unwrap().parse().unwrap());
    let (ctx, id) = (server.context().clone(), user.id());

    // A job locks the document and then needs the account's row.
    let job = ctx.core.db.begin().await.unwrap();
    document::Entity::one_visible_to(id, document).lock_exclusive().one(&job).await.unwrap().unwrap();
    let core = ctx.core.clone();
    let removal = actix_web::rt::spawn(async move { actors::auth::accounts::delete(&core, id).await });
    // Gives the deletion time to take the account's row and wait for the document. If it is slower, the test passes without a conflict.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let now = ctx.core.clock.now();
    let enqueued = jobs::enqueue(&job, id, JobKind::Index, document.0, Priority::Now, now).await;
    // If the two transactions wait for each other, the database aborts one of them. If it is the job, its transaction is dropped as after
    // a failed attempt.
    if enqueued.is_ok() {
        job.commit().await.unwrap();
    } else {
        drop(job);
    }

    removal.await.unwrap().unwrap();
    assert_eq!(document::Entity::one_visible_to(id, document).one(ctx.core.db.read()).await.unwrap(), None);
}
