//! Where the service listens: every surface on one address, and the metrics on their own where that is set.

use std::net::{SocketAddr, TcpListener};
use std::sync::OnceLock;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::web::Data;
use actix_web::{App as Web, HttpServer, middleware};
use actors::context::OperationContext;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio_util::sync::CancellationToken;

use super::wire::{self, Wire};
use super::{StartError, unserved};
use crate::http::body::BodyLimits;
use crate::http::health::{self, Readiness};
use crate::http::peer::TrustedProxies;
use crate::mcp::AllowedOrigins;
use crate::settings::Settings;
use crate::{app, http, mcp, oauth, openapi, rest, start_page};

/// Headers that take longer are given up.
pub(super) const SLOW_HEADERS: Duration = Duration::from_secs(5);
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// The servers that listen.
pub struct Listening {
    /// The main one, and that of the metrics where it has an address of its own.
    pub servers: Vec<ServerHandle>,
    /// Once it is cancelled, each connection of the main server is closed after its answer.
    pub drain: CancellationToken,
}

/// Begins to listen.
pub fn listen(
    settings: &Settings,
    listener: TcpListener,
    ctx: &OperationContext,
    readiness: &Readiness,
) -> Result<Listening, StartError> {
    let recorder = recorder()?;
    let apart = settings.server.metrics_listen;
    let drain = CancellationToken::new();
    let wire = Wire::new(&settings.server, drain.clone());
    let (served, ready) = (ctx.clone(), readiness.clone());
    let main = main_server(settings, listener, wire, served, ready, recorder.clone(), apart.is_none())?;
    let mut servers = vec![main.handle()];
    actix_web::rt::spawn(main);
    if let Some(address) = apart {
        let metrics = metrics_server(address, ctx.clone(), recorder)?;
        servers.push(metrics.handle());
        actix_web::rt::spawn(metrics);
    }
    Ok(Listening { servers, drain })
}

fn main_server(
    settings: &Settings,
    listener: TcpListener,
    wire: Wire,
    ctx: OperationContext,
    readiness: Readiness,
    recorder: PrometheusHandle,
    with_metrics: bool,
) -> std::io::Result<Server> {
    let (ctx, readiness) = (Data::new(ctx), Data::new(readiness));
    let body_limits = Data::new(BodyLimits::new(settings.server.max_body_bytes, settings.server.body_grace));
    let proxies = Data::new(TrustedProxies(settings.server.trusted_proxies.clone()));
    let origins = settings.mcp.allowed_origins.iter().map(|origin| origin.as_str().to_owned());
    let origins = Data::new(AllowedOrigins(origins.collect()));
    let turns = Data::new(wire.answer_turns().clone());
    let recorder = Data::new(recorder);
    let counted = Data::new(health::Counted::default());
    wire::server(listener, wire, move || {
        Web::new()
            .app_data(ctx.clone())
            .app_data(counted.clone())
            .app_data(readiness.clone())
            .app_data(body_limits.clone())
            .app_data(turns.clone())
            .app_data(proxies.clone())
            .app_data(origins.clone())
            .app_data(recorder.clone())
            .wrap(middleware::from_fn(unserved::refuse))
            .wrap(middleware::from_fn(http::host::refuse_unknown))
            .wrap(middleware::from_fn(http::head::as_get))
            // Within the log, which counts its time too, and within `track`, which counts the bytes that it leaves.
            .wrap(middleware::from_fn(http::compression::compress))
            .wrap(middleware::from_fn(http::log::request))
            .wrap(never_framed())
            .wrap(middleware::from_fn(wire::track))
            .configure(health::mount)
            .configure(start_page::mount)
            .configure(openapi::mount)
            .configure(|config| {
                if with_metrics {
                    health::mount_metrics(config);
                }
            })
            .configure(http::files::mount)
            .configure(http::push::mount)
            .configure(rest::mount)
            .configure(app::mount)
            .configure(oauth::mount)
            .configure(mcp::mount)
    })
}

/// Nothing of ours is shown within another site's page, and nothing is taken for another type than it says.
fn never_framed() -> middleware::DefaultHeaders {
    middleware::DefaultHeaders::new()
        .add(("X-Frame-Options", "DENY"))
        .add(("X-Content-Type-Options", "nosniff"))
}

fn metrics_server(address: SocketAddr, ctx: OperationContext, recorder: PrometheusHandle) -> std::io::Result<Server> {
    let (ctx, recorder) = (Data::new(ctx), Data::new(recorder));
    let counted = Data::new(health::Counted::default());
    let server = HttpServer::new(move || {
        Web::new()
            .app_data(ctx.clone())
            .app_data(recorder.clone())
            .app_data(counted.clone())
            .configure(health::mount_metrics)
    });
    Ok(server.disable_signals().workers(1).bind(address)?.run())
}

/// The recorder of metrics: one for the whole process, whichever service of it began.
pub fn recorder() -> Result<PrometheusHandle, StartError> {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(there) = RECORDER.get() {
        return Ok(there.clone());
    }
    let made = PrometheusBuilder::new().install_recorder()?;
    Ok(RECORDER.get_or_init(|| made).clone())
}

/// Folds the samples of histograms: without it they pile up until somebody reads the metrics.
pub async fn keep_metrics_small(recorder: PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_EVERY).await;
        recorder.run_upkeep();
    }
}
