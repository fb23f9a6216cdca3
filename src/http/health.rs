//! Whether the service is alive, ready, and how it does (contract.md, section 10).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpResponse, Responder, web};
use actors::context::{OperationContext, StorageState};
use jobs::Depth;
use actors::retrieval::Completeness;
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::log;

/// What was found is told again for so long: anybody may ask, however often, and each look costs a query.
const FRESH: Duration = Duration::from_millis(500);
/// A test write to the database stands for this long.
const STORAGE_CHECK_INTERVAL: Duration = Duration::from_secs(3);
/// `/readyz` waits this long for a test write.
const MAX_STORAGE_WAIT: Duration = Duration::from_millis(500);
/// A writer that is busy with other work counts as well for this long after the last test write that was kept.
const MAX_WRITER_BUSY: Duration = Duration::from_secs(60);
/// And so long what was counted.
const COUNT_STANDS: Duration = Duration::from_secs(5);

/// Whether the service takes requests: not while it starts or drains.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    ready: Arc<AtomicBool>,
    /// The last look at database and index, and when it was.
    last: Arc<Mutex<Option<(Instant, Found)>>>,
    /// Held while a test write is made.
    storage_check: Arc<Mutex<()>>,
    storage: Arc<std::sync::Mutex<Option<StorageCheck>>>,
}

/// The last test write to the database.
#[derive(Clone, Copy, Debug)]
struct StorageCheck {
    at: Instant,
    state: StorageState,
    /// When one was kept last, or found the disk full.
    kept_at: Instant,
}

impl StorageCheck {
    fn after(last: Option<Self>, state: StorageState) -> Self {
        let at = Instant::now();
        let kept_at = match (state, last) {
            // The writer of a full disk is not busy.
            (StorageState::Ok | StorageState::Full, _) | (_, None) => at,
            (_, Some(last)) => last.kept_at,
        };
        Self { at, state, kept_at }
    }

    /// Whether requests should come here. A full disk stops writes alone, and reads go on.
    fn is_ready(&self) -> bool {
        match self.state {
            StorageState::Ok | StorageState::Full => true,
            StorageState::Busy => self.at.duration_since(self.kept_at) < MAX_WRITER_BUSY,
            StorageState::Damaged | StorageState::Removed | StorageState::Failed => false,
        }
    }
}

/// When the jobs were counted last: anybody may ask, and each look counts rows.
#[derive(Debug, Default)]
pub struct Counted(Mutex<Option<Instant>>);

impl Counted {
    async fn refresh(&self, ctx: &OperationContext) {
        let mut last = self.0.lock().await;
        if last.is_some_and(|at| at.elapsed() < COUNT_STANDS) {
            return;
        }
        match jobs::depths(ctx.core.db.read()).await {
            Ok(depths) => depths.into_iter().for_each(|Depth { track, waiting, running, since }| {
                let late = since.map_or(0, |since| (ctx.core.clock.now().millis() - since.millis()).max(0) / 1000);
                metrics::gauge!("carrel_jobs_late_seconds", "track" => track).set(late as f64);
                metrics::gauge!("carrel_jobs", "track" => track, "state" => "waiting").set(waiting as f64);
                metrics::gauge!("carrel_jobs", "track" => track, "state" => "running").set(running as f64);
            }),
            Err(error) => tracing::warn!(%error, "could not count the jobs"),
        }
        *last = Some(Instant::now());
    }
}

/// What can be reached.
#[derive(Clone, Copy, Debug)]
struct Found {
    database: bool,
    storage: StorageCheck,
    /// The index answers, or is being loaded again: then search alone is refused.
    is_index_well: bool,
    /// How many passages the index has; none where it cannot be asked.
    passages: Option<u64>,
}

/// What is told of the index. A service whose index is incomplete is ready: it answers what it can.
#[derive(Serialize)]
struct IndexHealth {
    ok: bool,
    passages: Option<u64>,
    #[serde(flatten)]
    completeness: Completeness,
}

impl Readiness {
    /// From now on ready, or not.
    pub fn set(&self, ready: bool) {
        self.ready.store(ready, Ordering::SeqCst);
    }

    /// Whether it is.
    pub fn is(&self) -> bool {
        self.ready.load(Ordering::SeqCst)
    }

    /// The last test write, made again where it is old. A write that waits long for its turn at the writer is not waited for: it
    /// goes on, also when the caller gives up, and until then the storage is told as busy.
    async fn check_storage(&self, ctx: &OperationContext) -> StorageCheck {
        let (this, ctx) = (self.clone(), ctx.clone());
        let check = actix_web::rt::spawn(async move { this.renew_storage_check(&ctx).await });
        match tokio::time::timeout(MAX_STORAGE_WAIT, check).await {
            Ok(Ok(check)) => check,
            Ok(Err(_)) | Err(_) => StorageCheck::after(self.known_storage(), StorageState::Busy),
        }
    }

    async fn renew_storage_check(&self, ctx: &OperationContext) -> StorageCheck {
        let _one_at_a_time = self.storage_check.lock().await;
        let known = self.known_storage();
        if let Some(check) = known.filter(|check| check.at.elapsed() < STORAGE_CHECK_INTERVAL) {
            return check;
        }
        let check = StorageCheck::after(known, ctx.check_storage().await);
        *self.storage.lock().unwrap_or_else(PoisonError::into_inner) = Some(check);
        check
    }

    fn known_storage(&self) -> Option<StorageCheck> {
        *self.storage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One look at a time: who comes meanwhile is told what it finds.
    async fn look(&self, ctx: &OperationContext) -> Found {
        let mut last = self.last.lock().await;
        if let Some((_, found)) = last.filter(|(at, _)| at.elapsed() < FRESH) {
            return found;
        }
        let database = ctx.reaches_database().await;
        let storage = self.check_storage(ctx).await;
        let probed = ctx.retrieval.probe().await;
        let is_index_well = probed.is_ok();
        let passages = probed.ok().flatten().map(|count| count as u64);
        let found = Found { database, storage, is_index_well, passages };
        *last = Some((Instant::now(), found));
        found
    }
}

/// Mounts /healthz and /readyz.
pub fn mount(config: &mut ServiceConfig) {
    config.configure(mount_alive).route("/readyz", web::get().to(ready));
}

/// Mounts /healthz.
pub fn mount_alive(config: &mut ServiceConfig) {
    config.route("/healthz", web::get().to(alive));
}

/// Mounts /metrics.
pub fn mount_metrics(config: &mut ServiceConfig) {
    config.route("/metrics", web::get().to(metrics));
}

async fn alive() -> impl Responder {
    HttpResponse::Ok().content_type("text/plain").body("alive\n")
}

async fn ready(ctx: Data<OperationContext>, readiness: Data<Readiness>) -> impl Responder {
    let actors = ctx.health();
    let Found { database, storage, is_index_well, passages } = readiness.look(&ctx).await;
    let up = readiness.is()
        && database
        && storage.is_ready()
        && is_index_well
        && actors.iter().all(|actor| actor.up);
    let index = IndexHealth { ok: is_index_well, passages, completeness: ctx.retrieval.completeness() };
    let body = json!({
        "ready": up,
        "database": database,
        "storage": storage.state,
        "index": index,
        "model": ctx.retrieval.model(),
        "search": if ctx.retrieval.model().is_some() { "hybrid" } else { "lexical: the embedding model is not there yet" },
        "speech": ctx.ingest.speech.transcriber().map(|transcriber| transcriber.model().to_owned()),
        "actors": actors,
    });
    if up { HttpResponse::Ok().json(body) } else { HttpResponse::ServiceUnavailable().json(body) }
}

async fn metrics(ctx: Data<OperationContext>, recorder: Data<PrometheusHandle>, counted: Data<Counted>) -> impl Responder {
    counted.refresh(&ctx).await;
    for actor in ctx.health() {
        metrics::gauge!("carrel_actor_up", "actor" => actor.name).set(if actor.up { 1.0 } else { 0.0 });
        metrics::counter!("carrel_actor_restarts_total", "actor" => actor.name).absolute(actor.restarts);
        metrics::counter!("carrel_actor_refused_total", "actor" => actor.name).absolute(actor.refused);
    }
    let left = ctx.retrieval.completeness().documents_left();
    metrics::gauge!("carrel_index_documents_left").set(left as f64);
    let lost = log::lost_lines();
    for (reason, lines) in [("queue_full", lost.queue_full), ("write_failed", lost.write_failed)] {
        metrics::counter!("carrel_log_lost_lines_total", "reason" => reason).absolute(lines);
    }
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(recorder.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_writer_is_ready_soon_after_the_disk_was_full() {
        let long_ago = Instant::now() - 2 * MAX_WRITER_BUSY;
        let kept = StorageCheck { at: long_ago, state: StorageState::Ok, kept_at: long_ago };
        assert!(!StorageCheck::after(Some(kept), StorageState::Busy).is_ready());

        let full = StorageCheck::after(Some(kept), StorageState::Full);

        assert!(full.is_ready() && StorageCheck::after(Some(full), StorageState::Busy).is_ready());
    }
}
