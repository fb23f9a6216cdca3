//! An index that is lost, old or damaged is noticed, told, and filled again from the database while the service serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use actors::service::index_folder;
use actors::ingest::repair;
use entity::id::{DocumentId, UserId};
use entity::plan::Plan;
use entity::{chunk, document, job};
use inference::embedder::{EmbedError, Embedder, Pieces};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use sea_orm::{ColumnTrait, Database, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder};
use search::index::{
    EngineFault, HybridHits, IndexError, IndexQuery, Labels, Language, PassageIndex, PassagePage, Point,
    Tenant,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{Client, Home, Key, Program, Server, eventually, files, program};

/// Saves a text about one bird, and waits until it is found.
pub async fn save(key: &Key, bird: &str) -> Value {
    let text = format!("The {bird} stands still in the water for an hour, waiting for a fish to come by.");
    let saved = key.save_text(&format!("https://example.org/{bird}"), &text).await;
    key.once(&saved, "ready").await;
    assert!(finds(key, bird, &saved).await, "{bird}");
    saved
}

pub async fn finds(key: &Key, words: &str, saved: &Value) -> bool {
    key.search(words).await == [saved["documentId"].as_str().unwrap()]
}

async fn eventually_finds(key: &Key, words: &str, saved: &Value) {
    eventually(&format!("{words} is found again"), async || finds(key, words, saved).await.then_some(()))
        .await;
}

/// What `/readyz` says of the index; it is 200 throughout.
pub async fn index_of(stranger: &Client) -> Value {
    let ready = stranger.get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.body);
    ready.body["index"].clone()
}

/// Waits until the index is complete and holds so many passages. Their number is told half a second late.
pub async fn complete(stranger: &Client, passages: u64) {
    eventually("the index is complete", async || {
        let index = index_of(stranger).await;
        (index["state"] == "complete" && index["passages"] == passages).then_some(())
    })
    .await;
}

/// What `carrel doctor` says of the index: its state, what was found, and the advice.
fn doctor(said: &Value) -> (String, String, String) {
    let checks = said["checks"].as_array().unwrap();
    let index = checks.iter().find(|check| check["name"] == "index").unwrap();
    let text = |name: &str| index[name].as_str().unwrap_or_default().to_owned();
    (text("state"), text("found"), text("advice"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Indexes that were moved aside.
pub fn set_aside(data_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data_dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("index.damaged-")).collect()
}

/// How many jobs that fill the index there are or were.
async fn index_jobs(home: &Home) -> u64 {
    let rows = Database::connect(home.database_url()).await.unwrap();
    let count = job::Entity::find().filter(job::Column::Kind.eq("index")).count(&rows).await.unwrap();
    rows.close().await.unwrap();
    count
}

/// Of the fault table (row 19).
#[actix_web::test]
async fn removed_index_is_filled_again_after_a_start() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    let (heron, kingfisher) = (save(&key, "heron").await, save(&key, "kingfisher").await);
    complete(&running.stranger(), 2).await;
    assert!(running.terminate().await.success());

    fs::remove_dir_all(home.path("data/index")).unwrap();
    let (state, found, advice) = doctor(&program::run(&home, &["doctor"], ""));
    assert_eq!(state, "warning");
    assert!(found.ends_with("is not there, and 2 passages should be in it"), "{found}");
    assert!(advice.starts_with("start the service"), "{advice}");
    let running = Program::start(&home, "data").await;

    let key = running.holder(&id, &secret);
    eventually_finds(&key, "heron", &heron).await;
    eventually_finds(&key, "kingfisher", &kingfisher).await;
    complete(&running.stranger(), 2).await;
    assert_eq!(doctor(&running.beside(&home, &["doctor"])).0, "ok");
}

/// Of the fault table (row 19).
#[actix_web::test]
async fn older_copy_is_brought_up_to_date_and_shows_nothing_deleted() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let (index, copied) = (home.path("data/index"), home.path("copy"));
    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    let heron = save(&key, "heron").await;
    let deleted = [save(&key, "bittern").await, save(&key, "egret").await];
    assert!(running.terminate().await.success());
    copy(&index, &copied);
    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    let kingfisher = save(&key, "kingfisher").await;
    let path = |saved: &Value| format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    key.patch(&path(&heron), json!({ "title": "Spoonbill" })).await.data(200);
    eventually_finds(&key, "spoonbill", &heron).await;
    complete(&running.stranger(), 4).await;
    for saved in &deleted {
        key.delete(&path(saved)).await.data(200);
    }
    complete(&running.stranger(), 2).await;
    assert!(running.terminate().await.success());

    fs::remove_dir_all(&index).unwrap();
    copy(&copied, &index);
    let (state, found, _) = doctor(&program::run(&home, &["doctor"], ""));
    assert_eq!(state, "warning");
    assert!(found.ends_with("is an older copy"), "{found}");
    let running = Program::start(&home, "data").await;

    let key = running.holder(&id, &secret);
    assert!(key.search("bittern").await.is_empty());
    eventually_finds(&key, "kingfisher", &kingfisher).await;
    eventually_finds(&key, "spoonbill", &heron).await;
    // The deleted passages are not even in the index: with them it would hold four.
    complete(&running.stranger(), 2).await;
    assert!(key.search("bittern").await.is_empty());
}

/// Overwrites every other file of the index with garbage of the same length.
fn overwrite(index: &Path) {
    for file in files(index).into_iter().step_by(2) {
        let length = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
        fs::write(&file, vec![0xa5; length.max(1)]).unwrap();
    }
}

/// Cuts every other file of the index in half.
fn truncate(index: &Path) {
    for file in files(index).into_iter().step_by(2) {
        let length = fs::metadata(&file).unwrap().len();
        fs::File::options().write(true).open(&file).unwrap().set_len(length / 2).unwrap();
    }
}

/// Of the fault table (row 19).
#[actix_web::test]
async fn damaged_index_is_moved_aside_and_filled_again() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.holder(&id, &secret), "heron").await;
    assert!(running.terminate().await.success());
    let damages: [fn(&Path); 2] = [overwrite, truncate];
    for damage in damages {
        damage(&home.path("data/index"));

        let running = Program::start(&home, "data").await;

        let key = running.holder(&id, &secret);
        eventually_finds(&key, "heron", &heron).await;
        complete(&running.stranger(), 1).await;
        assert_eq!(set_aside(&home.path("data")).len(), 1, "only the newest is kept");
        let (state, found, _) = doctor(&running.beside(&home, &["doctor"]));
        assert_eq!(state, "warning");
        assert!(found.contains("a damaged one was moved aside"), "{found}");
        assert!(running.terminate().await.success());
    }
}

#[actix_web::test]
async fn index_damaged_after_a_kill_never_stops_the_start() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.holder(&id, &secret), "heron").await;
    running.kill();
    fs::write(home.path("data/index/edge_config.json"), b"garbage").unwrap();

    let running = Program::start(&home, "data").await;

    eventually_finds(&running.holder(&id, &secret), "heron", &heron).await;
    complete(&running.stranger(), 1).await;
    assert_eq!(set_aside(&home.path("data")).len(), 1);
}

/// Of the fault table (row 19).
#[actix_web::test]
async fn index_removed_while_the_service_runs_is_filled_again() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    let heron = save(&key, "heron").await;

    fs::remove_dir_all(home.path("data/index")).unwrap();
    let text = "The kingfisher waits above the water.";
    let kingfisher = key.save_text("https://example.org/kingfisher", text).await;

    eventually("a new index is in the folder", async || {
        home.path("data/index/edge_config.json").exists().then_some(())
    })
    .await;
    complete(&running.stranger(), 2).await;
    eventually_finds(&key, "kingfisher", &kingfisher).await;
    eventually_finds(&key, "heron", &heron).await;
    assert!(running.terminate().await.success());
    let running = Program::start(&home, "data").await;
    assert!(
        finds(&running.holder(&id, &secret), "heron", &heron).await,
        "the new index outlives the service"
    );
}

#[actix_web::test]
async fn whole_index_is_not_filled_again_after_stop_or_kill() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.holder(&id, &secret), "heron").await;
    let jobs = index_jobs(&home).await;

    assert!(running.terminate().await.success());
    for is_killed in [true, false, true] {
        let running = Program::start(&home, "data").await;
        assert_eq!(index_of(&running.stranger()).await["state"], "complete");
        assert!(finds(&running.holder(&id, &secret), "heron", &heron).await);
        if is_killed { running.kill() } else { assert!(running.terminate().await.success()) }
    }

    assert_eq!(index_jobs(&home).await, jobs);
    assert!(set_aside(&home.path("data")).is_empty());
}

#[actix_web::test]
async fn shutdown_while_the_index_opens_is_graceful() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let heron = save(&running.holder(&id, &secret), "heron").await;
    running.kill();
    // The engine waits until the pipe has a writer, so opening the index never completes.
    let config = home.path("data/index/edge_config.json");
    let content = fs::read(&config).unwrap();
    fs::remove_file(&config).unwrap();
    mknodat(CWD, &config, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();

    // More often than the number of crashes while opening after which the index is moved aside.
    for _ in 0..5 {
        let opening = Program::begin(&home, "data");
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
    assert!(finds(&running.holder(&id, &secret), "heron", &heron).await);
    assert!(set_aside(&home.path("data")).is_empty());
}

/// A model that embeds every text equally. While it is paused, it embeds no passages.
#[derive(Default)]
struct OneMeaning {
    is_held: Mutex<bool>,
    released: Condvar,
}

impl OneMeaning {
    fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.released.notify_all();
    }
}

impl Embedder for OneMeaning {
    fn model(&self) -> &str {
        "all-minilm-l6-v2"
    }

    fn dimensions(&self) -> usize {
        384
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let held = self.is_held.lock().unwrap();
        drop(self.released.wait_timeout_while(held, Duration::from_secs(60), |held| *held).unwrap());
        texts.iter().map(|text| self.embed_query(text)).collect()
    }

    fn embed_query(&self, _: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vector = vec![0.0; self.dimensions()];
        vector[0] = 1.0;
        Ok(vector)
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn pieces(&self, query: &str) -> Pieces {
        Pieces { all: self.count_tokens(query), unknown: 0 }
    }
}

async fn degraded(key: &Key) -> Value {
    key.get("/rest/v2/search?q=heron").await.data(200)["degraded"].clone()
}

#[actix_web::test]
async fn search_says_degraded_until_lost_documents_are_back() {
    let server = Server::start().await;
    let model = Arc::new(OneMeaning::default());
    server.app().retrieval.set_model(model.clone());
    let owner = server.user(Plan::Pro).await;
    let (key, other) = (owner.full_key().await, server.user(Plan::Pro).await.full_key().await);
    let heron = save(&key, "heron").await;
    assert_eq!(degraded(&key).await, Value::Null);

    // Nothing is put in meanwhile, so that it can be looked at.
    server.service().stop_worker().await;
    fs::remove_dir_all(index_folder(&server.app().core.data_dir)).unwrap();
    repair::check_index(&server.service().repair).await.unwrap();

    let index = index_of(&server.stranger()).await;
    let told = (&index["state"], &index["documentsLeft"], &index["documentsTotal"], &index["passages"]);
    assert_eq!(told, (&json!("rebuilding"), &json!(1), &json!(1), &json!(0)));
    assert_eq!(degraded(&key).await, "lexical");
    assert_eq!(degraded(&other).await, Value::Null, "nothing of theirs is lost");

    // The words are restored, the vectors not yet.
    model.hold(true);
    server.service().worker.port().crash();
    eventually("its words are restored", async || {
        (document_of(&server, owner.id()).await.indexed_version > 0).then_some(())
    })
    .await;
    assert!(finds(&key, "heron", &heron).await);
    repair::check_index(&server.service().repair).await.unwrap();
    let index = index_of(&server.stranger()).await;
    assert_eq!((&index["state"], &index["documentsLeft"]), (&json!("rebuilding"), &json!(1)));
    assert_eq!(degraded(&key).await, "lexical");

    model.hold(false);
    complete(&server.stranger(), 1).await;
    assert_eq!(document_of(&server, owner.id()).await.vectors_of.as_deref(), Some("all-minilm-l6-v2"));
    assert_eq!(degraded(&key).await, Value::Null);
}

/// The only document of an account.
async fn document_of(server: &Server, owner: UserId) -> document::Model {
    document::Entity::readable_by(owner).one(server.app().core.db.read()).await.unwrap().unwrap()
}

#[actix_web::test]
async fn index_moved_away_and_back_is_used_again() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    let (index, elsewhere) = (index_folder(&server.app().core.data_dir), server.home().path("elsewhere"));
    server.service().stop_worker().await;

    fs::rename(&index, &elsewhere).unwrap();
    repair::check_index(&server.service().repair).await.unwrap();
    assert!(index.join("edge_config.json").exists(), "a new index is in its place");
    fs::remove_dir_all(&index).unwrap();
    fs::rename(&elsewhere, &index).unwrap();
    repair::check_index(&server.service().repair).await.unwrap();

    assert!(server.app().retrieval.is_in_place());
    server.service().worker.port().crash();
    let kingfisher = save(&key, "kingfisher").await;
    complete(&server.stranger(), 2).await;
    assert!(finds(&key, "heron", &heron).await && finds(&key, "kingfisher", &kingfisher).await);
    assert!(set_aside(&server.app().core.data_dir).is_empty());
}

/// Takes the passages of a document out of the index, without a word in the database.
async fn lose(server: &Server, owner: UserId, saved: &Value) {
    let lost: DocumentId = saved["documentId"].as_str().unwrap().parse().unwrap();
    let passages = chunk::Entity::owned_by(owner).filter(chunk::Column::DocumentId.eq(lost));
    let passages = passages.all(server.app().core.db.read()).await.unwrap();
    let ids = passages.iter().map(|passage| passage.id.0).collect();
    server.app().retrieval.remove(ids).await.unwrap();
}

/// Of the fault table (row 19).
#[actix_web::test]
async fn partial_index_gets_back_only_what_it_lost() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let (heron, kingfisher) = (save(&key, "heron").await, save(&key, "kingfisher").await);
    let jobs = jobs_of(&server).await;

    lose(&server, owner.id(), &heron).await;
    assert!(key.search("heron").await.is_empty());
    server.clock.advance(Duration::from_secs(601));

    eventually_finds(&key, "heron", &heron).await;
    complete(&server.stranger(), 2).await;
    assert!(finds(&key, "kingfisher", &kingfisher).await);
    assert_eq!(jobs_of(&server).await, jobs + 1);
}

#[actix_web::test]
async fn document_indexed_before_the_clock_was_set_back_comes_back() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let heron = save(&key, "heron").await;
    server.clock.set_back(Duration::from_secs(3600));

    lose(&server, owner.id(), &heron).await;
    assert!(key.search("heron").await.is_empty());
    server.clock.advance(Duration::from_secs(601));

    eventually_finds(&key, "heron", &heron).await;
    complete(&server.stranger(), 1).await;
}

#[actix_web::test]
async fn passage_lost_at_the_end_of_a_long_text_comes_back() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let text = format!("{}\n\nThe spoonbill comes last.", "7 ".repeat(600_000));
    let long = key.save_text("https://example.org/long", &text).await;
    key.once(&long, "ready").await;
    let passages = chunk::Entity::owned_by(owner.id()).order_by_desc(chunk::Column::Ordinal);
    let last = passages.one(server.app().core.db.read()).await.unwrap().unwrap();
    assert!(last.ordinal > 1000, "its rows are read in more than one slice");

    server.app().retrieval.remove(vec![last.id.0]).await.unwrap();
    assert!(key.search("spoonbill").await.is_empty());
    server.clock.advance(Duration::from_secs(601));

    eventually_finds(&key, "spoonbill", &long).await;
}

/// How many jobs that fill the index there are or were.
async fn jobs_of(server: &Server) -> u64 {
    let jobs = job::Entity::find().filter(job::Column::Kind.eq("index"));
    jobs.count(server.app().core.db.read()).await.unwrap()
}

/// An index of which every read fails so.
struct Failing(fn() -> IndexError);

impl Failing {
    fn answer<T>(&self) -> Result<T, IndexError> {
        Err((self.0)())
    }
}

fn damaged() -> IndexError {
    of_the_engine(EngineFault::Damage)
}

fn of_the_engine(fault: EngineFault) -> IndexError {
    IndexError::Engine { action: "search", fault, source: "a reason of its own".into() }
}

impl PassageIndex for Failing {
    fn upsert(&self, _: &Tenant, _: Vec<Point>) -> Result<(), IndexError> {
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

    fn find_missing(&self, _: &[Uuid]) -> Result<Vec<Uuid>, IndexError> {
        self.answer()
    }

    fn list_passages(&self, _: Option<Uuid>, _: usize) -> Result<PassagePage, IndexError> {
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
}

#[actix_web::test]
async fn index_that_fails_searches_is_moved_aside_and_filled_again() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    assert!(set_aside(&server.app().core.data_dir).is_empty());

    server.app().retrieval.replace_index(Arc::new(Failing(damaged)));

    eventually_answers(&key, &heron).await;
    assert_eq!(set_aside(&server.app().core.data_dir).len(), 1);
}

/// Waits until searches succeed again, and the heron is found.
pub async fn eventually_answers(key: &Key, heron: &Value) {
    eventually("search answers and finds again", async || {
        let answer = key.get("/rest/v2/search?q=heron").await;
        (answer.body["data"]["results"][0]["documentId"] == heron["documentId"]).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn index_that_cannot_be_moved_aside_is_moved_at_the_next_try() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    // A file where the damaged index is to be moved.
    let obstacle = server.app().core.data_dir.join("index.damaged-2024-05-06T12-00-00.000Z");
    fs::write(&obstacle, "").unwrap();

    server.app().retrieval.replace_index(Arc::new(Failing(damaged)));
    for _ in 0..3 {
        let answer = key.get("/rest/v2/search?q=heron").await;
        assert_eq!((answer.refused(503), answer.number("retry-after")), ("OVERLOADED", 5));
    }
    // Fails here, or has failed in the background just before.
    let _ = repair::check_index(&server.service().repair).await;
    assert!(server.app().retrieval.is_in_place());
    assert_eq!(set_aside(&server.app().core.data_dir), std::slice::from_ref(&obstacle));

    fs::remove_file(&obstacle).unwrap();
    server.clock.advance(Duration::from_secs(31));
    eventually_answers(&key, &heron).await;
    assert_eq!(set_aside(&server.app().core.data_dir).len(), 1);
}

#[actix_web::test]
async fn index_that_refuses_queries_is_not_moved_aside() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    save(&key, "heron").await;

    let refused = || of_the_engine(EngineFault::InvalidRequest);
    server.app().retrieval.replace_index(Arc::new(Failing(refused)));
    for _ in 0..6 {
        assert_eq!(key.get("/rest/v2/search?q=heron").await.status, 500);
    }
    repair::check_index(&server.service().repair).await.unwrap();

    assert_eq!(server.app().retrieval.failures(), 0);
    assert!(set_aside(&server.app().core.data_dir).is_empty());
}

#[actix_web::test]
async fn search_alone_is_refused_while_the_index_is_loaded_again() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    save(&key, "heron").await;

    server.app().retrieval.replace_index(Arc::new(Failing(|| IndexError::Blocked)));
    let searched = key.get("/rest/v2/search?q=heron").await;
    let index = index_of(&server.stranger()).await;
    repair::check_index(&server.service().repair).await.unwrap();

    assert_eq!(searched.refused(503), "OVERLOADED");
    assert_eq!(searched.number("retry-after"), 2);
    assert_eq!((&index["ok"], &index["passages"]), (&json!(true), &Value::Null));
    assert_eq!(server.app().retrieval.failures(), 0);
    assert!(set_aside(&server.app().core.data_dir).is_empty());
}
