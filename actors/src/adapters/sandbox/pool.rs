//! The children that are alive: made when there is work, reused, replaced after a crash, ended when idle.
//!
//! A child belongs to the job that uses it: when that job's future is dropped, or its time is up, the child is killed.
//! What one child does never touches the job of another.

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
    sync::Semaphore,
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::{
    SandboxCommand, SandboxError, SandboxSettings,
    limits::Confinement,
    wire::{self, Duty, Hello, Reply, Setup, Task, WireError},
};

/// The signal by which the kernel ends a process that used up its processor time.
const SIGXCPU: i32 = 24;
/// The signal by which the kernel ends a process when the machine, or the service's control group, is short of memory. The
/// service sends it too, but never to a child whose end it still asks about.
const SIGKILL: i32 = 9;
/// The signal of a process that aborts.
const SIGABRT: i32 = 6;
/// What Rust's standard library writes to stderr before it aborts because an allocation failed. There is no other sign of it:
/// a limit of address space ends an allocation, not the process.
const ALLOCATION_FAILED: &[u8] = b"memory allocation of ";
/// What a pipe holds, in bytes: more of a dead child's stderr there is not.
const MAX_STDERR_BYTES: u64 = 64 * 1024;

/// How long a child whose pipe broke may take to be gone, before it is killed.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// The bytes that a task is about.
pub enum Body<'a> {
    /// Held in memory.
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

    async fn send(&mut self, pipe: &mut UnixStream, task: &Task) -> Result<(), WireError> {
        let length = self.length().await?;
        match self {
            Body::Bytes(bytes) => wire::send(pipe, task, bytes).await,
            Body::File(file) => wire::send_file(pipe, task, file, length).await,
        }
    }
}

/// All children of one sandbox.
pub struct Pool {
    command: SandboxCommand,
    settings: SandboxSettings,
    turns: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: VecDeque<Idle>,
    confinement: Option<Confinement>,
}

/// A child that waits, and what will end it if it waits too long.
struct Idle {
    worker: Worker,
    end: AbortHandle,
}

/// One living child.
pub struct Worker {
    child: Child,
    pipe: UnixStream,
    jobs: u32,
}

impl Pool {
    pub fn new(command: SandboxCommand, settings: SandboxSettings) -> Arc<Self> {
        let turns = Semaphore::new(settings.children);
        Arc::new(Self { command, settings, turns, state: Mutex::default() })
    }

    /// Has one task done, as soon as fewer than `children` are at work.
    pub async fn run(
        self: &Arc<Self>,
        task: &Task,
        mut body: Body<'_>,
    ) -> Result<(Reply, Vec<u8>), SandboxError> {
        if body.length().await.map_err(SandboxError::Unavailable)? > self.settings.input_bytes as u64 {
            return Err(SandboxError::TooLarge);
        }
        let _turn = self.turns.acquire().await.map_err(|closed| unavailable(io::Error::other(closed)))?;
        let mut worker = self.hand(task, &mut body).await?;
        let reply = worker.outcome(self.settings.wall, self.settings.output_bytes).await?;
        self.park(worker);
        Ok(reply)
    }

    /// Starts a child if none is there, and says how it is held.
    pub async fn confinement(self: &Arc<Self>) -> Result<Confinement, SandboxError> {
        if let Some(known) = self.state().confinement.clone() {
            return Ok(known);
        }
        let _turn = self.turns.acquire().await.map_err(|closed| unavailable(io::Error::other(closed)))?;
        let worker = self.start().await?;
        self.park(worker);
        Ok(self.state().confinement.clone().unwrap_or_default())
    }

    /// Starts a child for one file and nothing else, and says how long it may take for an answer.
    pub async fn reader_of(&self, file: File, duty: Duty) -> Result<(Worker, Duration), SandboxError> {
        let worker = self.greeted(Stdio::from(file), duty).await?;
        Ok((worker, self.settings.wall))
    }

    /// How many children wait for work.
    pub fn idle(&self) -> usize {
        self.state().idle.len()
    }

    /// Gives the task to a child that waits, else to a new one. A child may have died while it waited; that is no
    /// fault of this task.
    async fn hand(self: &Arc<Self>, task: &Task, body: &mut Body<'_>) -> Result<Worker, SandboxError> {
        let waiting = self.state().idle.pop_back();
        if let Some(Idle { mut worker, end }) = waiting {
            end.abort();
            if timeout(self.settings.wall, body.send(&mut worker.pipe, task))
                .await
                .is_ok_and(|sent| sent.is_ok())
            {
                return Ok(worker);
            }
        }
        let mut worker = self.start().await?;
        match timeout(self.settings.wall, body.send(&mut worker.pipe, task)).await {
            Ok(Ok(())) => Ok(worker),
            Ok(Err(fault)) => Err(worker.end(fault).await),
            Err(_) => Err(SandboxError::TimedOut),
        }
    }

    async fn start(&self) -> Result<Worker, SandboxError> {
        self.greeted(Stdio::null(), Duty::Tasks).await
    }

    async fn greeted(&self, output: Stdio, duty: Duty) -> Result<Worker, SandboxError> {
        let mut worker = Worker::spawn(&self.command, output).map_err(unavailable)?;
        let setup = self.settings.setup(duty);
        match timeout(self.settings.wall, worker.greet(&setup)).await {
            Ok(Ok(confinement)) => self.learn(confinement),
            Ok(Err(fault)) => return Err(unavailable(io::Error::other(fault))),
            Err(late) => return Err(unavailable(late.into())),
        }
        Ok(worker)
    }

    fn learn(&self, confinement: Confinement) {
        let mut state = self.state();
        if state.confinement.as_ref() == Some(&confinement) {
            return;
        }
        match confinement.missing.is_empty() {
            true => {
                tracing::info!(sandbox.applied = ?confinement.applied, "foreign bytes are read in a confined child")
            }
            false => tracing::warn!(
                sandbox.applied = ?confinement.applied,
                sandbox.missing = ?confinement.missing,
                "foreign bytes are read in a child that this kernel confines in part"
            ),
        }
        state.confinement = Some(confinement);
    }

    /// Keeps a child for the next job. The one that came back last is used first, so that the others can end.
    fn park(self: &Arc<Self>, mut worker: Worker) {
        worker.jobs += 1;
        let Some(id) = worker.child.id().filter(|_| worker.jobs < self.settings.jobs) else { return };
        let end = tokio::spawn(end_when_idle(Arc::downgrade(self), id, self.settings.idle)).abort_handle();
        self.state().idle.push_back(Idle { worker, end });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each use leaves the state whole, whatever panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for idle in &self.state().idle {
            idle.end.abort();
        }
    }
}

async fn end_when_idle(pool: Weak<Pool>, id: u32, after: Duration) {
    sleep(after).await;
    let Some(pool) = pool.upgrade() else { return };
    pool.state().idle.retain(|idle| idle.worker.child.id() != Some(id));
}

impl Worker {
    /// Starts a child with nothing but its end of a socket, and for a recording or an import that file, open for reading, in the
    /// place of its output: no environment, a process group of its own so that a signal from the terminal leaves it to
    /// finish its job.
    fn spawn(command: &SandboxCommand, output: Stdio) -> io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(&command.program)
            .arg0("carrel")
            .args(&command.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(output)
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { child, pipe: UnixStream::from_std(ours)?, jobs: 0 })
    }

    async fn greet(&mut self, setup: &Setup) -> Result<Confinement, WireError> {
        wire::send(&mut self.pipe, setup, &[]).await?;
        let (hello, _) = wire::receive::<Hello>(&mut self.pipe, 0).await?;
        Ok(hello.confinement)
    }

    /// One question and its answer, whose body has at most `most` bytes.
    pub async fn exchange<A: Serialize, T: DeserializeOwned>(
        &mut self,
        wall: Duration,
        ask: &A,
        most: usize,
    ) -> Result<(T, Vec<u8>), SandboxError> {
        let exchange = async {
            wire::send(&mut self.pipe, ask, &[]).await?;
            wire::receive::<T>(&mut self.pipe, most).await
        };
        match timeout(wall, exchange).await {
            Ok(Ok(told)) => Ok(told),
            Ok(Err(fault)) => Err(self.end(fault).await),
            Err(_) => Err(SandboxError::TimedOut),
        }
    }

    async fn outcome(&mut self, wall: Duration, most: usize) -> Result<(Reply, Vec<u8>), SandboxError> {
        match timeout(wall, wire::receive::<Reply>(&mut self.pipe, most)).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(fault)) => Err(self.end(fault).await),
            Err(_) => Err(SandboxError::TimedOut),
        }
    }

    /// What a broken pipe means, told from how the child ended.
    async fn end(&mut self, fault: WireError) -> SandboxError {
        match fault {
            WireError::TooLarge => return SandboxError::TooLarge,
            WireError::Io(_) | WireError::Malformed => {}
        }
        let ended = timeout(LAST_BREATH, self.child.wait()).await;
        let signal = ended.ok().and_then(Result::ok).and_then(|status| status.signal());
        match signal {
            Some(SIGXCPU) => SandboxError::TimedOut,
            Some(SIGKILL) => SandboxError::OutOfMemory,
            Some(SIGABRT) if self.failed_to_allocate().await => SandboxError::OutOfMemory,
            Some(_) | None => SandboxError::Crashed,
        }
    }

    /// Whether a child that has aborted wrote that an allocation failed. Nothing else of its stderr is kept or logged: it may
    /// quote what was read.
    async fn failed_to_allocate(&mut self) -> bool {
        let Some(stderr) = self.child.stderr.take() else { return false };
        let (mut stderr, mut written) = (stderr.take(MAX_STDERR_BYTES), Vec::new());
        let read = timeout(LAST_BREATH, stderr.read_to_end(&mut written)).await;
        let says_so = |written: &[u8]| {
            written.windows(ALLOCATION_FAILED.len()).any(|window| window == ALLOCATION_FAILED)
        };
        read.is_ok_and(|read| read.is_ok()) && says_so(&written)
    }
}

fn unavailable(cause: io::Error) -> SandboxError {
    SandboxError::Unavailable(cause)
}
