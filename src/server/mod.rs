//! Puts the service together, runs it, and takes it apart in the right order.
//!
//! Stopping: readiness off and ingest told to take no more, then the server (requests in progress are answered, new ones
//! are told to come later), then
//! retrieval, limits, keys, grants, activity, notices, then the database.

mod doorkeeper;
mod listen;
mod models;
mod setup;
mod unserved;
mod wire;

use std::error::Error;
use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::absolute;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::dev::ServerHandle;
use actix_web::rt::task::JoinHandle;
use actors::context::OperationContext;
use library::clock::{Clock, SystemClock};
use library::context::CoreContext;
use jobs::LeaseOwner;
use database::checkpoint_below_floor;
use inference::models::{Catalogue, Purpose};
use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, setrlimit};
use sandbox::SandboxCommand;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::data_dir::{folder_id, is_open_to_others, lock, private_files, private_folder};
use crate::http::health::Readiness;
use crate::library_database;
use crate::log;
use crate::settings::Settings;
use doorkeeper::Doorkeeper;
use listen::{Listening, keep_metrics_small, listen, recorder};
use models::await_models;
use setup::{disk_space, open_index, setup};

pub use setup::files;

/// Anything that keeps the service from starting.
pub type StartError = Box<dyn Error + Send + Sync>;

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
    /// Held while the service runs, so that the address answers while it ends too.
    listener: TcpListener,
    ctx: OperationContext,
    readiness: Readiness,
    servers: Vec<ServerHandle>,
    /// Once it is cancelled, connections are closed after their answers.
    drain: CancellationToken,
    background: Vec<JoinHandle<()>>,
    /// Held while the service runs: the folder is nobody else's.
    _lock: File,
}

/// Time in which workers take the connections that were accepted before the service stopped accepting.
const HAND_OVER: Duration = Duration::from_millis(100);

/// Runs the service until a signal ends it. Blocks.
///
/// # Errors
/// What keeps it from starting: a setting, the database, the index, the address.
pub fn serve(settings: Settings) -> Result<(), StartError> {
    // Unused memory goes back to the system though no thread asks for any. Not in the children that parse files: they must have
    // one thread until they are confined.
    if let Err(cause) = tikv_jemalloc_ctl::background_thread::write(true) {
        warn!(%cause, "could not start the threads that give unused memory back");
    }
    raise_file_limit();
    // Whatever the service writes is its owner's alone.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    actix_web::rt::System::new().block_on(async move {
        let began = Instant::now();
        // Before the start, which may take minutes for a large index: a signal during the start shuts down gracefully too.
        let mut signals = Signals::install()?;
        let running = tokio::select! {
            started = start(settings, Arc::new(SystemClock::new())) => started?,
            () = signals.wait() => {
                info!("stopped before it was ready");
                return Ok(());
            }
        };
        running.log_ready(began.elapsed());
        signals.wait().await;
        running.stop().await;
        Ok(())
    })
}

/// Allows as many open files as the system grants: the usual soft limit of 1,024 would bound connections before anything else does.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(cause) = setrlimit(Resource::Nofile, limit) {
        warn!(%cause, "could not raise the limit of open files");
    }
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
    private_folder(&settings.data_dir).map_err(|error| {
        format!("could not use the folder data_dir = {}: {error}", settings.data_dir.display())
    })?;
    if is_open_to_others(&settings.data_dir) {
        let folder = settings.data_dir.display();
        warn!("data_dir {folder} is readable by other users; run `chmod 700 {folder}`");
    }
    let mut lock = lock(&settings.data_dir)?;
    let disk = disk_space(&settings);
    disk.release_reserves_to_start()?;
    let lease_owner = LeaseOwner(folder_id(&mut lock));
    let wanted = settings.server.listen;
    let listener = TcpListener::bind(wanted)
        .map_err(|error| format!("could not listen on server.listen = {wanted}: {error}"))?;
    let address = listener.local_addr()?;
    let doorkeeper = Doorkeeper::begin(&listener)?;
    let base_url = settings.base_url(address).as_str().to_owned();
    let db = library_database::open_for_service(&settings).await?;
    let core = CoreContext::of(db, settings.data_dir.clone(), &base_url, settings.plans.clone(), clock);
    let embedding = Catalogue::built_in().default_for(Purpose::Embedding).cloned();
    let index = open_index(&settings, embedding.as_ref(), &core).await?;
    let setup = setup(&settings, index, &base_url, outside, lease_owner, disk)?;
    let ctx = App::start(core, setup).await?;
    let readiness = Readiness::default();
    doorkeeper.end().await;
    let Listening { servers, drain } = listen(&settings, listener.try_clone()?, &ctx, &readiness)?;
    private_files(&settings.data_dir);
    let (db, measured) = (ctx.core.db.clone(), ctx.core.db.clone());
    let (watched, verified) = (ctx.core.db.clone(), ctx.core.db.clone());
    let mut background = vec![
        actix_web::rt::spawn(keep_metrics_small(recorder()?)),
        actix_web::rt::spawn(log::report_lost_lines()),
        actix_web::rt::spawn(ctx.disk.clone().watch()),
        actix_web::rt::spawn(checkpoint_below_floor(ctx.core.db.clone(), ctx.disk.clone())),
        actix_web::rt::spawn(async move { db.check_while_serving().await }),
        actix_web::rt::spawn(async move { measured.watch_log().await }),
        actix_web::rt::spawn(async move { watched.watch_files().await }),
        actix_web::rt::spawn(async move { verified.verify_after_damage().await }),
    ];
    background.extend(await_models(&settings, &ctx, embedding));
    readiness.set(true);
    Ok(Running { address, listener, ctx, readiness, servers, drain, background, _lock: lock })
}

impl Running {
    /// Stops it: what is in progress ends, what is gathered is written.
    pub async fn stop(self) {
        self.readiness.set(false);
        self.app.ingest.stop().await;
        self.drain.cancel();
        // A server that stops drops connections that it has accepted and not handed to a worker yet. So it first only stops
        // accepting, and new connections are the doorkeeper's.
        futures_util::future::join_all(self.servers.iter().map(ServerHandle::pause)).await;
        let doorkeeper = Doorkeeper::begin(&self.listener);
        tokio::time::sleep(HAND_OVER).await;
        futures_util::future::join_all(self.servers.iter().map(|server| server.stop(true))).await;
        for task in self.background {
            task.abort();
        }
        match doorkeeper {
            Ok(doorkeeper) => {
                self.app.drain().await;
                doorkeeper.end().await;
            }
            Err(cause) => {
                warn!(%cause, "nobody could answer while the service ended");
                // Better refused than never answered.
                drop(self.listener);
                self.app.drain().await;
            }
        }
    }

    /// Says in the log which service this is, where its data is, and where to open it.
    fn log_ready(&self, start_time: Duration) {
        let data_dir = absolute(&*self.app.data_dir).unwrap_or_else(|_| self.app.data_dir.to_path_buf());
        info!(
            version = env!("CARGO_PKG_VERSION"),
            data_dir = %data_dir.display(),
            url = %self.app.base_url,
            address = %self.address,
            ready_ms = start_time.as_millis(),
            "ready"
        );
    }

    /// The service itself, for tests that look behind the wire.
    pub fn app(&self) -> &OperationContext {
        &self.app
    }
}

/// The signals that stop the service. Once they are installed, they no longer terminate the process.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn install() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => info!("stopping: SIGTERM"),
            _ = self.interrupt.recv() => info!("stopping: SIGINT"),
        }
    }
}
