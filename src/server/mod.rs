//! Starts the server, runs it, and stops it in the right order.
//!
//! Stopping takes 30 seconds at most: the readiness is cleared; the worker puts its jobs back and claims no more, while the HTTP server
//! stops (requests in progress are answered, new ones get 503); then retrieval, limits, keys, grants, activity and notices; then the
//! database.

mod embedding;
mod listen;
mod models;
mod not_ready;
mod offline;
mod overrides;
mod preconditions;
mod setup;
mod start_error;
mod unserved;
mod wire;

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::absolute;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::dev::ServerHandle;
use actix_web::rt::task::JoinHandle;
use actors::context::OperationContext;
use actors::service::Service;
use database::{Db, checkpoint_below_floor};
use disk::DiskSpace;
use futures_util::future::{join, join_all};
use jobs::LeaseOwner;
use library::clock::{Clock, SystemClock};
use library::context::CoreContext;
use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::data_dir::{folder_id, is_open_to_others, lock, private_files};
use crate::http::health::Readiness;
use crate::library_database;
use crate::log;
use crate::settings::Settings;
use embedding::EmbeddingSources;
use listen::{Listeners, fold_metrics, listen, recorder};
use models::load_models;
use not_ready::NotReadyServer;
use preconditions::bind;
use setup::{disk_space, start_service};
use wire::{Connections, SHUTDOWN_SECONDS};

pub use embedding::embedding_endpoint;
pub use offline::OfflineService;
pub use overrides::Overrides;
pub use preconditions::{
    bucket_fault, bucket_settings, create_data_dir, create_files_folder, listen_fault, mailer,
};
pub use setup::{IndexStores, files, index_server, index_stores, measured_disks};
pub use start_error::{StartError, StartFault};

/// A server that has started. Dropping it without [`RunningService::stop`] loses what is buffered.
pub struct RunningService {
    /// The address of the main server.
    pub address: SocketAddr,
    /// Held while the server runs, so that a small server can answer at the address while this one stops.
    listener: TcpListener,
    connections: Arc<Connections>,
    service: Service,
    readiness: Readiness,
    servers: Vec<ServerHandle>,
    /// Cancelled when the stop begins: connections are closed after their responses from then on.
    drain: CancellationToken,
    background: Vec<JoinHandle<()>>,
    /// Held while the server runs, so that no other process uses the folder.
    _lock: File,
}

/// Longest time that a stop takes, so that it stays within 30 seconds with the last second of the server that
/// answers meanwhile (contract.md, section 10).
const STOP_TIMEOUT: Duration = Duration::from_secs(28);
/// Time that the HTTP servers have to stop. Longer than they give the requests in progress, so it only ends workers that hang.
const SERVER_STOP_TIMEOUT: Duration = Duration::from_secs(SHUTDOWN_SECONDS + 1);
/// Time that the blocking tasks that still run after the stop have, before the exit of the process ends them.
const BLOCKING_TASK_TIMEOUT: Duration = Duration::from_millis(500);
/// The time in which the HTTP workers receive the connections that were accepted before the server stopped accepting.
const HAND_OVER_TIME: Duration = Duration::from_millis(100);

/// Runs the server until a signal ends it. Blocks.
///
/// # Errors
/// The [`StartError`] of the part that could not start: a setting, the folder of the data, the database, the index or the address.
pub fn serve(settings: Settings) -> Result<(), StartError> {
    // Returns unused memory to the system even while no thread allocates. Not in the child processes that parse files: they must
    // have one thread until they are confined.
    if let Err(cause) = tikv_jemalloc_ctl::background_thread::write(true) {
        warn!(%cause, "could not start the threads that return unused memory");
    }
    raise_file_limit();
    // Everything that the server writes is readable by its owner only.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    run_on_system(run_until_signal(settings))?
}

/// Starts the server, waits for a signal, and stops it.
async fn run_until_signal(settings: Settings) -> Result<(), StartError> {
    let started_at = Instant::now();
    // Before the start, which may take minutes for a large index: a signal during the start shuts down gracefully too.
    let mut signals = Signals::install()?;
    let running = tokio::select! {
        started = start(settings, Arc::new(SystemClock::new())) => started?,
        () = signals.wait() => {
            info!("stopped before it was ready");
            return Ok(());
        }
    };
    running.log_ready(started_at.elapsed());
    signals.wait().await;
    running.stop().await;
    Ok(())
}

/// Starts the service without its HTTP servers, runs `work` with it, and stops it. Blocks.
///
/// # Errors
/// The [`StartError`] of the part that could not start: a setting, the folder of the data, the database or the index.
pub fn run_offline<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&OfflineService) -> T,
) -> Result<T, StartError> {
    raise_file_limit();
    run_on_system(async move {
        let running = OfflineService::start(settings).await?;
        let output = work(&running).await;
        running.stop().await;
        Ok::<_, StartError>(output)
    })?
}

/// Runs a future on a new system, and ends what still runs after it.
///
/// # Errors
/// [`io::Error`] when the runtime cannot be created.
fn run_on_system<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = Arc::new(tokio::runtime::Builder::new_current_thread().enable_all().build()?);
    let shared = runtime.clone();
    let system = actix_web::rt::System::with_tokio_rt(move || shared);
    let output = system.block_on(future);
    // Drops the tasks that have not ended, and with them the child processes that they started.
    drop(system);
    // A runtime that is dropped waits for its blocking tasks without bound, such as for a merge of the
    // index. A stop must not.
    if let Some(runtime) = Arc::into_inner(runtime) {
        runtime.shutdown_timeout(BLOCKING_TASK_TIMEOUT);
    }
    Ok(output)
}

/// Raises the limit of open files to the most that the system grants: the usual soft limit of 1,024 allows few connections.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(cause) = setrlimit(Resource::Nofile, limit) {
        warn!(%cause, "could not raise the limit of open files");
    }
}

/// Starts the server on the current system.
///
/// # Errors
/// The [`StartError`] of the part that could not start: a setting, the folder of the data, the database, the index or the address.
pub async fn start(settings: Settings, clock: Arc<dyn Clock>) -> Result<RunningService, StartError> {
    start_with(settings, clock, Overrides::none()?).await
}

/// Starts the server with these overrides. The address answers from the bind on, first as alive and not ready.
///
/// # Errors
/// The [`StartError`] of the part that could not start: a setting, the folder of the data, the database, the index or the address.
pub async fn start_with(
    settings: Settings,
    clock: Arc<dyn Clock>,
    overrides: Overrides,
) -> Result<RunningService, StartError> {
    for warning in settings.warnings() {
        warn!(warning, "a setting is unsafe");
    }
    create_data_dir(&settings.data_dir)?;
    if is_open_to_others(&settings.data_dir) {
        let folder = settings.data_dir.display();
        warn!(%folder, "data_dir is accessible to other users; run `chmod 700` on the folder");
    }
    // Before anything in the folder is opened: only one process may use it.
    let mut lock = lock(&settings.data_dir)?;
    let disk = disk_space(&settings);
    // The database and the index need space to be opened. On a full disk only the reserve provides it.
    disk.release_reserves_to_start()?;
    // The id stays the same over restarts, so a restart can put back the jobs of a process that died.
    let lease_owner = LeaseOwner(folder_id(&mut lock));
    // An address in use is reported before the database is touched.
    let listener = bind("server.listen", settings.server.listen)?;
    let address = listener.local_addr()?;
    let connections = Connections::from_settings(&settings.server);
    // Before the database is opened: migrations and the replay of the index can take minutes.
    let not_ready = NotReadyServer::start(&listener, connections.clone())?;
    let base_url = settings.base_url(address).as_str().to_owned();
    let Overrides { sandbox, change_database } = overrides;
    let mut db = library_database::open_for_service(&settings).await?;
    if let Some(change) = change_database {
        change(&mut db);
    }
    let core = CoreContext::new(db, settings.data_dir.clone(), &base_url, settings.plans.clone(), clock);
    let embedding = EmbeddingSources::of_settings(&settings, &core).await?;
    let service =
        start_service(&settings, core.clone(), embedding.models.as_ref(), sandbox, lease_owner, disk.clone())
            .await?;
    let readiness = Readiness::default();
    not_ready.stop().await;
    let Listeners { servers, drain } =
        listen(&settings, listener.try_clone()?, connections.clone(), &service, &readiness)?;
    // Only now: the database has created its files with the usual permissions.
    private_files(&settings.data_dir);
    let mut background = spawn_background_tasks(&core.db, disk, &service, &readiness)?;
    background.extend(load_models(&settings, &service, embedding));
    // Last: from now on load balancers send requests.
    readiness.set(true);
    Ok(RunningService {
        address,
        listener,
        connections,
        service,
        readiness,
        servers,
        drain,
        background,
        _lock: lock,
    })
}

/// Spawns the tasks that run while the server does: they watch the disk, the database and the log.
fn spawn_background_tasks(
    db: &Db,
    disk: DiskSpace,
    service: &Service,
    readiness: &Readiness,
) -> Result<Vec<JoinHandle<()>>, StartError> {
    let (checked, measured, watched, verified) = (db.clone(), db.clone(), db.clone(), db.clone());
    Ok(vec![
        actix_web::rt::spawn(fold_metrics(recorder()?)),
        actix_web::rt::spawn(log::report_lost_lines()),
        actix_web::rt::spawn(disk.clone().watch()),
        actix_web::rt::spawn(checkpoint_below_floor(db.clone(), disk)),
        actix_web::rt::spawn(async move { checked.check_while_serving().await }),
        actix_web::rt::spawn(async move { measured.watch_log().await }),
        actix_web::rt::spawn(async move { watched.watch_files().await }),
        actix_web::rt::spawn(async move { verified.verify_after_damage().await }),
        actix_web::rt::spawn(readiness.clone().watch_storage(service.clone())),
    ])
}

impl RunningService {
    /// Stops the server: requests in progress are answered, buffered rows are written, and jobs in progress are put back.
    pub async fn stop(self) {
        let deadline = Instant::now() + STOP_TIMEOUT;
        // First, so that load balancers stop sending requests while those in progress are answered.
        self.readiness.set(false);
        self.drain.cancel();
        // At the same time: while another process holds the lock of the database, both wait for it.
        let ((), not_ready) = join(self.service.stop_worker(), self.stop_servers()).await;
        for task in self.background {
            task.abort();
        }
        match not_ready {
            Ok(not_ready) => {
                self.service.drain(deadline).await;
                not_ready.stop().await;
            }
            Err(cause) => {
                warn!(%cause, "could not answer requests while the server stopped");
                // Connections are better refused than never answered.
                drop(self.listener);
                self.service.drain(deadline).await;
            }
        }
    }

    /// Stops the HTTP servers once the requests in progress are answered. Returns the server that answers at the address meanwhile.
    async fn stop_servers(&self) -> io::Result<NotReadyServer> {
        // A server that stops drops connections that it has accepted and not handed to a worker yet. So it first only stops
        // accepting, and another server answers new connections.
        join_all(self.servers.iter().map(ServerHandle::pause)).await;
        let not_ready = NotReadyServer::start(&self.listener, self.connections.clone());
        tokio::time::sleep(HAND_OVER_TIME).await;
        let stopped = join_all(self.servers.iter().map(|server| server.stop(true)));
        if timeout(SERVER_STOP_TIMEOUT, stopped).await.is_err() {
            warn!("the HTTP servers did not stop in time");
        }
        not_ready
    }

    /// Logs the version, the data folder and the URL of the server.
    fn log_ready(&self, start_time: Duration) {
        let core = &self.service.context.core;
        let data_dir = absolute(&*core.data_dir).unwrap_or_else(|_| core.data_dir.to_path_buf());
        info!(
            version = env!("CARGO_PKG_VERSION"),
            data_dir = %data_dir.display(),
            url = %core.base_url,
            address = %self.address,
            ready_ms = start_time.as_millis(),
            "ready"
        );
    }

    /// Returns the actors and contexts behind the HTTP server, for tests.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns the context of operations, for tests.
    pub fn context(&self) -> &OperationContext {
        &self.service.context
    }
}

/// The signals that stop the server. Once they are installed, they no longer terminate the process.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn install() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => info!("stopping, because SIGTERM was received"),
            _ = self.interrupt.recv() => info!("stopping, because SIGINT was received"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;
    use tokio::task::spawn_blocking;

    use super::*;

    /// Time for which the task of the test hangs. Longer than [`BLOCKING_TASK_TIMEOUT`] by far.
    const HANG_TIME: Duration = Duration::from_secs(10);

    #[test]
    fn blocking_task_that_hangs_does_not_delay_the_exit() {
        let (release, released) = mpsc::channel::<()>();

        run_on_system(async move {
            let (started, has_started) = oneshot::channel();
            spawn_blocking(move || {
                started.send(()).unwrap();
                released.recv_timeout(HANG_TIME)
            });
            has_started.await.unwrap();
        })
        .unwrap();

        assert!(release.send(()).is_ok(), "the end of the system waited for the end of the task");
    }
}
