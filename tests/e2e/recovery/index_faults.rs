//! An index of which a part fails: the searches of one user, or writes.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::Arbiter;
use actors::ai::Pause;
use actors::ingest::repair::{self, IndexWatch, RepairContext};
use actors::retrieval::{Completeness, Retrieval, VocabularyFiles};
use database::Db;
use disk::DiskSpace;
use entity::{document, job};
use jobs::MAX_ATTEMPTS;
use library::clock::Clock;
use library::context::CoreContext;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use search::index::marker::MARKER_FILE;
use search::index::{
    EngineFault, HybridHits, IndexError, IndexFolder, IndexQuery, IndexStore, InitialIndex, Labels, Language,
    PassageEmbedding, PassageIndex, PassagePage, Point, PointPage, Tenant, VectorModel, VectorModels,
};
use serde_json::{Value, json};
use uuid::Uuid;
use values::id::DocumentId;
use values::kind::JobState;
use values::plan::Plan;

use super::index_repair::{
    FailingIndex, damage_error, eventually_search_succeeds, is_found, list_set_aside, read_index_state, save,
    wait_until_complete,
};
use crate::support::{Key, Server, eventually};

/// An index that passes requests on to another one, except those that it fails.
struct FaultyIndex {
    index: Arc<dyn PassageIndex>,
    /// The user whose searches fail as damage fails them.
    failing_tenant: Option<Tenant>,
    /// How passages fail to be added.
    write_fault: Mutex<Option<EngineFault>>,
    /// The document whose passages are refused.
    refused_document: Mutex<Option<Uuid>>,
    failed_writes: AtomicI32,
    /// For each request that adds passages, the number of documents that they are of.
    documents_of_writes: Mutex<Vec<usize>>,
}

impl FaultyIndex {
    /// Puts it before the index of a server.
    async fn install(
        server: &Server,
        failing_tenant: Option<Tenant>,
        write_fault: Option<EngineFault>,
    ) -> Arc<Self> {
        // The index is abandoned for a moment, which no check of it must see.
        server.service().stop_worker().await;
        repair::check_index(&server.service().repair).await.unwrap();
        let index = server.context().retrieval.engine().abandon().await.unwrap();
        assert!(index.resume());
        let write_fault = Mutex::new(write_fault);
        let faulty = Arc::new(Self {
            index,
            failing_tenant,
            write_fault,
            refused_document: Mutex::default(),
            failed_writes: AtomicI32::new(0),
            documents_of_writes: Mutex::default(),
        });
        server.context().retrieval.engine().replace_index(faulty.clone());
        server.restart_worker().await;
        faulty
    }

    fn refuse_document(&self, document: Option<Uuid>) {
        *self.refused_document.lock().unwrap() = document;
    }

    fn end_write_fault(&self) {
        *self.write_fault.lock().unwrap() = None;
    }

    fn documents_of_writes(&self) -> Vec<usize> {
        self.documents_of_writes.lock().unwrap().clone()
    }
}

fn engine_error(action: &'static str, fault: EngineFault) -> IndexError {
    IndexError::Engine { action, fault, source: "a reason of its own".into() }
}

impl PassageIndex for FaultyIndex {
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError> {
        let documents: HashSet<Uuid> = points.iter().map(|point| point.document).collect();
        self.documents_of_writes.lock().unwrap().push(documents.len());
        let is_refused =
            self.refused_document.lock().unwrap().is_some_and(|refused| documents.contains(&refused));
        let fault = is_refused.then_some(EngineFault::InvalidRequest);
        match fault.or(*self.write_fault.lock().unwrap()) {
            Some(fault) => {
                self.failed_writes.fetch_add(1, Ordering::SeqCst);
                Err(engine_error("add to", fault))
            }
            None => self.index.upsert(tenant, points),
        }
    }

    fn set_vectors(
        &self,
        tenant: &Tenant,
        embeddings: Vec<PassageEmbedding>,
    ) -> Result<Vec<Uuid>, IndexError> {
        self.index.set_vectors(tenant, embeddings)
    }

    fn add_model(&self, model: &VectorModel) -> Result<(), IndexError> {
        self.index.add_model(model)
    }

    fn delete_model(&self, model: &str) -> Result<(), IndexError> {
        self.index.delete_model(model)
    }

    fn delete_document(&self, tenant: &Tenant, document: Uuid, keep: Option<i64>) -> Result<(), IndexError> {
        self.index.delete_document(tenant, document, keep)
    }

    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError> {
        self.index.delete_tenant(tenant)
    }

    fn update_labels(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError> {
        self.index.update_labels(tenant, document, labels)
    }

    fn search(&self, tenant: &Tenant, query: &IndexQuery) -> Result<HybridHits, IndexError> {
        if self.failing_tenant == Some(*tenant) {
            return Err(engine_error("search", EngineFault::Damage));
        }
        self.index.search(tenant, query)
    }

    fn find_documents(&self, tenant: &Tenant, passages: &[Uuid]) -> Result<HashMap<Uuid, Uuid>, IndexError> {
        self.index.find_documents(tenant, passages)
    }

    fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError> {
        self.index.languages(tenant)
    }

    fn count(&self) -> Result<usize, IndexError> {
        self.index.count()
    }

    fn estimate_count(&self) -> Result<usize, IndexError> {
        self.index.estimate_count()
    }

    fn commit(&self) -> Result<(), IndexError> {
        self.index.commit()
    }

    fn maintain(&self) -> Result<bool, IndexError> {
        self.index.maintain()
    }

    fn unload_unused(&self, unused_for: Duration) -> Result<bool, IndexError> {
        self.index.unload_unused(unused_for)
    }

    fn find_missing(&self, passages: &[Uuid]) -> Result<Vec<Uuid>, IndexError> {
        self.index.find_missing(passages)
    }

    fn list_passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, IndexError> {
        self.index.list_passages(from, limit)
    }

    fn read_points(&self, from: Option<Uuid>, limit: usize) -> Result<PointPage, IndexError> {
        self.index.read_points(from, limit)
    }

    fn count_of(&self, tenant: &Tenant) -> Result<usize, IndexError> {
        self.index.count_of(tenant)
    }

    fn delete_passages(&self, passages: &[Uuid]) -> Result<(), IndexError> {
        self.index.delete_passages(passages)
    }

    fn is_in_place(&self) -> bool {
        self.index.is_in_place()
    }

    fn abandon(&self) {
        self.index.abandon();
    }

    fn resume(&self) -> bool {
        self.index.resume()
    }

    fn remote_deadline(&self) -> Option<Duration> {
        self.index.remote_deadline()
    }
}

#[actix_web::test]
async fn index_that_fails_searches_of_one_user_is_filled_again() {
    let server = Server::start().await;
    let (owner, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (key, other_key) = (owner.full_key().await, other.full_key().await);
    let (heron, kingfisher) = (save(&key, "heron").await, save(&other_key, "kingfisher").await);
    FaultyIndex::install(&server, Some(Tenant::of(owner.id().0)), None).await;

    for failed in 0..3 {
        // What succeeds in between does not show that the index is whole.
        assert!(is_found(&other_key, "kingfisher", &kingfisher).await);
        let index = read_index_state(&server.anonymous()).await;
        assert_eq!((&index["state"], &index["ok"]), (&json!("complete"), &json!(true)), "{failed}");
        let answer = key.get("/rest/v2/search?q=heron").await;
        assert_eq!((answer.error_code(503), answer.header_number("retry-after")), ("OVERLOADED", 5));
        server.clock.advance(Duration::from_secs(3600));
    }

    eventually_search_succeeds(&key, &heron).await;
    wait_until_complete(&server.anonymous(), 2).await;
    assert!(is_found(&other_key, "kingfisher", &kingfisher).await);
    assert_eq!(list_set_aside(&server.context().core.data_dir).len(), 1);
}

#[actix_web::test]
async fn index_that_met_damage_is_not_left_as_whole() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    save(&key, "heron").await;
    let marker = IndexFolder::path_in(&server.context().core.data_dir).join(MARKER_FILE);
    assert!(marker.exists());
    FaultyIndex::install(&server, Some(Tenant::of(owner.id().0)), None).await;
    key.get("/rest/v2/search?q=heron").await.error_code(503);
    assert_eq!(read_index_state(&server.anonymous()).await["failedRequests"], 1);

    drop(owner);
    server.stop().await;

    assert!(!marker.exists(), "the next start would take the damaged files for whole");
}

async fn index_job(server: &Server, saved: &Value) -> Option<job::Model> {
    let document: Uuid = saved["documentId"].as_str().unwrap().parse().unwrap();
    let jobs = job::Entity::find().filter(job::Column::Subject.eq(document));
    jobs.filter(job::Column::Kind.eq("index")).one(server.context().core.db.read()).await.unwrap()
}

/// Saves a text, and has its index job tried so often while writes fail. It waits after each try, and is due again when this returns.
async fn try_to_index(server: &Server, key: &Key, faulty: &FaultyIndex, tries: i32) -> Value {
    let text = "The heron stands still in the water.";
    let saved = key.save_text("https://example.org/heron", text).await;
    for tried in 1..=tries {
        let job = eventually("the job waits after a failed write", async || {
            let has_failed = faulty.failed_writes.load(Ordering::SeqCst) >= tried;
            let is_waiting =
                |job: &job::Model| job.state == JobState::Queued && job.run_at > server.clock.now();
            index_job(server, &saved).await.filter(|job| has_failed && is_waiting(job))
        })
        .await;
        assert_eq!(job.attempts, 0);
        if tried < tries {
            server.clock.advance(Duration::from_secs(3600));
        }
    }
    saved
}

#[actix_web::test]
async fn document_is_found_after_a_lasting_write_fault_of_the_index() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let faulty = FaultyIndex::install(&server, None, Some(EngineFault::DiskFailure)).await;

    let saved = try_to_index(&server, &key, &faulty, MAX_ATTEMPTS + 2).await;
    faulty.end_write_fault();
    server.clock.advance(Duration::from_secs(3600));

    key.wait_for(&saved, "ready").await;
    assert!(is_found(&key, "heron", &saved).await);
    assert!(
        list_set_aside(&server.context().core.data_dir).is_empty(),
        "a disk that fails is no damage of the index"
    );
}

#[actix_web::test]
async fn damage_met_by_writes_has_the_index_filled_again() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let faulty = FaultyIndex::install(&server, None, Some(EngineFault::Damage)).await;

    let saved = try_to_index(&server, &key, &faulty, 3).await;
    eventually("another index is open", async || {
        (!server.context().retrieval.engine().has_damage_failures()).then_some(())
    })
    .await;
    server.clock.advance(Duration::from_secs(3600));

    key.wait_for(&saved, "ready").await;
    assert!(is_found(&key, "heron", &saved).await);
    assert_eq!(list_set_aside(&server.context().core.data_dir).len(), 1);
}

#[actix_web::test]
async fn document_that_every_index_fails_is_given_up_after_a_rebuild() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let faulty = FaultyIndex::install(&server, None, Some(EngineFault::Damage)).await;
    let saved = try_to_index(&server, &key, &faulty, 3).await;
    eventually("another index is open", async || {
        (!server.context().retrieval.engine().has_damage_failures()).then_some(())
    })
    .await;
    let set_aside = list_set_aside(&server.context().core.data_dir);
    assert_eq!(set_aside.len(), 1);

    FaultyIndex::install(&server, None, Some(EngineFault::Damage)).await;
    for attempt in 1..=MAX_ATTEMPTS {
        // Another index could be moved aside each day.
        server.clock.advance(Duration::from_secs(24 * 3600));
        eventually("the attempt has failed", async || {
            let job = index_job(&server, &saved).await?;
            (job.attempts == attempt && job.state != JobState::Running).then_some(())
        })
        .await;
    }
    repair::check_index(&server.service().repair).await.unwrap();

    assert_eq!(index_job(&server, &saved).await.unwrap().state, JobState::GivenUp);
    assert_eq!(server.context().retrieval.engine().damage_failures(), 0);
    assert_eq!(list_set_aside(&server.context().core.data_dir), set_aside);
}

/// The birds of the texts that [`save_together`] saves.
const BIRDS: [&str; 4] = ["heron", "kingfisher", "curlew", "avocet"];
/// Settings of a server with fewer slots than there are [`BIRDS`]: jobs share a slot only if there is none for each.
const FEW_SLOTS: [(&str, &str); 1] = [("INGEST__WORKERS", "2")];

/// Saves texts while no job runs, so that their jobs are claimed together, and returns the bookmarks. The worker starts again after
/// `prepare`, which receives them.
async fn save_together(server: &Server, key: &Key, prepare: impl FnOnce(&[Value])) -> Vec<Value> {
    server.service().stop_worker().await;
    let mut saved = Vec::new();
    for bird in BIRDS {
        let text = format!("The {bird} stands still in the water for an hour.");
        saved.push(key.save_text(&format!("https://example.org/{bird}"), &text).await);
    }
    prepare(&saved);
    let jobs = job::Entity::find().filter(job::Column::Kind.eq("index"));
    let jobs = jobs.all(server.context().core.db.read()).await.unwrap();
    let states: Vec<JobState> = jobs.iter().map(|job| job.state).collect();
    assert_eq!(states, [JobState::Queued; BIRDS.len()]);
    server.restart_worker().await;
    saved
}

#[actix_web::test]
async fn refused_document_of_a_batch_fails_alone() {
    let server = Server::start_with(&FEW_SLOTS).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let faulty = FaultyIndex::install(&server, None, None).await;

    let saved = save_together(&server, &key, |saved| {
        faulty.refuse_document(Some(saved[1]["documentId"].as_str().unwrap().parse().unwrap()));
    })
    .await;

    for (bookmark, bird) in [(&saved[0], "heron"), (&saved[2], "curlew"), (&saved[3], "avocet")] {
        key.wait_for(bookmark, "ready").await;
        assert!(is_found(&key, bird, bookmark).await, "{bird}");
    }
    let failed = eventually("the refused document has failed", async || {
        index_job(&server, &saved[1]).await.filter(|job| job.state == JobState::Queued && job.error.is_some())
    })
    .await;
    assert_eq!(failed.attempts, 1);
    // The batch, and then each of its documents alone.
    assert_eq!(faulty.documents_of_writes(), [BIRDS.len(), 1, 1, 1, 1]);
    // The database has what the index refused.
    assert_eq!(key.search("kingfisher").await, [saved[1]["documentId"].as_str().unwrap()]);

    faulty.refuse_document(None);
    server.clock.advance(Duration::from_secs(3600));
    key.wait_for(&saved[1], "ready").await;
    assert!(is_found(&key, "kingfisher", &saved[1]).await);
}

#[actix_web::test]
async fn batch_waits_for_the_end_of_a_storage_fault() {
    let server = Server::start_with(&FEW_SLOTS).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let faulty = FaultyIndex::install(&server, None, Some(EngineFault::DiskFailure)).await;

    let saved = save_together(&server, &key, |_| {}).await;
    for bookmark in &saved {
        let waiting = eventually("the job waits for the storage", async || {
            let is_waiting =
                |job: &job::Model| job.state == JobState::Queued && job.run_at > server.clock.now();
            index_job(&server, bookmark).await.filter(is_waiting)
        })
        .await;
        assert_eq!(waiting.attempts, 0);
    }
    // The batch, and two of its documents alone: the others would have met the same.
    assert_eq!(faulty.documents_of_writes(), [BIRDS.len(), 1, 1]);

    faulty.end_write_fault();
    server.clock.advance(Duration::from_secs(3600));
    for (bookmark, bird) in saved.iter().zip(BIRDS) {
        key.wait_for(bookmark, "ready").await;
        assert!(is_found(&key, bird, bookmark).await, "{bird}");
    }
    assert_eq!(faulty.documents_of_writes(), [BIRDS.len(), 1, 1, BIRDS.len()], "no attempt was used");
}

#[actix_web::test]
async fn second_service_that_began_without_an_index_opens_one() {
    let server = Server::start().await;
    let core = &server.context().core;
    let folder = core.data_dir.join("second");
    fs::create_dir(&folder).unwrap();
    let db = Db::open(&server.database_url()).await.unwrap();
    let (arbiter, clock, workers) = (Arbiter::current(), server.clock.clone(), core.workers.clone());
    let words = VocabularyFiles::new(&folder, DiskSpace::default());
    let (rows, pause) = (db.clone(), Pause::default());
    let retrieval = Retrieval::start(&arbiter, rows, clock.clone(), workers, None, pause, words);
    let folder = IndexFolder::new(&folder, VectorModels::default(), clock.now());
    let initial = InitialIndex { store: IndexStore::Folder(folder), recorded: None, opened: None };
    let watch = IndexWatch::begin(&db, &retrieval, initial, &*clock).await.unwrap();
    assert!(!watch.is_maintainer());
    assert_eq!(retrieval.engine().completeness(), Completeness::Unavailable);
    let second = RepairContext {
        core: CoreContext { db, ..core.clone() },
        retrieval: retrieval.clone(),
        index_watch: Arc::new(watch),
        ..server.service().repair.clone()
    };

    repair::check_index(&second).await.unwrap();

    assert!(retrieval.engine().has_index());
    assert_eq!(retrieval.engine().completeness(), Completeness::MaintainedElsewhere);
    assert!(!second.index_watch.is_maintainer());
}

#[actix_web::test]
async fn index_that_fails_to_load_is_replaced_soon_after_another() {
    let server = Server::start().await;
    let (key, anonymous) = (server.user(Plan::Pro).await.full_key().await, server.anonymous());
    let (data_dir, retrieval) = (&server.context().core.data_dir, &server.context().retrieval);
    let heron = save(&key, "heron").await;
    retrieval.engine().replace_index(Arc::new(FailingIndex(damage_error)));
    eventually_search_succeeds(&key, &heron).await;
    wait_until_complete(&anonymous, 1).await;
    let first = list_set_aside(data_dir);
    assert_eq!(first.len(), 1);

    retrieval.engine().replace_index(Arc::new(FailingIndex(|| IndexError::LoadFailed(EngineFault::Damage))));
    for _ in 0..3 {
        assert_eq!(key.get("/rest/v2/search?q=heron").await.error_code(503), "OVERLOADED");
    }
    eventually("the service is ready without its index", async || {
        let index = read_index_state(&anonymous).await;
        (index["ok"] == false && index["passages"].is_null()).then_some(())
    })
    .await;
    // It may fail because the index does not answer.
    let _ = repair::check_index(&server.service().repair).await;
    assert_eq!(list_set_aside(data_dir), first, "an index was moved aside a moment ago");

    server.clock.advance(Duration::from_secs(5 * 60));
    eventually_search_succeeds(&key, &heron).await;
    wait_until_complete(&anonymous, 1).await;
    let second = list_set_aside(data_dir);
    assert!(second.len() == 1 && second != first, "{second:?}");
}

/// Records that the index lost a document, without a job that restores it.
async fn lose_document(server: &Server, saved: &Value) {
    let document: Uuid = saved["documentId"].as_str().unwrap().parse().unwrap();
    let lost = document::Entity::update_many()
        .col_expr(document::Column::IndexedVersion, Expr::value(0))
        .col_expr(document::Column::IndexLostAt, Expr::value(Some(server.clock.now())))
        .filter(document::Column::Id.eq(DocumentId(document)));
    assert_eq!(lost.exec(server.context().core.db.write()).await.unwrap().rows_affected, 1);
}

#[actix_web::test]
async fn lost_document_whose_job_was_given_up_is_not_enqueued() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let (heron, kingfisher) = (save(&key, "heron").await, save(&key, "kingfisher").await);
    let done = eventually("the job of the document has ended", async || {
        index_job(&server, &heron).await.filter(|job| job.state == JobState::Done)
    })
    .await;
    let dead = job::Model { state: JobState::GivenUp, ..done };
    let given_up = job::Entity::update_many().col_expr(job::Column::State, Expr::value(JobState::GivenUp));
    let given_up = given_up.filter(job::Column::Id.eq(dead.id)).exec(server.context().core.db.write()).await;
    assert_eq!(given_up.unwrap().rows_affected, 1);
    lose_document(&server, &heron).await;
    lose_document(&server, &kingfisher).await;

    let rebuilding = Completeness::Rebuilding { documents_left: 2, documents_total: 2 };
    server.context().retrieval.engine().set_completeness(rebuilding);
    repair::check_index(&server.service().repair).await.unwrap();
    server.clock.advance(Duration::from_secs(61));
    repair::check_index(&server.service().repair).await.unwrap();

    // Both would be enqueued at the same time.
    eventually("the other document is restored", async || {
        let lost = document::Entity::lost_by_index().all(server.context().core.db.read()).await.unwrap();
        (lost.len() == 1).then_some(())
    })
    .await;
    let of_heron = job::Entity::find().filter(job::Column::Subject.eq(dead.subject));
    let of_heron = of_heron.filter(job::Column::Kind.eq("index")).all(server.context().core.db.read()).await;
    assert_eq!(of_heron.unwrap(), [dead]);
}
