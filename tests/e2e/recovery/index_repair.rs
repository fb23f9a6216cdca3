//! Repair of a lost, old or damaged index: it is detected, reported and rebuilt from the database while the server runs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use actors::ingest::repair;
use entity::{chunk, document, job};
use inference::embedder::{Calibration, EmbedError, Embedder, Embeddings, QueryWeight};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use sea_orm::{ColumnTrait, Database, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder};
use search::index::{
    EngineFault, HybridHits, IndexError, IndexFolder, IndexQuery, Labels, Language, PassageEmbedding,
    PassageIndex, PassagePage, Point, PointPage, Tenant, VectorModel,
};
use serde_json::{Value, json};
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::plan::Plan;

use crate::support::{Client, Home, Key, Program, Server, eventually, files, program};

/// Saves a text about one bird, and waits until it is found.
pub async fn save(key: &Key, bird: &str) -> Value {
    let text = format!("The {bird} stands still in the water for an hour, waiting for a fish to come by.");
    let saved = key.save_text(&format!("https://example.org/{bird}"), &text).await;
    key.wait_for(&saved, "ready").await;
    assert!(is_found(key, bird, &saved).await, "{bird}");
    saved
}

pub async fn is_found(key: &Key, words: &str, saved: &Value) -> bool {
    key.search(words).await == [saved["documentId"].as_str().unwrap()]
}

async fn eventually_finds(key: &Key, words: &str, saved: &Value) {
    eventually(&format!("{words} is found again"), async || is_found(key, words, saved).await.then_some(()))
        .await;
}

/// The index in the response of `/readyz`, whose status is always 200.
pub async fn read_index_state(anonymous: &Client) -> Value {
    let ready = anonymous.get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.body);
    ready.body["index"].clone()
}

/// Waits until the index is complete and has the passages of this number of saves: one of the text of each, and one of its metadata. The
/// number is reported half a second late.
pub async fn wait_until_complete(anonymous: &Client, saves: u64) {
    eventually("the index is complete", async || {
        let index = read_index_state(anonymous).await;
        (index["state"] == "complete" && index["passages"] == 2 * saves).then_some(())
    })
    .await;
}

/// The index check of `carrel doctor`: state, finding and advice.
fn index_check(output: &Value) -> (String, String, String) {
    let checks = output["checks"].as_array().unwrap();
    let index = checks.iter().find(|check| check["name"] == "index").unwrap();
    let text = |name: &str| index[name].as_str().unwrap_or_default().to_owned();
    (text("state"), text("found"), text("advice"))
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Indexes that were moved aside.
pub fn list_set_aside(data_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data_dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("index.damaged-")).collect()
}

/// The number of index jobs, including finished ones.
async fn count_index_jobs(home: &Home) -> u64 {
    let rows = Database::connect(home.database_url()).await.unwrap();
    let count = job::Entity::find().filter(job::Column::Kind.eq("index")).count(&rows).await.unwrap();
    rows.close().await.unwrap();
    count
}

/// Covers the fault table (row 19).
#[actix_web::test]
async fn removed_index_is_rebuilt_at_start() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let (heron, kingfisher) = (save(&key, "heron").await, save(&key, "kingfisher").await);
    wait_until_complete(&running.anonymous(), 2).await;
    assert!(running.terminate().await.success());

    fs::remove_dir_all(home.path("data/index")).unwrap();
    let (state, found, advice) = index_check(&program::run_command(&home, &["doctor"], ""));
    assert_eq!(state, "warning");
    assert!(found.ends_with("does not exist, although the database has 4 passages for it"), "{found}");
    assert!(advice.starts_with("start the server"), "{advice}");
    let running = Program::start(&home, "data").await;

    let key = running.client_with_key(&id, &secret);
    eventually_finds(&key, "heron", &heron).await;
    eventually_finds(&key, "kingfisher", &kingfisher).await;
    wait_until_complete(&running.anonymous(), 2).await;
    assert_eq!(index_check(&running.run_command(&home, &["doctor"])).0, "ok");
}

/// Covers the fault table (row 19).
#[actix_web::test]
async fn older_index_copy_is_updated_and_shows_nothing_deleted() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let (index, copied) = (home.path("data/index"), home.path("copy"));
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let heron = save(&key, "heron").await;
    let deleted = [save(&key, "bittern").await, save(&key, "egret").await];
    assert!(running.terminate().await.success());
    copy_folder(&index, &copied);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let kingfisher = save(&key, "kingfisher").await;
    let path = |saved: &Value| format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    key.patch(&path(&heron), json!({ "title": "Spoonbill" })).await.data(200);
    eventually_finds(&key, "spoonbill", &heron).await;
    wait_until_complete(&running.anonymous(), 4).await;
    for saved in &deleted {
        key.delete(&path(saved)).await.data(200);
    }
    wait_until_complete(&running.anonymous(), 2).await;
    assert!(running.terminate().await.success());

    fs::remove_dir_all(&index).unwrap();
    copy_folder(&copied, &index);
    let (state, found, _) = index_check(&program::run_command(&home, &["doctor"], ""));
    assert_eq!(state, "warning");
    assert!(found.ends_with("is an older copy"), "{found}");
    let running = Program::start(&home, "data").await;

    let key = running.client_with_key(&id, &secret);
    assert!(key.search("bittern").await.is_empty());
    eventually_finds(&key, "kingfisher", &kingfisher).await;
    eventually_finds(&key, "spoonbill", &heron).await;
    // The deleted passages are not even in the index: with them it would hold those of four saves.
    wait_until_complete(&running.anonymous(), 2).await;
    assert!(key.search("bittern").await.is_empty());
}

/// Overwrites every other file of the index with garbage of the same length.
fn overwrite_files(index: &Path) {
    for file in files(index).into_iter().step_by(2) {
        let length = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
        fs::write(&file, vec![0xa5; length.max(1)]).unwrap();
    }
}

/// Cuts every other file of the index in half.
fn truncate_files(index: &Path) {
    for file in files(index).into_iter().step_by(2) {
        let length = fs::metadata(&file).unwrap().len();
        fs::File::options().write(true).open(&file).unwrap().set_len(length / 2).unwrap();
    }
}

/// Covers the fault table (row 19).
#[actix_web::test]
async fn damaged_index_is_moved_aside_and_rebuilt() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.client_with_key(&id, &secret), "heron").await;
    assert!(running.terminate().await.success());
    let damages: [fn(&Path); 2] = [overwrite_files, truncate_files];
    for damage in damages {
        damage(&home.path("data/index"));

        let running = Program::start(&home, "data").await;

        let key = running.client_with_key(&id, &secret);
        eventually_finds(&key, "heron", &heron).await;
        wait_until_complete(&running.anonymous(), 1).await;
        assert_eq!(list_set_aside(&home.path("data")).len(), 1, "only the newest is kept");
        let (state, found, _) = index_check(&running.run_command(&home, &["doctor"]));
        assert_eq!(state, "warning");
        assert!(found.contains("a damaged index was moved to"), "{found}");
        assert!(running.terminate().await.success());
    }
}

#[actix_web::test]
async fn index_damaged_after_a_kill_does_not_prevent_the_start() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.client_with_key(&id, &secret), "heron").await;
    running.kill();
    fs::write(home.path("data/index/edge_config.json"), b"garbage").unwrap();

    let running = Program::start(&home, "data").await;

    eventually_finds(&running.client_with_key(&id, &secret), "heron", &heron).await;
    wait_until_complete(&running.anonymous(), 1).await;
    assert_eq!(list_set_aside(&home.path("data")).len(), 1);
}

/// Covers the fault table (row 19).
#[actix_web::test]
async fn index_removed_while_running_is_rebuilt() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    let heron = save(&key, "heron").await;

    fs::remove_dir_all(home.path("data/index")).unwrap();
    let text = "The kingfisher waits above the water.";
    let kingfisher = key.save_text("https://example.org/kingfisher", text).await;

    eventually("a new index is in the folder", async || {
        home.path("data/index/edge_config.json").exists().then_some(())
    })
    .await;
    wait_until_complete(&running.anonymous(), 2).await;
    eventually_finds(&key, "kingfisher", &kingfisher).await;
    eventually_finds(&key, "heron", &heron).await;
    assert!(running.terminate().await.success());
    let running = Program::start(&home, "data").await;
    assert!(
        is_found(&running.client_with_key(&id, &secret), "heron", &heron).await,
        "the new index outlives the service"
    );
}

#[actix_web::test]
async fn intact_index_is_not_rebuilt_after_stop_or_kill() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.client_with_key(&id, &secret), "heron").await;
    let jobs = count_index_jobs(&home).await;

    assert!(running.terminate().await.success());
    for is_killed in [true, false, true] {
        let running = Program::start(&home, "data").await;
        assert_eq!(read_index_state(&running.anonymous()).await["state"], "complete");
        assert!(is_found(&running.client_with_key(&id, &secret), "heron", &heron).await);
        if is_killed { running.kill() } else { assert!(running.terminate().await.success()) }
    }

    assert_eq!(count_index_jobs(&home).await, jobs);
    assert!(list_set_aside(&home.path("data")).is_empty());
}

#[actix_web::test]
async fn shutdown_while_the_index_opens_is_graceful() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.client_with_key(&id, &secret), "heron").await;
    running.kill();
    // The engine waits until the pipe has a writer, so opening the index never completes.
    let config = home.path("data/index/edge_config.json");
    let content = fs::read(&config).unwrap();
    fs::remove_file(&config).unwrap();
    mknodat(CWD, &config, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();

    // More often than the number of crashes while opening after which the index is moved aside.
    for _ in 0..5 {
        let opening = Program::launch(&home, "data");
        eventually("the index is being opened", async || {
            home.path("data/index.opening").exists().then_some(())
        })
        .await;
        assert!(opening.terminate().await.success());
        assert!(!home.path("data/index.opening").exists());
    }

    fs::remove_file(&config).unwrap();
    fs::write(&config, content).unwrap();
    let running = Program::start(&home, "data").await;
    assert!(is_found(&running.client_with_key(&id, &secret), "heron", &heron).await);
    assert!(list_set_aside(&home.path("data")).is_empty());
}

/// A model that embeds every text equally. While it is paused, it embeds no passages.
#[derive(Default)]
struct ConstantEmbedder {
    is_held: Mutex<bool>,
    released: Condvar,
}

impl ConstantEmbedder {
    fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.released.notify_all();
    }
}

impl Embedder for ConstantEmbedder {
    fn model(&self) -> &str {
        "all-minilm-l6-v2"
    }

    fn dimensions(&self) -> usize {
        384
    }

    fn embed(&self, texts: &[&str]) -> Result<Embeddings, EmbedError> {
        let held = self.is_held.lock().unwrap();
        drop(self.released.wait_timeout_while(held, Duration::from_secs(60), |held| *held).unwrap());
        Ok(Embeddings { vectors: self.embed_queries(texts)?, tokens: texts.len() })
    }

    fn embed_query(&self, _: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vector = vec![0.0; self.dimensions()];
        vector[0] = 1.0;
        Ok(vector)
    }

    fn query_weight(&self, _: &str) -> QueryWeight {
        QueryWeight::FULL
    }

    fn knows_each_word(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn calibration(&self) -> Calibration {
        Calibration::STANDARD
    }
}

/// Returns `degraded` of a search. It is the same if a filter matches nothing, so that the index is not searched.
async fn read_degraded(key: &Key) -> Value {
    let degraded = key.get("/rest/v2/search?q=heron").await.data(200)["degraded"].clone();
    for nothing in ["q=heron&tag=none", "q=heron&favorite=true", "q=-heron"] {
        let answer = key.get(&format!("/rest/v2/search?{nothing}")).await;
        assert_eq!(answer.data(200)["degraded"], degraded, "{nothing}");
    }
    degraded
}

#[actix_web::test]
async fn search_is_degraded_until_lost_documents_are_restored() {
    let server = Server::start().await;
    let model = Arc::new(ConstantEmbedder::default());
    server.context().retrieval.engine().set_model(model.clone());
    let owner = server.user(Plan::Pro).await;
    let (key, other) = (owner.full_key().await, server.user(Plan::Pro).await.full_key().await);
    let heron = save(&key, "heron").await;
    assert_eq!(read_degraded(&key).await, Value::Null);

    // Nothing is indexed meanwhile, so that the state can be checked.
    server.service().stop_worker().await;
    fs::remove_dir_all(IndexFolder::path_in(&server.context().core.data_dir)).unwrap();
    repair::check_index(&server.service().repair).await.unwrap();

    let index = read_index_state(&server.anonymous()).await;
    let progress = (&index["state"], &index["documentsLeft"], &index["documentsTotal"], &index["passages"]);
    assert_eq!(progress, (&json!("rebuilding"), &json!(1), &json!(1), &json!(0)));
    assert_eq!(read_degraded(&key).await, "lexical");
    assert_eq!(read_degraded(&other).await, Value::Null, "nothing of theirs is lost");

    // The words are restored, the vectors not yet.
    model.hold(true);
    server.restart_worker().await;
    eventually("the words of the document are found again", async || {
        (find_document(&server, owner.id()).await.indexed_version > 0).then_some(())
    })
    .await;
    assert!(is_found(&key, "heron", &heron).await);
    repair::check_index(&server.service().repair).await.unwrap();
    let index = read_index_state(&server.anonymous()).await;
    assert_eq!((&index["state"], &index["documentsLeft"]), (&json!("rebuilding"), &json!(1)));
    assert_eq!(read_degraded(&key).await, "lexical");

    model.hold(false);
    wait_until_complete(&server.anonymous(), 1).await;
    assert_eq!(find_document(&server, owner.id()).await.embedding_model.as_deref(), Some("all-minilm-l6-v2"));
    assert_eq!(read_degraded(&key).await, Value::Null);
}

/// The only document of an account.
async fn find_document(server: &Server, owner: UserId) -> document::Model {
    document::Entity::visible_to(owner).one(server.context().core.db.read()).await.unwrap().unwrap()
}

#[actix_web::test]
async fn index_moved_away_and_back_is_used_again() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    let (index, elsewhere) =
        (IndexFolder::path_in(&server.context().core.data_dir), server.home().path("elsewhere"));
    server.service().stop_worker().await;

    fs::rename(&index, &elsewhere).unwrap();
    repair::check_index(&server.service().repair).await.unwrap();
    assert!(index.join("edge_config.json").exists(), "a new index is in its place");
    fs::remove_dir_all(&index).unwrap();
    fs::rename(&elsewhere, &index).unwrap();
    repair::check_index(&server.service().repair).await.unwrap();

    assert!(server.context().retrieval.engine().is_in_place());
    server.restart_worker().await;
    let kingfisher = save(&key, "kingfisher").await;
    wait_until_complete(&server.anonymous(), 2).await;
    assert!(is_found(&key, "heron", &heron).await && is_found(&key, "kingfisher", &kingfisher).await);
    assert!(list_set_aside(&server.context().core.data_dir).is_empty());
}

/// Removes the passages of a document from the index without a trace in the database.
async fn remove_from_index(server: &Server, owner: UserId, saved: &Value) {
    let lost: DocumentId = saved["documentId"].as_str().unwrap().parse().unwrap();
    let passages = chunk::Entity::owned_by(owner).filter(chunk::Column::DocumentId.eq(lost));
    let passages = passages.all(server.context().core.db.read()).await.unwrap();
    // The metadata passage has the id of the document.
    let ids = passages.iter().map(|passage| passage.id.0).chain([lost.0]).collect();
    server.context().retrieval.delete_passages(ids).await.unwrap();
}

/// Covers the fault table (row 19).
#[actix_web::test]
async fn partial_index_restores_only_lost_documents() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let (heron, kingfisher) = (save(&key, "heron").await, save(&key, "kingfisher").await);
    let jobs = count_jobs(&server).await;

    remove_from_index(&server, owner.id(), &heron).await;
    assert!(key.search("heron").await.is_empty());
    server.clock.advance(Duration::from_secs(601));

    eventually_finds(&key, "heron", &heron).await;
    wait_until_complete(&server.anonymous(), 2).await;
    assert!(is_found(&key, "kingfisher", &kingfisher).await);
    assert_eq!(count_jobs(&server).await, jobs + 1);
}

#[actix_web::test]
async fn document_indexed_before_clock_set_back_is_restored() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let heron = save(&key, "heron").await;
    server.clock.set_back(Duration::from_secs(3600));

    remove_from_index(&server, owner.id(), &heron).await;
    assert!(key.search("heron").await.is_empty());
    server.clock.advance(Duration::from_secs(601));

    eventually_finds(&key, "heron", &heron).await;
    wait_until_complete(&server.anonymous(), 1).await;
}

#[actix_web::test]
async fn lost_last_passage_of_a_long_text_is_restored() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let text = format!("{}\n\nThe spoonbill comes last.", "7 ".repeat(600_000));
    let long = key.save_text("https://example.org/long", &text).await;
    key.wait_for(&long, "ready").await;
    let passages = chunk::Entity::owned_by(owner.id()).order_by_desc(chunk::Column::Ordinal);
    let last = passages.one(server.context().core.db.read()).await.unwrap().unwrap();
    assert!(last.ordinal > 1000, "its rows are read in more than one slice");

    server.context().retrieval.delete_passages(vec![last.id.0]).await.unwrap();
    assert!(key.search("spoonbill").await.is_empty());
    server.clock.advance(Duration::from_secs(601));

    eventually_finds(&key, "spoonbill", &long).await;
}

/// The number of index jobs, including finished ones.
async fn count_jobs(server: &Server) -> u64 {
    let jobs = job::Entity::find().filter(job::Column::Kind.eq("index"));
    jobs.count(server.context().core.db.read()).await.unwrap()
}

/// An index whose reads all fail with this error.
pub struct FailingIndex(pub fn() -> IndexError);

impl FailingIndex {
    fn answer<T>(&self) -> Result<T, IndexError> {
        Err((self.0)())
    }
}

pub fn damage_error() -> IndexError {
    engine_error(EngineFault::Damage)
}

fn engine_error(fault: EngineFault) -> IndexError {
    IndexError::Engine { action: "search", fault, source: "a reason of its own".into() }
}

impl PassageIndex for FailingIndex {
    fn upsert(&self, _: &Tenant, _: Vec<Point>) -> Result<(), IndexError> {
        Ok(())
    }

    fn set_vectors(&self, _: &Tenant, _: Vec<PassageEmbedding>) -> Result<Vec<Uuid>, IndexError> {
        Ok(Vec::new())
    }

    fn add_model(&self, _: &VectorModel) -> Result<(), IndexError> {
        Ok(())
    }

    fn delete_model(&self, _: &str) -> Result<(), IndexError> {
        Ok(())
    }

    fn delete_document(&self, _: &Tenant, _: Uuid, _: Option<i64>) -> Result<(), IndexError> {
        Ok(())
    }

    fn delete_tenant(&self, _: &Tenant) -> Result<(), IndexError> {
        Ok(())
    }

    fn update_labels(&self, _: &Tenant, _: Uuid, _: &Labels) -> Result<(), IndexError> {
        Ok(())
    }

    fn search(&self, _: &Tenant, _: &IndexQuery) -> Result<HybridHits, IndexError> {
        self.answer()
    }

    fn find_documents(&self, _: &Tenant, _: &[Uuid]) -> Result<HashMap<Uuid, Uuid>, IndexError> {
        self.answer()
    }

    fn languages(&self, _: &Tenant) -> Result<Vec<Language>, IndexError> {
        self.answer()
    }

    fn count(&self) -> Result<usize, IndexError> {
        self.answer()
    }

    fn estimate_count(&self) -> Result<usize, IndexError> {
        self.answer()
    }

    fn commit(&self) -> Result<(), IndexError> {
        Ok(())
    }

    fn maintain(&self) -> Result<bool, IndexError> {
        Ok(false)
    }

    fn unload_unused(&self, _: Duration) -> Result<bool, IndexError> {
        Ok(false)
    }

    fn find_missing(&self, _: &[Uuid]) -> Result<Vec<Uuid>, IndexError> {
        self.answer()
    }

    fn list_passages(&self, _: Option<Uuid>, _: usize) -> Result<PassagePage, IndexError> {
        self.answer()
    }

    fn read_points(&self, _: Option<Uuid>, _: usize) -> Result<PointPage, IndexError> {
        self.answer()
    }

    fn count_of(&self, _: &Tenant) -> Result<usize, IndexError> {
        self.answer()
    }

    fn delete_passages(&self, _: &[Uuid]) -> Result<(), IndexError> {
        Ok(())
    }

    fn is_in_place(&self) -> bool {
        true
    }

    fn abandon(&self) {}

    fn resume(&self) -> bool {
        false
    }

    fn remote_deadline(&self) -> Option<Duration> {
        None
    }
}

#[actix_web::test]
async fn index_that_fails_searches_is_moved_aside_and_rebuilt() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    assert!(list_set_aside(&server.context().core.data_dir).is_empty());

    server.context().retrieval.engine().replace_index(Arc::new(FailingIndex(damage_error)));

    eventually_search_succeeds(&key, &heron).await;
    assert_eq!(list_set_aside(&server.context().core.data_dir).len(), 1);
}

/// Waits until searches succeed again and find the heron.
pub async fn eventually_search_succeeds(key: &Key, heron: &Value) {
    eventually("search answers and finds again", async || {
        let answer = key.get("/rest/v2/search?q=heron").await;
        (answer.body["data"]["results"][0]["documentId"] == heron["documentId"]).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn index_that_cannot_be_moved_aside_is_moved_on_retry() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    // A file where the damaged index is to be moved.
    let obstacle = server.context().core.data_dir.join("index.damaged-2024-05-06T12-00-00.000Z");
    fs::write(&obstacle, "").unwrap();

    server.context().retrieval.engine().replace_index(Arc::new(FailingIndex(damage_error)));
    for _ in 0..3 {
        let answer = key.get("/rest/v2/search?q=heron").await;
        assert_eq!((answer.error_code(503), answer.header_number("retry-after")), ("OVERLOADED", 5));
    }
    // Fails here, or has failed in the background just before.
    let _ = repair::check_index(&server.service().repair).await;
    assert!(server.context().retrieval.engine().is_in_place());
    assert_eq!(list_set_aside(&server.context().core.data_dir), std::slice::from_ref(&obstacle));

    fs::remove_file(&obstacle).unwrap();
    server.clock.advance(Duration::from_secs(31));
    eventually_search_succeeds(&key, &heron).await;
    assert_eq!(list_set_aside(&server.context().core.data_dir).len(), 1);
}

#[actix_web::test]
async fn index_that_refuses_queries_is_not_moved_aside() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    save(&key, "heron").await;

    let refused = || engine_error(EngineFault::InvalidRequest);
    server.context().retrieval.engine().replace_index(Arc::new(FailingIndex(refused)));
    for _ in 0..6 {
        assert_eq!(key.get("/rest/v2/search?q=heron").await.status, 500);
    }
    repair::check_index(&server.service().repair).await.unwrap();

    assert_eq!(server.context().retrieval.engine().damage_failures(), 0);
    assert!(list_set_aside(&server.context().core.data_dir).is_empty());
}

#[actix_web::test]
async fn search_alone_is_refused_while_the_index_reloads() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    save(&key, "heron").await;

    server.context().retrieval.engine().replace_index(Arc::new(FailingIndex(|| IndexError::Blocked)));
    let searched = key.get("/rest/v2/search?q=heron").await;
    let index = read_index_state(&server.anonymous()).await;
    repair::check_index(&server.service().repair).await.unwrap();

    assert_eq!(searched.error_code(503), "OVERLOADED");
    assert_eq!(searched.header_number("retry-after"), 2);
    assert_eq!((&index["ok"], &index["passages"]), (&json!(true), &Value::Null));
    assert_eq!(server.context().retrieval.engine().damage_failures(), 0);
    assert!(list_set_aside(&server.context().core.data_dir).is_empty());
}
