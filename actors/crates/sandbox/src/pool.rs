//! The child processes: started when there is work, reused, replaced after a crash, ended when idle.
//!
//! A child belongs to the job that uses it: when that job's future is dropped, or its time is up, the child is killed.
//! What one child does never affects the job of another.

use std::{
    collections::VecDeque,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::AsyncReadExt,
    net::UnixStream,
    process::{Child, Command},
    sync::{Semaphore, SemaphorePermit},
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::{
    command::SandboxCommand,
    confinement::Confinement,
    sandbox_error::SandboxError,
    settings::SandboxSettings,
    wire::{self, Handshake, Setup, Task, TaskResponse, WireError, WorkerMode},
};

/// The signal by which the kernel ends a process that used up its processor time.
const SIGXCPU: i32 = 24;
/// The signal by which the kernel ends a process when the machine, or the server's control group, is short of memory. The
/// server sends it too, but never to a child whose exit status it still reads.
const SIGKILL: i32 = 9;
/// The signal of a process that aborts.
const SIGABRT: i32 = 6;
/// What Rust's standard library writes to stderr before it aborts because an allocation failed. Nothing else shows the cause:
/// a limit of address space ends an allocation, not the process.
const ALLOCATION_FAILED: &[u8] = b"memory allocation of ";
/// The capacity of a pipe, in bytes: a dead child's stderr holds no more.
const MAX_STDERR_BYTES: u64 = 64 * 1024;

/// Time for a child whose socket failed to exit before it is killed.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// The bytes that a task reads.
pub enum Body<'a> {
    /// Bytes that the caller holds in memory.
    Bytes(&'a [u8]),
    /// A file of any size, open for reading.
    File(&'a mut tokio::fs::File),
}

impl Body<'_> {
    async fn length(&self) -> io::Result<u64> {
        match self {
            Body::Bytes(bytes) => Ok(bytes.len() as u64),
            Body::File(file) => Ok(file.metadata().await?.len()),
        }
    }

    async fn send(&mut self, socket: &mut UnixStream, task: &Task) -> Result<(), WireError> {
        let length = self.length().await?;
        match self {
            Body::Bytes(bytes) => wire::send(socket, task, bytes).await,
            Body::File(file) => wire::send_file(socket, task, file, length).await,
        }
    }
}

/// Child processes with the same settings.
pub struct Pool {
    command: SandboxCommand,
    settings: SandboxSettings,
    slots: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: VecDeque<IdleWorker>,
    confinement: Option<Confinement>,
}

/// A child without work, and the task that ends it after the idle timeout.
struct IdleWorker {
    worker: Worker,
    expiry: AbortHandle,
}

pub struct Worker {
    child: Child,
    socket: UnixStream,
    jobs: u32,
}

impl Pool {
    pub fn new(command: SandboxCommand, settings: SandboxSettings) -> Arc<Self> {
        let slots = Semaphore::new(settings.children);
        Arc::new(Self { command, settings, slots, state: Mutex::default() })
    }

    /// Runs one task in a child, as soon as fewer than `children` are at work.
    pub async fn run(
        self: &Arc<Self>,
        task: &Task,
        mut body: Body<'_>,
    ) -> Result<(TaskResponse, Vec<u8>), SandboxError> {
        // Checked before a slot is taken, so that a body that is too large neither waits nor starts a child.
        if body.length().await.map_err(SandboxError::Unavailable)? > self.settings.input_bytes as u64 {
            return Err(SandboxError::TooLarge);
        }
        let _permit = self.acquire_slot().await?;
        let mut worker = self.send_task(task, &mut body).await?;
        let response = worker.response(self.settings.wall_time, self.settings.output_bytes).await?;
        // Only a child that has responded is used again. Every other way out drops it, and the drop kills it (`kill_on_drop`).
        self.park(worker);
        Ok(response)
    }

    /// Returns how children are confined; starts one if none has reported yet.
    pub async fn confinement(self: &Arc<Self>) -> Result<Confinement, SandboxError> {
        if let Some(known) = self.state().confinement.clone() {
            return Ok(known);
        }
        let _permit = self.acquire_slot().await?;
        let worker = self.start_worker().await?;
        self.park(worker);
        Ok(self.state().confinement.clone().unwrap_or_default())
    }

    /// Waits until fewer than `children` are at work. Jobs that wait get their slots in the order of their arrival, whichever user
    /// they are for: the queue of jobs is fair already.
    async fn acquire_slot(&self) -> Result<SemaphorePermit<'_>, SandboxError> {
        self.slots.acquire().await.map_err(|closed| unavailable(io::Error::other(closed)))
    }

    /// Starts a child for one file, and returns it with the time limit of each request.
    pub async fn spawn_reader(
        &self,
        file: File,
        mode: WorkerMode,
    ) -> Result<(Worker, Duration), SandboxError> {
        let worker = self.spawn_worker(Stdio::from(file), mode).await?;
        Ok((worker, self.settings.wall_time))
    }

    /// Returns the number of children without work.
    pub fn idle_count(&self) -> usize {
        self.state().idle.len()
    }

    /// Sends the task to an idle child, else to a new one. An idle child may have died
    /// meanwhile; that is not the task's fault.
    async fn send_task(self: &Arc<Self>, task: &Task, body: &mut Body<'_>) -> Result<Worker, SandboxError> {
        let idle = self.state().idle.pop_back();
        if let Some(IdleWorker { mut worker, expiry }) = idle {
            expiry.abort();
            if timeout(self.settings.wall_time, body.send(&mut worker.socket, task))
                .await
                .is_ok_and(|sent| sent.is_ok())
            {
                return Ok(worker);
            }
        }
        let mut worker = self.start_worker().await?;
        match timeout(self.settings.wall_time, body.send(&mut worker.socket, task)).await {
            Ok(Ok(())) => Ok(worker),
            Ok(Err(error)) => Err(worker.exit_reason(error).await),
            Err(_) => Err(SandboxError::TimedOut),
        }
    }

    async fn start_worker(&self) -> Result<Worker, SandboxError> {
        self.spawn_worker(Stdio::null(), WorkerMode::Tasks).await
    }

    async fn spawn_worker(&self, output: Stdio, mode: WorkerMode) -> Result<Worker, SandboxError> {
        let mut worker = Worker::spawn(&self.command, output).map_err(unavailable)?;
        let setup = self.settings.setup(mode);
        match timeout(self.settings.wall_time, worker.handshake(&setup)).await {
            Ok(Ok(confinement)) => self.record_confinement(confinement),
            Ok(Err(error)) => return Err(unavailable(io::Error::other(error))),
            Err(elapsed) => return Err(unavailable(elapsed.into())),
        }
        Ok(worker)
    }

    fn record_confinement(&self, confinement: Confinement) {
        let mut state = self.state();
        if state.confinement.as_ref() == Some(&confinement) {
            return;
        }
        match confinement.missing.is_empty() {
            true => {
                tracing::info!(sandbox.applied = ?confinement.applied, "parser processes are confined")
            }
            false => tracing::warn!(
                sandbox.applied = ?confinement.applied,
                sandbox.missing = ?confinement.missing,
                "parser processes are only partly confined: this kernel lacks some restrictions"
            ),
        }
        state.confinement = Some(confinement);
    }

    /// Keeps a child for the next job. The one that was parked last is used first, so that the others can expire.
    fn park(self: &Arc<Self>, mut worker: Worker) {
        worker.jobs += 1;
        // A child that is not parked is dropped, which kills it. `id` is `None` once a child has ended.
        let Some(id) = worker.child.id().filter(|_| worker.jobs < self.settings.max_jobs) else { return };
        let expiry =
            tokio::spawn(expire(Arc::downgrade(self), id, self.settings.idle_timeout)).abort_handle();
        self.state().idle.push_back(IdleWorker { worker, expiry });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is used all the same: each use leaves the state consistent, even if it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for idle in &self.state().idle {
            idle.expiry.abort();
        }
    }
}

/// Ends a child that has been idle for this time. The reference is weak, so that a timer does not keep
/// the children of a dropped sandbox running.
async fn expire(pool: Weak<Pool>, id: u32, after: Duration) {
    sleep(after).await;
    let Some(pool) = pool.upgrade() else { return };
    // The child may have been taken and parked again at this moment. It ends a little early then, which costs one
    // start.
    pool.state().idle.retain(|idle| idle.worker.child.id() != Some(id));
}

impl Worker {
    /// Starts a child. Its standard input is one end of a socket; its standard output is the file, open for reading, that it
    /// decodes or imports, if there is one.
    fn spawn(command: &SandboxCommand, output: Stdio) -> io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(&command.program)
            // The program may be `/proc/self/exe`, which would say nothing in a list of processes.
            .arg0("carrel")
            .args(&command.args)
            // Settings in the environment may be secrets, and a child needs none of them.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(output)
            // Not inherited: the output of a parser may quote what it reads, and must not reach the log.
            .stderr(Stdio::piped())
            // A separate group, so that Ctrl-C in the terminal reaches the server only, and the child finishes its
            // job.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { child, socket: UnixStream::from_std(ours)?, jobs: 0 })
    }

    async fn handshake(&mut self, setup: &Setup) -> Result<Confinement, WireError> {
        wire::send(&mut self.socket, setup, &[]).await?;
        let (handshake, _) = wire::receive::<Handshake>(&mut self.socket, 0).await?;
        Ok(handshake.confinement)
    }

    /// Sends a request and receives its response. A body over `max_body_bytes` is refused before it is read.
    pub async fn exchange<A: Serialize, T: DeserializeOwned>(
        &mut self,
        wall_time: Duration,
        request: &A,
        max_body_bytes: usize,
    ) -> Result<(T, Vec<u8>), SandboxError> {
        let exchange = async {
            wire::send(&mut self.socket, request, &[]).await?;
            wire::receive::<T>(&mut self.socket, max_body_bytes).await
        };
        match timeout(wall_time, exchange).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.exit_reason(error).await),
            Err(_) => Err(SandboxError::TimedOut),
        }
    }

    async fn response(
        &mut self,
        wall_time: Duration,
        max_body_bytes: usize,
    ) -> Result<(TaskResponse, Vec<u8>), SandboxError> {
        match timeout(wall_time, wire::receive::<TaskResponse>(&mut self.socket, max_body_bytes)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.exit_reason(error).await),
            Err(_) => Err(SandboxError::TimedOut),
        }
    }

    /// Returns what a failed exchange means, by how the child ended.
    async fn exit_reason(&mut self, error: WireError) -> SandboxError {
        match error {
            WireError::TooLarge => return SandboxError::TooLarge,
            WireError::Io(_) | WireError::Malformed => {}
        }
        // The socket closes before the exit status is available, so the wait is needed to learn the signal.
        let status = timeout(EXIT_GRACE, self.child.wait()).await;
        let signal = status.ok().and_then(Result::ok).and_then(|status| status.signal());
        match signal {
            Some(SIGXCPU) => SandboxError::TimedOut,
            Some(SIGKILL) => SandboxError::OutOfMemory,
            Some(SIGABRT) if self.failed_to_allocate().await => SandboxError::OutOfMemory,
            Some(_) | None => SandboxError::Crashed,
        }
    }

    /// Returns whether a child that has aborted wrote that an allocation failed. Nothing else of its stderr is kept or
    /// logged: it may quote what was read.
    async fn failed_to_allocate(&mut self) -> bool {
        let Some(stderr) = self.child.stderr.take() else { return false };
        let (mut stderr, mut written) = (stderr.take(MAX_STDERR_BYTES), Vec::new());
        let read = timeout(EXIT_GRACE, stderr.read_to_end(&mut written)).await;
        let has_message = |written: &[u8]| {
            written.windows(ALLOCATION_FAILED.len()).any(|window| window == ALLOCATION_FAILED)
        };
        read.is_ok_and(|read| read.is_ok()) && has_message(&written)
    }
}

fn unavailable(cause: io::Error) -> SandboxError {
    SandboxError::Unavailable(cause)
}
