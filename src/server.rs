//! Puts the service together, runs it, and takes it apart in the right order.
//!
//! Stopping: readiness off, then the server (requests in progress are answered), then ingest, retrieval, limits, keys,
//! grants, activity, notices, then the database.

use std::error::Error;
use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::dev::{Server, ServerHandle};
use actix_web::rt::task::JoinHandle;
use actix_web::web::Data;
use actix_web::{App as Web, HttpServer, middleware};
use actors::adapters::answerer::ChatSettings;
use actors::adapters::blobs::{Blobs, Bucket, BucketSettings, Folder, Scratch};
use actors::adapters::fetch::FetchSettings;
use actors::adapters::index::EdgeIndex;
use actors::adapters::index::edge::Model as IndexModel;
use actors::adapters::mail::{Mail, MailSettings, Way};
use actors::adapters::sandbox::{SandboxCommand, SandboxSettings};
use actors::adapters::transcriber::EndpointSettings;
use actors::app::{App, Setup, index_folder, scratch_folder};
use actors::clock::{Clock, SystemClock};
use actors::desk::Desk;
use actors::grants::GrantSettings;
use actors::grants::redirect::RedirectRules;
use actors::ingest::{Places, media};
use actors::models::{self, Catalogue, Model, Purpose, Store};
use actors::retrieval::arrival;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rustix::fs::Mode;
use tracing::{info, warn};

use crate::http::body::MaxBody;
use crate::http::health::{self, Readiness};
use crate::http::peer::TrustedProxies;
use crate::settings::{Access, FilesUrl, MailUrl, Oauth, Secret, Settings};
use crate::{app, http, mcp, oauth, openapi, rest};

/// Anything that keeps the service from starting.
pub type StartError = Box<dyn Error + Send + Sync>;

/// Requests in progress have so long to end.
const SHUTDOWN: u64 = 30;
/// Headers that take longer are given up.
const SLOW_HEADERS: Duration = Duration::from_secs(5);
/// A client that comes back within this finds its connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// Numbers that a vector of the local model has.
const VECTOR_LENGTH: usize = 384;

/// What the service starts or reaches outside its own process; tests put theirs in place.
pub struct Outside {
    /// How children that parse foreign bytes are started.
    pub sandbox: SandboxCommand,
}

impl Outside {
    /// As the program has it: its children are itself.
    ///
    /// # Errors
    /// The system does not say which program this is.
    pub fn usual() -> std::io::Result<Self> {
        Ok(Self { sandbox: SandboxCommand::this_program()? })
    }
}

/// A running service.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    app: App,
    readiness: Readiness,
    servers: Vec<ServerHandle>,
    background: Vec<JoinHandle<()>>,
    /// Held while the service runs: the folder is nobody else's.
    _lock: File,
}

/// Runs the service until a signal ends it. Blocks.
///
/// # Errors
/// What keeps it from starting: a setting, the database, the index, the address.
pub fn serve(settings: Settings) -> Result<(), StartError> {
    // Whatever the service writes is its owner's alone.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    actix_web::rt::System::new().block_on(async move {
        let began = Instant::now();
        let running = start(settings, Arc::new(SystemClock::new())).await?;
        info!(address = %running.address, ready_ms = began.elapsed().as_millis(), "ready");
        wait_for_signal().await?;
        running.stop().await;
        Ok(())
    })
}

/// Starts the service on the current system.
///
/// # Errors
/// As [`serve`].
pub async fn start(settings: Settings, clock: Arc<dyn Clock>) -> Result<Running, StartError> {
    start_with(settings, clock, Outside::usual()?).await
}

/// Starts the service with this outside.
///
/// # Errors
/// As [`serve`].
pub async fn start_with(
    settings: Settings,
    clock: Arc<dyn Clock>,
    outside: Outside,
) -> Result<Running, StartError> {
    for warning in settings.warnings() {
        warn!("{warning}");
    }
    settings.refuse_unbuilt()?;
    private_folder(&settings.data_dir)
        .map_err(|error| format!("data_dir = {}: {error}", settings.data_dir.display()))?;
    let lock = lock(&settings.data_dir)?;
    let wanted = settings.server.listen;
    let listener = TcpListener::bind(wanted).map_err(|error| format!("server.listen = {wanted}: {error}"))?;
    let address = listener.local_addr()?;
    let base_url = settings.base_url(address).as_str().to_owned();
    let database = settings.database_url();
    let data_dir = settings.data_dir.clone();
    let desk = Desk::open(database.expose(), data_dir, &base_url, settings.plans.clone(), clock).await?;
    let embedding = Catalogue::built_in().usual(Purpose::Embedding).cloned();
    let setup = setup(&settings, embedding.as_ref(), &base_url, outside)?;
    let app = App::start(desk, setup).await?;
    let readiness = Readiness::default();
    let servers = listen(&settings, listener, &app, &readiness)?;
    private_files(&settings.data_dir);
    let mut background = vec![actix_web::rt::spawn(keep_metrics_small(recorder()?))];
    background.extend(await_models(&settings, &app, embedding));
    readiness.set(true);
    Ok(Running { address, app, readiness, servers, background, _lock: lock })
}

impl Running {
    /// Stops it: what is in progress ends, what is gathered is written.
    pub async fn stop(self) {
        self.readiness.set(false);
        self.app.ingest.stop().await;
        futures_util::future::join_all(self.servers.iter().map(|server| server.stop(true))).await;
        for task in self.background {
            task.abort();
        }
        self.app.drain().await;
    }

    /// The service itself, for tests that look behind the wire.
    pub fn app(&self) -> &App {
        &self.app
    }
}

fn setup(
    settings: &Settings,
    embedding: Option<&Model>,
    base_url: &str,
    outside: Outside,
) -> Result<Setup, StartError> {
    let folder = index_folder(&settings.data_dir);
    private_folder(&folder)?;
    let model = embedding.map(|model| IndexModel { name: model.name.clone(), length: VECTOR_LENGTH });
    let scratch = Scratch::open(scratch_folder(&settings.data_dir))?;
    Ok(Setup {
        fetch: FetchSettings {
            timeout: settings.fetch.timeout,
            max_bytes: settings.fetch.max_bytes,
            file_timeout: settings.fetch.file_timeout,
            max_file_bytes: settings.fetch.max_file_bytes,
            allow_private: settings.fetch.allow_private.clone(),
            own: None,
        },
        sandbox: outside.sandbox,
        sandbox_settings: SandboxSettings::default(),
        blobs: blobs(settings, &scratch)?,
        scratch,
        put_for: settings.uploads.put,
        transcription: transcription(settings),
        index: Arc::new(EdgeIndex::open(&folder, model)?),
        failures_per_minute: settings.auth.failures_per_minute,
        activity_kept: settings.activity.retention,
        ingest_places: Places {
            web: settings.ingest.fetches,
            library: settings.ingest.workers,
            files: settings.ingest.files,
        },
        grants: grants(&settings.oauth),
        signup: match settings.accounts.signup {
            Access::Open => Some(settings.accounts.default_plan),
            Access::Closed => None,
        },
        chat: chat(settings),
        daily_tokens: settings.ai.daily_tokens,
        mail: mail(settings, base_url)?,
        mcp_origins: settings.mcp.allowed_origins.iter().map(|origin| origin.as_str().to_owned()).collect(),
    })
}

fn grants(oauth: &Oauth) -> GrantSettings {
    GrantSettings {
        open: oauth.registration == Access::Open,
        registrations_per_hour: oauth.registrations_per_hour,
        code: oauth.code,
        access: oauth.access_token,
        unused_client: oauth.unused_client,
        redirects: RedirectRules {
            any_loopback_port: oauth.any_loopback_port,
            private: oauth.private_redirect_uris.clone(),
        },
    }
}

/// The endpoint that answers questions, where one is set; a url comes with a model.
fn chat(settings: &Settings) -> Option<ChatSettings> {
    let chat = &settings.ai.chat;
    Some(ChatSettings {
        url: chat.url.as_ref()?.as_str().to_owned(),
        model: chat.model.clone()?,
        key: chat.key.as_ref().map(|key| key.expose().to_owned().into()),
    })
}

/// The store of files: a folder, made for its owner alone, or a bucket.
fn blobs(settings: &Settings, scratch: &Scratch) -> Result<Arc<dyn Blobs>, StartError> {
    let told = |error: &dyn std::fmt::Display| format!("files.url: {error}");
    match settings.files_url() {
        FilesUrl::Folder(folder) => {
            private_folder(&folder).map_err(|error| told(&error))?;
            Ok(Arc::new(Folder::open(folder).map_err(|error| told(&error))?))
        }
        FilesUrl::S3(url) => {
            let files = &settings.files;
            let exposed = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
            let bucket = BucketSettings {
                url,
                endpoint: files.endpoint.as_ref().map(|endpoint| endpoint.as_str().to_owned()),
                region: files.region.clone(),
                access_key: exposed(&files.access_key),
                secret_key: exposed(&files.secret_key),
            };
            Ok(Arc::new(Bucket::open(bucket, scratch.clone()).map_err(|error| told(&error))?))
        }
    }
}

/// How letters leave, where a way is set.
fn mail(settings: &Settings, base_url: &str) -> Result<Option<Mail>, StartError> {
    let way = match &settings.mail.url {
        None => return Ok(None),
        Some(MailUrl::Smtp(url)) => Way::Smtp(url.expose().to_owned()),
        Some(MailUrl::Folder(folder)) => Way::Folder(folder.clone()),
    };
    let host = url::Url::parse(base_url).ok().and_then(|base| Some(base.host_str()?.to_owned()));
    let from = settings.mail.from.as_str().to_owned();
    Ok(Some(Mail::new(MailSettings { way, from, host: host.unwrap_or_else(|| "localhost".to_owned()) })?))
}

fn listen(
    settings: &Settings,
    listener: TcpListener,
    app: &App,
    readiness: &Readiness,
) -> Result<Vec<ServerHandle>, StartError> {
    let recorder = recorder()?;
    let apart = settings.server.metrics_listen;
    let main =
        main_server(settings, listener, app.clone(), readiness.clone(), recorder.clone(), apart.is_none())?;
    let mut handles = vec![main.handle()];
    actix_web::rt::spawn(main);
    if let Some(address) = apart {
        let metrics = metrics_server(address, app.clone(), recorder)?;
        handles.push(metrics.handle());
        actix_web::rt::spawn(metrics);
    }
    Ok(handles)
}

fn main_server(
    settings: &Settings,
    listener: TcpListener,
    app: App,
    readiness: Readiness,
    recorder: PrometheusHandle,
    with_metrics: bool,
) -> std::io::Result<Server> {
    let (app, readiness) = (Data::new(app), Data::new(readiness));
    let max_body = Data::new(MaxBody::of(settings.server.max_body_bytes));
    let proxies = Data::new(TrustedProxies(settings.server.trusted_proxies.clone()));
    let recorder = Data::new(recorder);
    let server = HttpServer::new(move || {
        Web::new()
            .app_data(app.clone())
            .app_data(readiness.clone())
            .app_data(max_body.clone())
            .app_data(proxies.clone())
            .app_data(recorder.clone())
            .wrap(middleware::from_fn(http::head::as_get))
            .wrap(middleware::from_fn(http::log::request))
            .wrap(never_framed())
            .configure(health::mount)
            .configure(openapi::mount)
            .configure(|config| {
                if with_metrics {
                    health::mount_metrics(config);
                }
            })
            .configure(http::files::mount)
            .configure(rest::mount)
            .configure(app::mount)
            .configure(oauth::mount)
            .configure(mcp::mount)
    });
    Ok(server
        .disable_signals()
        .shutdown_timeout(SHUTDOWN)
        .client_request_timeout(SLOW_HEADERS)
        .keep_alive(KEEP_ALIVE)
        .listen(listener)?
        .run())
}

/// Nothing of ours is shown within another site's page, and nothing is taken for another type than it says; answers
/// that say more of this themselves keep their own words.
fn never_framed() -> middleware::DefaultHeaders {
    middleware::DefaultHeaders::new()
        .add(("X-Frame-Options", "DENY"))
        .add(("X-Content-Type-Options", "nosniff"))
}

fn metrics_server(address: SocketAddr, app: App, recorder: PrometheusHandle) -> std::io::Result<Server> {
    let (app, recorder) = (Data::new(app), Data::new(recorder));
    let server = HttpServer::new(move || {
        Web::new().app_data(app.clone()).app_data(recorder.clone()).configure(health::mount_metrics)
    });
    Ok(server.disable_signals().workers(1).bind(address)?.run())
}

/// The recorder of metrics: one for the whole process, whichever service of it began.
fn recorder() -> Result<PrometheusHandle, StartError> {
    use std::sync::OnceLock;
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(there) = RECORDER.get() {
        return Ok(there.clone());
    }
    let made = PrometheusBuilder::new().install_recorder()?;
    Ok(RECORDER.get_or_init(|| made).clone())
}

/// Folds the samples of histograms: without it they pile up until somebody reads the metrics.
async fn keep_metrics_small(recorder: PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_EVERY).await;
        recorder.run_upkeep();
    }
}

/// Fetches the models that are missing, where that is set, and waits for those that are used.
fn await_models(settings: &Settings, app: &App, embedding: Option<Model>) -> Vec<JoinHandle<()>> {
    let (store, catalogue) = (Store::new(settings.model_folders()), Catalogue::built_in());
    // An endpoint hears in the local model's place.
    let local = settings.ai.transcription.url.is_none();
    let speech = if local { catalogue.all(Purpose::Speech) } else { Vec::new() };
    let mut waiting = Vec::new();
    for model in embedding.iter().chain(speech.first()) {
        if settings.models.auto && store.find(model).is_none() {
            waiting.push(actix_web::rt::spawn(fetch_model(store.clone(), model.clone())));
        }
    }
    if let Some(model) = embedding {
        waiting.push(actix_web::rt::spawn(arrival::await_model(app.clone(), store.clone(), model)));
    }
    if local {
        waiting.push(actix_web::rt::spawn(media::arrival::await_model(app.clone(), store, speech)));
    }
    waiting
}

/// The endpoint that hears recordings, where one is set; a url comes with a model.
fn transcription(settings: &Settings) -> Option<EndpointSettings> {
    let there = &settings.ai.transcription;
    Some(EndpointSettings {
        url: there.url.as_ref()?.as_str().to_owned(),
        model: there.model.clone()?,
        key: there.key.as_ref().map(|key| key.expose().to_owned().into()),
    })
}

async fn fetch_model(store: Store, model: Model) {
    match models::pull(&store, &model, &|_| {}).await {
        Ok(_) => info!(model.name, "fetched the model"),
        Err(error) => {
            warn!(%error, model.name, "could not fetch the model; `carrel models pull` tries again")
        }
    }
}

async fn wait_for_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => info!("stopping: SIGTERM"),
        _ = interrupt.recv() => info!("stopping: SIGINT"),
    }
    Ok(())
}

/// Takes the data folder for this process alone: two on one index would damage it.
fn lock(folder: &Path) -> Result<File, StartError> {
    let file = File::options().create(true).truncate(false).write(true).open(folder.join("carrel.lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(format!("data_dir {} is in use by another running carrel", folder.display()).into())
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// A folder that its owner alone may open.
///
/// # Errors
/// It cannot be made.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The files of the database were made with the process's usual rights: from now on their owner's alone.
fn private_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let narrowed = std::fs::set_permissions(entry.path(), Permissions::from_mode(0o600));
            if let Err(error) = narrowed {
                warn!(%error, "could not keep a file of the data folder to its owner");
            }
        }
    }
}
