//! Whether the service is alive, ready, and how it does (contract.md, section 10).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpResponse, Responder, web};
use actors::app::App;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;

/// Whether the service takes requests: not while it starts or drains.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// From now on ready, or not.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::SeqCst);
    }

    /// Whether it is.
    pub fn is(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Mounts /healthz and /readyz.
pub fn mount(config: &mut ServiceConfig) {
    config.route("/healthz", web::get().to(alive)).route("/readyz", web::get().to(ready));
}

/// Mounts /metrics.
pub fn mount_metrics(config: &mut ServiceConfig) {
    config.route("/metrics", web::get().to(metrics));
}

async fn alive() -> impl Responder {
    HttpResponse::Ok().content_type("text/plain").body("alive\n")
}

async fn ready(app: Data<App>, readiness: Data<Readiness>) -> impl Responder {
    let actors = app.health();
    let database = app.reaches_database().await;
    let index = app.retrieval.count().await;
    let up = readiness.is() && database && index.is_ok() && actors.iter().all(|actor| actor.up);
    let body = json!({
        "ready": up,
        "database": database,
        "index": { "ok": index.is_ok(), "passages": index.ok() },
        "model": app.retrieval.model(),
        "search": if app.retrieval.model().is_some() { "hybrid" } else { "lexical: the embedding model is not there yet" },
        "speech": app.speech.transcriber().map(|transcriber| transcriber.model().to_owned()),
        "actors": actors,
    });
    if up { HttpResponse::Ok().json(body) } else { HttpResponse::ServiceUnavailable().json(body) }
}

async fn metrics(app: Data<App>, recorder: Data<PrometheusHandle>) -> impl Responder {
    for actor in app.health() {
        metrics::gauge!("carrel_actor_up", "actor" => actor.name).set(if actor.up { 1.0 } else { 0.0 });
        metrics::counter!("carrel_actor_restarts_total", "actor" => actor.name).absolute(actor.restarts);
        metrics::counter!("carrel_actor_refused_total", "actor" => actor.name).absolute(actor.refused);
    }
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(recorder.render())
}
