//! Whether the server is alive and ready (contract.md, section 10).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpResponse, Responder, web};
use actors::retrieval::{Completeness, IndexProbe};
use actors::service::{Service, StorageErrorLog, StorageState};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{Mutex, watch};

/// The body of `/healthz`, by which `carrel doctor` recognizes the server.
pub const ALIVE: &str = "alive\n";

/// A check of database and index is valid for this long: every client may ask, however often, and each check costs a query.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Time between two test writes to the database.
const STORAGE_CHECK_INTERVAL: Duration = Duration::from_secs(3);
/// A test write that takes longer finds the writer busy. `/readyz` waits this long for the first one.
const MAX_STORAGE_WAIT: Duration = Duration::from_millis(500);
/// A writer that is busy with other work counts as well for this long after the last successful test write.
const MAX_WRITER_BUSY: Duration = Duration::from_secs(60);

/// The readiness of the server to take requests: not while it starts or drains. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    ready: Arc<AtomicBool>,
    /// The last check of database and index, and its time.
    last: Arc<Mutex<Option<(Instant, Dependencies)>>>,
    /// The last test write; `None` before the first one has ended.
    storage: Arc<watch::Sender<Option<StorageCheck>>>,
}

/// The last test write to the database.
#[derive(Clone, Copy, Debug)]
struct StorageCheck {
    at: Instant,
    state: StorageState,
    /// The time of the last test write that succeeded, or that found the disk full.
    answered_at: Instant,
    /// Whether the last test write that did not find the writer busy failed.
    has_failed: bool,
}

impl StorageCheck {
    fn after(last: Option<Self>, state: StorageState) -> Self {
        let at = Instant::now();
        let answered_at = match (state, last) {
            // The writer of a full disk is not busy.
            (StorageState::Ok | StorageState::Full, _) | (_, None) => at,
            (_, Some(last)) => last.answered_at,
        };
        let has_failed = match state {
            StorageState::Ok | StorageState::Full => false,
            // Says nothing about the storage.
            StorageState::Busy => last.is_some_and(|last| last.has_failed),
            StorageState::Damaged | StorageState::Removed | StorageState::Failed => true,
        };
        Self { at, state, answered_at, has_failed }
    }

    /// Returns whether requests should be sent to this server. A full disk stops writes only, and reads continue.
    fn is_ready(&self) -> bool {
        match self.state {
            StorageState::Ok | StorageState::Full => true,
            StorageState::Busy => {
                !self.has_failed && self.at.duration_since(self.answered_at) < MAX_WRITER_BUSY
            }
            StorageState::Damaged | StorageState::Removed | StorageState::Failed => false,
        }
    }
}

/// The state of what the server depends on.
#[derive(Clone, Copy, Debug)]
struct Dependencies {
    is_database_reachable: bool,
    storage: StorageCheck,
    /// The state of the index; `None` if it is loaded and does not respond.
    index: Option<IndexProbe>,
}

/// The state of the index in `/readyz`. A server whose index is incomplete, missing, or cannot be loaded again is
/// ready: it serves what it can. `carrel doctor` reads it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexHealth {
    /// Whether the index responds, or is being reloaded; `false` if there is none, if its server does not answer, or if it cannot be loaded
    /// again, because it is damaged or because its disk has no space for that.
    pub ok: bool,
    /// The number of its passages; `None` while it does not respond.
    pub passages: Option<u64>,
    /// Requests of the last day that it failed as only damage fails them, at most 16.
    #[serde(default)]
    pub failed_requests: u32,
    /// The change of the embedding model that is going on, if there is one.
    #[serde(default)]
    pub model_change: Option<ModelChange>,
    /// Whether it contains everything that it should.
    #[serde(flatten)]
    pub completeness: Completeness,
}

/// A change of the embedding model: the vectors of the next model are being added, and those of the former one are searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelChange {
    /// Name of the next model.
    pub model: String,
    /// Documents without its vectors, as of the last check.
    pub documents_left: u64,
}

impl Readiness {
    /// Sets whether the server takes requests.
    pub fn set(&self, ready: bool) {
        self.ready.store(ready, Ordering::SeqCst);
    }

    /// Returns whether the server takes requests; `false` until [`Self::set`] is called.
    pub fn is_set(&self) -> bool {
        self.ready.load(Ordering::SeqCst)
    }

    /// Makes a test write every few seconds, one after another, for [`Self::storage`]. Runs until it is aborted.
    pub async fn watch_storage(self, service: Service) {
        let mut error_log = StorageErrorLog::default();
        loop {
            let state = service.check_storage(&mut error_log).await;
            self.storage.send_modify(|last| *last = Some(StorageCheck::after(*last, state)));
            tokio::time::sleep(STORAGE_CHECK_INTERVAL).await;
        }
    }

    /// The last test write. While the next one takes long, the storage is reported as busy.
    async fn storage(&self) -> StorageCheck {
        let mut checks = self.storage.subscribe();
        let first = checks.wait_for(Option::is_some);
        let last = match tokio::time::timeout(MAX_STORAGE_WAIT, first).await {
            Ok(Ok(check)) => *check,
            Ok(Err(_)) | Err(_) => None,
        };
        let is_current =
            |check: &StorageCheck| check.at.elapsed() < STORAGE_CHECK_INTERVAL + MAX_STORAGE_WAIT;
        last.filter(is_current).unwrap_or_else(|| StorageCheck::after(last, StorageState::Busy))
    }

    /// Checks what the server depends on, one check at a time: requests that come meanwhile share its result.
    async fn check(&self, service: &Service) -> Dependencies {
        let mut last = self.last.lock().await;
        if let Some((_, dependencies)) = last.filter(|(at, _)| at.elapsed() < CHECK_INTERVAL) {
            return dependencies;
        }
        // The lock is held meanwhile, so that a flood of requests makes one check at a time.
        let is_database_reachable = service.is_database_reachable().await;
        let storage = self.storage().await;
        let index = service.context.retrieval.engine().probe().await.ok();
        let dependencies = Dependencies { is_database_reachable, storage, index };
        *last = Some((Instant::now(), dependencies));
        dependencies
    }
}

/// Mounts /healthz and /readyz, which need no key.
pub fn mount(config: &mut ServiceConfig) {
    config.configure(mount_alive).route("/readyz", web::get().to(ready));
}

/// Mounts /healthz alone, for a process that does not serve yet.
pub fn mount_alive(config: &mut ServiceConfig) {
    config.route("/healthz", web::get().to(alive));
}

async fn alive() -> impl Responder {
    HttpResponse::Ok().content_type("text/plain").body(ALIVE)
}

async fn ready(service: Data<Service>, readiness: Data<Readiness>) -> impl Responder {
    let actors = service.health();
    let Dependencies { is_database_reachable, storage, index: probed } = readiness.check(&service).await;
    let is_ready = readiness.is_set()
        && is_database_reachable
        && storage.is_ready()
        // A missing index is a valid state. Only one that is loaded and does not respond makes the server unready.
        && probed.is_some()
        && actors.iter().all(|actor| actor.up);
    let ctx = &service.context;
    let names = ctx.retrieval.engine().model_names();
    let documents_left = ctx.retrieval.engine().outdated_documents();
    let model_change = names.next.map(|model| ModelChange { model, documents_left });
    let embedder = ctx.retrieval.engine().embedder();
    let model = embedder.as_ref().map(|embedder| embedder.model().to_owned());
    let semantic = match embedder {
        None if model_change.is_some() => {
            "lexical: the former embedding model cannot be used, and the next one has not embedded everything"
        }
        None => "lexical: the embedding model is not installed",
        Some(embedder) if embedder.fault().is_some() => "lexical: the embedding endpoint cannot be used",
        Some(_) => "hybrid",
    };
    let has_index = ctx.retrieval.engine().has_index();
    let search = if probed == Some(IndexProbe::Unreachable) {
        unreachable_state(ctx.core.db.is_postgres())
    } else {
        search_state(has_index, probed, semantic)
    };
    let index = IndexHealth {
        ok: has_index && probed.is_some_and(is_responding),
        passages: passages_of(probed),
        failed_requests: ctx.retrieval.engine().damage_failures(),
        model_change,
        completeness: ctx.retrieval.engine().completeness(),
    };
    let body = json!({
        "ready": is_ready,
        "database": is_database_reachable,
        "storage": storage.state,
        "index": index,
        "model": model,
        "search": search,
        "speech": service.speech.transcriber().map(|transcriber| transcriber.model().to_owned()),
        "actors": actors,
    });
    if is_ready { HttpResponse::Ok().json(body) } else { HttpResponse::ServiceUnavailable().json(body) }
}

fn is_responding(probed: IndexProbe) -> bool {
    !matches!(probed, IndexProbe::LoadFailed(_) | IndexProbe::NoSpace | IndexProbe::Unreachable)
}

fn passages_of(probed: Option<IndexProbe>) -> Option<u64> {
    match probed? {
        IndexProbe::Available { passages } => Some(passages as u64),
        IndexProbe::Reloading
        | IndexProbe::LoadFailed(_)
        | IndexProbe::NoSpace
        | IndexProbe::Missing
        | IndexProbe::Unreachable => None,
    }
}

/// Returns what search can do; `semantic` is what it can do with an index that answers.
fn search_state(has_index: bool, probed: Option<IndexProbe>, semantic: &'static str) -> &'static str {
    if !has_index {
        return "unavailable: the disk of the index has no space for it";
    }
    match probed {
        Some(IndexProbe::LoadFailed(_)) => "unavailable: the index could not be loaded again",
        Some(IndexProbe::NoSpace) => "unavailable: the disk of the index has no space to load it",
        // A missing one was opened after the probe.
        Some(
            IndexProbe::Available { .. }
            | IndexProbe::Reloading
            | IndexProbe::Missing
            | IndexProbe::Unreachable,
        )
        | None => semantic,
    }
}

/// Returns the state of search while the server of the index does not answer: PostgreSQL then searches the texts itself.
fn unreachable_state(is_postgres: bool) -> &'static str {
    if is_postgres {
        "lexical: the Qdrant server does not answer"
    } else {
        "unavailable: the Qdrant server does not answer"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn test_write_that_hangs_is_reported_as_busy_and_not_waited_for() {
        let readiness = Readiness::default();
        let before = Instant::now() - STORAGE_CHECK_INTERVAL - 2 * MAX_STORAGE_WAIT;
        let last =
            StorageCheck { at: before, state: StorageState::Ok, answered_at: before, has_failed: false };
        readiness.storage.send_modify(|check| *check = Some(last));

        for _ in 0..100 {
            let storage = readiness.storage().await;
            assert!(storage.state == StorageState::Busy && storage.is_ready());
        }

        assert_eq!(readiness.storage.receiver_count(), 0, "a request left something waiting");
    }

    #[actix_web::test]
    async fn recent_test_write_is_reported_as_it_ended() {
        let readiness = Readiness::default();
        readiness.storage.send_modify(|check| *check = Some(StorageCheck::after(None, StorageState::Full)));

        assert_eq!(readiness.storage().await.state, StorageState::Full);
    }

    #[test]
    fn index_health_is_read_as_it_was_written() {
        for completeness in [
            Completeness::Complete,
            Completeness::Unavailable,
            Completeness::Rebuilding { documents_left: 1, documents_total: 3 },
        ] {
            let model_change = Some(ModelChange { model: "b".to_owned(), documents_left: 4 });
            let written =
                IndexHealth { ok: true, passages: Some(7), failed_requests: 2, model_change, completeness };

            let read: IndexHealth = serde_json::from_value(json!(written)).unwrap();

            assert_eq!(read, written);
        }
    }

    #[test]
    fn search_without_space_to_load_the_index_is_unavailable() {
        for semantic in ["hybrid", "lexical"] {
            let search = search_state(true, Some(IndexProbe::NoSpace), semantic);

            assert_eq!(search, "unavailable: the disk of the index has no space to load it");
        }
        assert_eq!(search_state(true, Some(IndexProbe::Available { passages: 7 }), "hybrid"), "hybrid");
    }

    #[test]
    fn busy_writer_is_ready_soon_after_the_disk_was_full() {
        let long_ago = Instant::now() - 2 * MAX_WRITER_BUSY;
        let last =
            StorageCheck { at: long_ago, state: StorageState::Ok, answered_at: long_ago, has_failed: false };
        assert!(!StorageCheck::after(Some(last), StorageState::Busy).is_ready());

        let full = StorageCheck::after(Some(last), StorageState::Full);

        assert!(full.is_ready() && StorageCheck::after(Some(full), StorageState::Busy).is_ready());
    }

    #[test]
    fn busy_writer_is_not_ready_after_a_failed_test_write() {
        let well = StorageCheck::after(None, StorageState::Ok);

        for failure in [StorageState::Failed, StorageState::Damaged, StorageState::Removed] {
            for before in [None, Some(well)] {
                let failed = StorageCheck::after(before, failure);
                let busy = StorageCheck::after(Some(failed), StorageState::Busy);
                let still_busy = StorageCheck::after(Some(busy), StorageState::Busy);
                assert!(!busy.is_ready() && !still_busy.is_ready(), "{failure:?}");

                let recovered = StorageCheck::after(Some(still_busy), StorageState::Ok);
                assert!(StorageCheck::after(Some(recovered), StorageState::Busy).is_ready());
            }
        }
    }
}
