//! The listeners of the server: every surface on one address, and the metrics on a separate one if that is set.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::web::Data;
use actix_web::{App as Web, HttpServer, middleware};
use actors::service::Service;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio_util::sync::CancellationToken;

use super::preconditions::bind;
use super::start_error::StartError;
use super::unserved;
use super::wire::{self, Connections, Wire};
use crate::http::body::BodyLimits;
use crate::http::health::{self, Readiness};
use crate::http::metrics::{self, JobCounts};
use crate::http::peer::TrustedProxies;
use crate::mcp::AllowedOrigins;
use crate::settings::{FilesUrl, Settings};
use crate::web::{self as pages, WebState};
use crate::{app, http, mcp, oauth, openapi, rest};

/// Samples of histograms are folded this often.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The HTTP servers of the main address and of the metrics, as they are stopped.
pub struct Listeners {
    /// The main server, and the server of the metrics if it has a separate address.
    pub servers: Vec<ServerHandle>,
    /// Once this is cancelled, each connection of the main server is closed after its response.
    pub drain: CancellationToken,
}

/// Starts the servers. The main one counts its connections with others of the process.
///
/// # Errors
/// [`StartError`] when an address is in use, or the recorder of metrics cannot be installed.
pub fn listen(
    settings: &Settings,
    listener: TcpListener,
    connections: Arc<Connections>,
    service: &Service,
    readiness: &Readiness,
) -> Result<Listeners, StartError> {
    let recorder = recorder()?;
    let metrics_address = settings.server.metrics_listen;
    let drain = CancellationToken::new();
    let wire = Wire::new(&settings.server, connections, drain.clone());
    let has_metrics = metrics_address.is_none();
    let main = main_server(
        settings,
        listener,
        wire,
        service.clone(),
        readiness.clone(),
        recorder.clone(),
        has_metrics,
    )?;
    let mut servers = vec![main.handle()];
    actix_web::rt::spawn(main);
    if let Some(address) = metrics_address {
        let metrics = metrics_server(address, service.clone(), recorder)?;
        servers.push(metrics.handle());
        actix_web::rt::spawn(metrics);
    }
    Ok(Listeners { servers, drain })
}

fn main_server(
    settings: &Settings,
    listener: TcpListener,
    wire: Wire,
    service: Service,
    readiness: Readiness,
    recorder: PrometheusHandle,
    has_metrics: bool,
) -> std::io::Result<Server> {
    let (ctx, service) = (Data::new(service.context.clone()), Data::new(service));
    let readiness = Data::new(readiness);
    let body_limits = Data::new(BodyLimits::new(settings.server.max_body_bytes, settings.server.body_grace));
    let proxies = Data::new(TrustedProxies(settings.server.trusted_proxies.clone()));
    let origins = settings.mcp.allowed_origins.iter().map(|origin| origin.as_str().to_owned());
    let origins = Data::new(AllowedOrigins::new(&ctx.core.base_url, origins));
    let response_slots = Data::new(wire.response_slots().clone());
    let recorder = Data::new(recorder);
    let job_counts = Data::new(JobCounts::default());
    let web_state = Data::new(WebState::new(store_origin(settings).as_deref()));
    wire::server(listener, wire, move || {
        Web::new()
            .app_data(ctx.clone())
            .app_data(service.clone())
            .app_data(job_counts.clone())
            .app_data(readiness.clone())
            .app_data(body_limits.clone())
            .app_data(response_slots.clone())
            .app_data(proxies.clone())
            .app_data(origins.clone())
            .app_data(recorder.clone())
            .app_data(web_state.clone())
            // The last `wrap` is the outermost: a request passes these from the bottom up.
            .wrap(middleware::from_fn(unserved::refuse))
            .wrap(middleware::from_fn(http::host::refuse_unknown))
            // Within the log, which records HEAD as such.
            .wrap(middleware::from_fn(http::head::as_get))
            // Within the log, which counts its time too, and within `track`, which counts the bytes that it leaves.
            .wrap(middleware::from_fn(http::compression::compress))
            .wrap(middleware::from_fn(http::log::request))
            .wrap(protective_headers())
            // Outermost, because it counts the bytes of the final body.
            .wrap(middleware::from_fn(wire::track))
            .configure(health::mount)
            .configure(openapi::mount)
            .configure(|config| {
                if has_metrics {
                    metrics::mount(config);
                }
            })
            .configure(http::files::mount)
            .configure(http::push::mount)
            .configure(rest::mount)
            .configure(app::mount)
            .configure(oauth::mount)
            .configure(mcp::mount)
            .configure(pages::mount)
            .default_service(actix_web::web::to(pages::page::errors::not_found))
    })
}

/// Returns the origin to which browsers send uploads, if files are in a bucket: the signed URLs name the bucket in their path.
fn store_origin(settings: &Settings) -> Option<String> {
    let FilesUrl::S3(_) = settings.files_url() else { return None };
    let region = settings.files.region.as_deref().unwrap_or("us-east-1");
    let endpoint = settings.files.endpoint.as_ref().map(|endpoint| endpoint.as_str().to_owned());
    let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
    url::Url::parse(&endpoint).ok().map(|url| url.origin().ascii_serialization())
}

/// Headers of every response: no page is shown in a frame of another site, and no response is interpreted
/// as another type than its own.
fn protective_headers() -> middleware::DefaultHeaders {
    middleware::DefaultHeaders::new()
        // Besides `frame-ancestors` of the pages: it also covers JSON and errors, and browsers that do not know the policy.
        .add(("X-Frame-Options", "DENY"))
        .add(("X-Content-Type-Options", "nosniff"))
}

fn metrics_server(
    address: SocketAddr,
    service: Service,
    recorder: PrometheusHandle,
) -> Result<Server, StartError> {
    let (service, recorder) = (Data::new(service), Data::new(recorder));
    let job_counts = Data::new(JobCounts::default());
    let server = HttpServer::new(move || {
        Web::new()
            .app_data(service.clone())
            .app_data(recorder.clone())
            .app_data(job_counts.clone())
            .configure(metrics::mount)
    });
    // The server handles signals itself: it stops its parts in an order.
    let server = server.disable_signals().shutdown_timeout(wire::SHUTDOWN_SECONDS).workers(1);
    Ok(server.listen(bind("server.metrics_listen", address)?)?.run())
}

/// Returns the recorder of metrics, which all servers of the process share.
///
/// # Errors
/// [`StartError`] when another recorder is installed.
pub fn recorder() -> Result<PrometheusHandle, StartError> {
    // A process can install one recorder, and tests start several servers in one process.
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(installed) = RECORDER.get() {
        return Ok(installed.clone());
    }
    let installed = PrometheusBuilder::new().install_recorder()?;
    Ok(RECORDER.get_or_init(|| installed).clone())
}

/// Folds the samples of histograms, which otherwise accumulate until the metrics are read. Runs until it is aborted.
pub async fn fold_metrics(recorder: PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        recorder.run_upkeep();
    }
}
