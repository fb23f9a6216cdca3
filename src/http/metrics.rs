//! The metrics of the server, in the text format of Prometheus (contract.md, section 10).

use std::time::{Duration, Instant};

use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpResponse, Responder, web};
use actors::service::Service;
use database::StatementRoute;
use jobs::{Depth, Track};
use library::context::CoreContext;
use library::documents::count_unindexed;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Mutex;
use values::time::Timestamp;

use crate::log;

/// Jobs are counted again after this time at the earliest.
const MIN_JOB_COUNT_INTERVAL: Duration = Duration::from_secs(5);
/// Jobs are counted again after this time at the latest.
const MAX_JOB_COUNT_INTERVAL: Duration = Duration::from_secs(60);
/// Jobs are counted again after this many times the time that the last count took. A count reads an entry of an index for each pending
/// job, so with many of them it takes a hundredth of the time of one reader. Counts that every change of a job kept up to date would
/// cost each job several writes, and on PostgreSQL all jobs of a track would wait for one row.
const JOB_COUNT_PAUSE: u32 = 100;

/// The last count of the jobs, and of the documents that the index lacks a change of. Every client may ask, and each count reads rows.
#[derive(Debug, Default)]
pub struct JobCounts(Mutex<LastCount>);

#[derive(Debug, Default)]
struct LastCount {
    /// The time before which jobs are not counted again; `None` before the first count.
    shown_until: Option<Instant>,
    /// Since when the earliest job of each track is due.
    due_since: Vec<(Track, Option<Timestamp>)>,
}

/// Returns how long the counts of jobs are shown, if the last count took this long.
fn job_count_interval(count: Duration) -> Duration {
    count.saturating_mul(JOB_COUNT_PAUSE).clamp(MIN_JOB_COUNT_INTERVAL, MAX_JOB_COUNT_INTERVAL)
}

impl JobCounts {
    async fn refresh(&self, core: &CoreContext) {
        // Held during the count, so that simultaneous scrapes cause one count.
        let mut last = self.0.lock().await;
        let begun = Instant::now();
        if last.shown_until.is_none_or(|until| until <= begun) {
            match jobs::depths(core.db.read()).await {
                Ok(depths) => last.show(depths),
                Err(error) => tracing::warn!(%error, "could not count the jobs"),
            }
            match count_unindexed(core.db.read()).await {
                Ok(documents) => metrics::gauge!("carrel_search_unindexed_documents").set(documents as f64),
                Err(error) => tracing::warn!(%error, "could not count the unindexed documents"),
            }
            // After a failure too: a database in trouble must not get a count for each scrape.
            let counted = Instant::now();
            last.shown_until = Some(counted + job_count_interval(counted.duration_since(begun)));
        }
        last.show_delays(core.clock.now());
    }
}

impl LastCount {
    fn show(&mut self, depths: Vec<Depth>) {
        self.due_since = depths.iter().map(|depth| (depth.track, depth.since)).collect();
        for Depth { track, waiting, running, .. } in depths {
            let track = track.name();
            metrics::gauge!("carrel_jobs", "track" => track, "state" => "waiting").set(waiting as f64);
            metrics::gauge!("carrel_jobs", "track" => track, "state" => "running").set(running as f64);
        }
    }

    /// Shows how late the jobs are now, also between two counts.
    fn show_delays(&self, now: Timestamp) {
        for (track, since) in &self.due_since {
            // The clock may have been set back since (row 22).
            let late = since.map_or(0, |since| (now.millis() - since.millis()).max(0) / 1000);
            metrics::gauge!("carrel_jobs_late_seconds", "track" => track.name()).set(late as f64);
        }
    }
}

/// Mounts /metrics, in the text format of Prometheus.
pub fn mount(config: &mut ServiceConfig) {
    config.route("/metrics", web::get().to(render));
}

async fn render(
    service: Data<Service>,
    recorder: Data<PrometheusHandle>,
    job_counts: Data<JobCounts>,
) -> impl Responder {
    job_counts.refresh(&service.context.core).await;
    // The supervisor counts by itself, so the counters are set, not increased.
    for actor in service.health() {
        metrics::gauge!("carrel_actor_up", "actor" => actor.name).set(if actor.up { 1.0 } else { 0.0 });
        metrics::counter!("carrel_actor_restarts_total", "actor" => actor.name).absolute(actor.restarts);
        metrics::counter!("carrel_actor_refused_total", "actor" => actor.name).absolute(actor.refused);
    }
    for route in StatementRoute::ALL {
        let sent = service.context.core.db.statement_count(route);
        metrics::counter!("carrel_database_statements_total", "connection" => route.name()).absolute(sent);
    }
    let left = service.context.retrieval.engine().completeness().documents_left();
    metrics::gauge!("carrel_index_documents_left").set(left as f64);
    let outdated = service.context.retrieval.engine().outdated_documents();
    metrics::gauge!("carrel_embedding_documents_left").set(outdated as f64);
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
    fn jobs_are_counted_less_often_while_many_wait() {
        let seconds = Duration::from_secs;

        assert_eq!(job_count_interval(Duration::from_millis(1)), seconds(5));
        assert_eq!(job_count_interval(Duration::from_millis(300)), seconds(30));
        assert_eq!(job_count_interval(Duration::MAX), seconds(60));
    }
}
