//! The byte quota of import and export files: reserved before a file is received, enforced by the plan, and freed when the file
//! is no longer needed.

use entity::{import, stored_file};
use futures_util::future::join_all;
use library::transfer_quota::{self, TransferKind};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use serde_json::{Value, json};
use values::id::{ImportId, UserId};
use values::kind::ImportState;
use values::plan::Plan;

use crate::import::imports::{bookmark_list, form_part, post_step, start_import, wait_for};
use crate::support::{Client, PASSWORD, Server, eventually};

const IMPORTS: &str = "/app/api/imports";
const EXPORTS: &str = "/app/api/exports";
const DRY_RUN: &[(&str, &str)] = &[("dryRun", "true")];

async fn start_server(transfer_bytes: &str) -> Server {
    Server::start_with(&[("PLANS__FREE__TRANSFER_BYTES", transfer_bytes)]).await
}

/// A bookmark list of this many bytes.
fn file_of_bytes(bytes: usize) -> Vec<u8> {
    let mut file = bookmark_list("<DT><A HREF=\"https://a.example/\">A</A>\n").into_bytes();
    file.resize(bytes, b'\n');
    file
}

async fn used_bytes(server: &Server, user: UserId) -> u64 {
    let ctx = server.context();
    transfer_quota::used_bytes(ctx.core.db.read(), user, ctx.core.clock.now()).await.unwrap()
}

/// The number of stored files, including those being written or deleted.
async fn count_stored_files(server: &Server) -> usize {
    stored_file::Entity::find().all(server.context().core.db.read()).await.unwrap().len()
}

/// An import after its dry run, as if it had been started and paused before its end.
async fn paused_import(server: &Server, session: &Client, file: &[u8]) -> String {
    let id = start_import(session, file, DRY_RUN).await;
    wait_for(session, &id, "checked").await;
    import::Entity::update_many()
        .col_expr(import::Column::State, Expr::value(ImportState::Paused))
        .col_expr(import::Column::IsDryRun, Expr::value(false))
        .col_expr(import::Column::FinishedAt, Expr::value(None::<i64>))
        .filter(import::Column::Id.eq(ImportId(id.parse().unwrap())))
        .exec(server.context().core.db.write())
        .await
        .unwrap();
    id
}

#[actix_web::test]
async fn import_over_the_limit_is_refused_and_keeps_nothing() {
    let server = start_server("100000").await;
    let user = server.user(Plan::Free).await;
    let session = user.sign_in().await;
    let first = paused_import(&server, &session, &file_of_bytes(60_000)).await;

    let refused = session.post_file(IMPORTS, &file_of_bytes(60_000), &[]).await;

    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    let error = &refused.body["error"];
    assert_eq!(error["details"], json!({ "usedBytes": 60_000, "limitBytes": 100_000 }));
    assert!(error["message"].as_str().unwrap().contains("undo a paused one"), "{error}");
    assert_eq!((used_bytes(&server, user.id()).await, count_stored_files(&server).await), (60_000, 1));
    assert_eq!(session.get(IMPORTS).await.data(200)["imports"].as_array().unwrap().len(), 1);
    // A smaller one fits, and this one fits when the first is undone.
    let smaller = start_import(&session, &file_of_bytes(40_000), &[]).await;
    wait_for(&session, &smaller, "done").await;
    post_step(&session, &first, "undo").await;
    wait_for(&session, &first, "undone").await;
    let last = start_import(&session, &file_of_bytes(100_000), &[]).await;
    wait_for(&session, &last, "done").await;
}

#[actix_web::test]
async fn file_of_a_refused_form_frees_its_bytes() {
    let server = start_server("100000").await;
    let user = server.user(Plan::Free).await;
    let session = user.sign_in().await;
    let file = file_of_bytes(60_000);
    let form = [
        form_part("name=\"file\"; filename=\"f\"", &String::from_utf8_lossy(&file)),
        form_part("name=\"format\"", "evernote"),
        "--x--\r\n".to_owned(),
    ];

    let kind = "multipart/form-data; boundary=x";
    let refused = session.post_bytes(IMPORTS, kind, form.concat().into_bytes()).await;

    assert_eq!((refused.error_code(400), refused.faults()), ("VALIDATION_FAILED", vec!["format"]));
    assert_eq!((used_bytes(&server, user.id()).await, count_stored_files(&server).await), (0, 0));
    start_import(&session, &file, &[]).await;
}

#[actix_web::test]
async fn finished_import_frees_its_bytes() {
    let server = start_server("100000").await;
    let user = server.user(Plan::Free).await;
    let session = user.sign_in().await;

    for _ in 0..3 {
        let id = start_import(&session, &file_of_bytes(60_000), &[]).await;
        wait_for(&session, &id, "done").await;
        assert_eq!(used_bytes(&server, user.id()).await, 0);
    }
}

#[actix_web::test]
async fn file_in_chunks_is_refused_when_it_outgrows_the_limit() {
    let server = start_server("1500000").await;
    let user = server.user(Plan::Free).await;
    let session = user.sign_in().await;

    let refused = session.post_file_in_chunks(IMPORTS, &file_of_bytes(2_100_000)).await;

    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    assert_eq!((used_bytes(&server, user.id()).await, count_stored_files(&server).await), (0, 0));
    session.post_file_in_chunks(IMPORTS, &file_of_bytes(1_200_000)).await.data(202);
}

#[actix_web::test]
async fn plan_without_transfer_bytes_accepts_no_file() {
    let server = start_server("0").await;
    let session = server.user(Plan::Free).await.sign_in().await;

    let refused = session.post_file(IMPORTS, &file_of_bytes(200), &[]).await;

    assert_eq!(refused.error_code(402), "PLAN_LIMIT_REACHED");
    assert_eq!(session.post(EXPORTS, json!({})).await.error_code(402), "PLAN_LIMIT_REACHED");
    assert_eq!(count_stored_files(&server).await, 0);
}

#[actix_web::test]
async fn concurrent_files_do_not_exceed_the_limit() {
    let server = start_server("1000").await;
    let user = server.user(Plan::Free).await.id();
    let ctx = server.context();

    let held =
        join_all((0..8).map(|_| transfer_quota::lease(&ctx.core, user, TransferKind::Import, 300))).await;

    assert_eq!(held.iter().filter(|held| held.is_ok()).count(), 3);
    assert_eq!(used_bytes(&server, user).await, 900);
}

#[actix_web::test]
async fn dry_run_file_is_replaced_by_a_new_one() {
    let server = start_server("100000").await;
    let session = server.user(Plan::Free).await.sign_in().await;
    let first = start_import(&session, &file_of_bytes(60_000), DRY_RUN).await;
    wait_for(&session, &first, "checked").await;

    let second = start_import(&session, &file_of_bytes(60_000), DRY_RUN).await;
    wait_for(&session, &second, "checked").await;

    let started = session.post(&format!("{IMPORTS}/{first}/start"), json!({})).await;
    assert_eq!(started.error_code(409), "CONFLICT");
    post_step(&session, &second, "start").await;
    wait_for(&session, &second, "done").await;
}

#[actix_web::test]
async fn usage_reports_transfer_bytes() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = start_import(&session, &file_of_bytes(60_000), DRY_RUN).await;
    wait_for(&session, &id, "checked").await;

    let usage = key.get("/rest/v2/usage").await;

    assert_eq!(usage.data(200)["transfers"], json!({ "bytes": 60_000, "limit": 40_u64 << 30 }));
}

/// Saves a text of this many bytes that compresses to no less than half.
async fn save_noise(session: &Client, bytes: usize) {
    let words: String = (1_u64..)
        .map(|n| format!("{:016x} ", n.wrapping_mul(n).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .take(bytes / 17)
        .collect();
    let page = json!({ "url": "https://a.example/noise", "text": words });
    session.post("/app/api/library/bookmarks", page).await.data(201);
    eventually("the text is processed", async || {
        let listed = session.get("/app/api/library/bookmarks").await;
        (listed.data(200)["bookmarks"][0]["status"] == "ready").then_some(())
    })
    .await;
}

/// Runs an export until it has this status, and returns it.
async fn run_export(session: &Client, status: &str) -> Value {
    let begun = session.post(EXPORTS, json!({})).await.data(202)["export"].clone();
    let path = format!("{EXPORTS}/{}", begun["id"].as_str().unwrap());
    eventually(&format!("the export is {status}"), async || {
        let export = session.get(&path).await.data(200)["export"].clone();
        (export["status"] == status).then_some(export)
    })
    .await
}

#[actix_web::test]
async fn export_that_outgrows_the_limit_fails_and_keeps_nothing() {
    let server = start_server("20000").await;
    let user = server.user(Plan::Free).await;
    let session = user.sign_in().await;
    save_noise(&session, 100_000).await;

    let failed = run_export(&session, "failed").await;

    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("does not fit") && error.contains("of the 20000 bytes"), "{error}");
    assert_eq!((used_bytes(&server, user.id()).await, count_stored_files(&server).await), (0, 0));
}

#[actix_web::test]
async fn export_that_outgrows_the_limit_keeps_the_latest_one() {
    let server = Server::start().await;
    let user = server.user(Plan::Free).await;
    let (id, email) = (user.id(), user.email().to_owned());
    let session = user.sign_in().await;
    save_noise(&session, 100_000).await;
    let latest = run_export(&session, "done").await;
    let bytes = latest["bytes"].as_u64().unwrap();
    let (home, clock) = server.stop().await;
    // The next one does not fit, even without the latest.
    let limit = (bytes / 2).to_string();
    let server = Server::start_in(home, clock, &[("PLANS__FREE__TRANSFER_BYTES", &limit)]).await;
    let session = server.anonymous().sign_in(&email, PASSWORD).await;

    let failed = run_export(&session, "failed").await;

    assert!(failed["error"].as_str().unwrap().contains("does not fit"), "{failed}");
    let path = format!("{EXPORTS}/{}", latest["id"].as_str().unwrap());
    assert_eq!(session.get(&path).await.data(200)["export"]["status"], "done");
    assert_eq!((used_bytes(&server, id).await, count_stored_files(&server).await), (bytes, 1));
}

#[actix_web::test]
async fn export_counts_until_the_next_replaces_it() {
    let server = Server::start().await;
    let user = server.user(Plan::Free).await;
    let (id, email) = (user.id(), user.email().to_owned());
    let session = user.sign_in().await;
    save_noise(&session, 100_000).await;
    let first = run_export(&session, "done").await;
    let bytes = first["bytes"].as_u64().unwrap();
    let (home, clock) = server.stop().await;
    let limit = (bytes + bytes / 2).to_string();
    let server = Server::start_in(home, clock, &[("PLANS__FREE__TRANSFER_BYTES", &limit)]).await;
    let session = server.anonymous().sign_in(&email, PASSWORD).await;

    assert_eq!(used_bytes(&server, id).await, bytes);
    let import = session.post_file(IMPORTS, &file_of_bytes(usize::try_from(bytes).unwrap()), &[]).await;
    assert_eq!(import.error_code(402), "PLAN_LIMIT_REACHED");
    let second = run_export(&session, "done").await;
    assert_eq!(used_bytes(&server, id).await, second["bytes"].as_u64().unwrap());
    let path = format!("{EXPORTS}/{}", first["id"].as_str().unwrap());
    assert_eq!(session.get(&path).await.error_code(404), "NOT_FOUND");
}
