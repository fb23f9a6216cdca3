//! # Child processes that parse untrusted bytes
//!
//! The parsers of crate [`parse`] run in child processes that can reach nothing and may die. A page that crashes or hangs its
//! child, or needs too much memory, fails its own job only. (faults-and-threats, 4.2: Parser isolation; rows 35,
//! 38, P1, P6)
//!
//! | To | Call |
//! |---|---|
//! | start a sandbox | [`Sandbox::new`], with a [`SandboxCommand`] and [`SandboxSettings`] |
//! | read a page, a PDF, a feed, a list of feeds | [`Sandbox::read_article`], [`Sandbox::read_pdf`], [`Sandbox::read_feed`], [`Sandbox::read_opml`] |
//! | decode a recording piece by piece | [`Sandbox::open_audio`] |
//! | read a file of another program row by row | [`Sandbox::open_import`] |
//! | list the mechanisms of confinement that this kernel has | [`Sandbox::confinement`] |
//! | run as the child | [`child::run`], first of all in a program that is started with [`SUBCOMMAND`] |
//!
//! The child is this same program, started as `carrel parse-worker`: no environment, no files, no sockets, no other programs
//! (landlock and seccomp), and bounds of memory, processor time and open files (rlimits). What a kernel lacks is reported and
//! logged. Parent and child exchange frames over a socket: a JSON header, then bytes, both bounded before they are read. Pages and
//! documents share a few children each, which are reused; a recording or a file of another program has a separate child, which
//! receives it as a read-only descriptor. A future that is dropped, or whose time is up, kills its child.
//!
//! [`SandboxSettings`] holds all bounds. This crate depends on no rows or jobs: the caller decides what an error means for a job.
//! No error and no log line contains any of the input.

pub mod audio;
pub mod child;
mod confinement;
pub mod import;
mod pool;
#[cfg(test)]
mod tests;
mod wire;

use std::{ffi::OsString, io, path::PathBuf, sync::Arc, time::Duration};

pub use confinement::{Confinement, Mechanism};

use audio::AudioReader;
use import::ImportReader;
use parse::audio::AudioError;
use parse::bookmarks::{Format, ImportError};
use parse::feed::{FeedDocument, OpmlDocument};
use parse::html::{Article, ArticleError};
use parse::pdf::{self, PdfError};
use pool::{Body, Pool};
use serde::de::DeserializeOwned;
use wire::{Setup, Task, TaskResponse, WorkerMode};

/// The subcommand that makes this program a child process.
pub const SUBCOMMAND: &str = "parse-worker";

/// The command that starts a child.
#[derive(Clone, Debug)]
pub struct SandboxCommand {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// The arguments of the program; [`SUBCOMMAND`] alone for this program.
    pub args: Vec<OsString>,
}

impl SandboxCommand {
    /// Returns the command that starts this program as a child.
    ///
    /// # Errors
    /// When the path of this program cannot be found out.
    pub fn this_program() -> io::Result<Self> {
        // Through this link a service whose file was replaced by an update starts children of its version.
        let link = PathBuf::from("/proc/self/exe");
        let program = if link.exists() { link } else { std::env::current_exe()? };
        Ok(Self { program, args: vec![SUBCOMMAND.into()] })
    }
}

/// The limits of child processes.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// Children that work at the same time, at least 1.
    pub children: usize,
    /// Wall-clock time of one job. Five times [`Self::cpu_seconds`] or more: children have a lower priority, and get a quarter of the
    /// processor time of a machine that is busy. A child that exceeds it hangs.
    pub wall_time: Duration,
    /// Processor seconds of one job.
    pub cpu_seconds: u64,
    /// Address space of a child in bytes, its program included.
    pub memory_bytes: u64,
    /// The longest input, in bytes.
    pub input_bytes: usize,
    /// The longest text that comes back, in bytes.
    pub output_bytes: usize,
    /// Time after which a child without work ends.
    pub idle_timeout: Duration,
    /// Jobs after which a child is replaced by a fresh one.
    pub max_jobs: u32,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            children: std::thread::available_parallelism().map_or(1, usize::from).min(4),
            wall_time: Duration::from_secs(90),
            cpu_seconds: 15,
            memory_bytes: 1 << 30,
            input_bytes: 32 << 20,
            output_bytes: 16 << 20,
            idle_timeout: Duration::from_secs(20),
            max_jobs: 500,
        }
    }
}

impl SandboxSettings {
    /// Returns the limits for documents, which are larger and less urgent than pages. A child
    /// holds the whole file and its text.
    pub fn documents() -> Self {
        let input_bytes = 512 << 20;
        Self {
            children: Self::default().children.min(2),
            wall_time: Duration::from_secs(300),
            cpu_seconds: 60,
            memory_bytes: (1 << 30) + input_bytes as u64,
            input_bytes,
            output_bytes: 64 << 20,
            max_jobs: 50,
            ..Self::default()
        }
    }

    fn setup(&self, mode: WorkerMode) -> Setup {
        Setup {
            mode,
            memory_bytes: self.memory_bytes,
            cpu_seconds: self.cpu_seconds,
            input_bytes: self.input_bytes,
            output_bytes: self.output_bytes,
        }
    }
}

/// A fetched web page, decoded to UTF-8.
#[derive(Clone)]
pub struct Page {
    /// The HTML of the page.
    pub html: String,
    /// The URL of the page after redirects, against which its links are resolved.
    pub url: String,
    /// The title that the user gave it, if any.
    pub user_title: Option<String>,
}

/// The text of a PDF, page by page, and its metadata.
#[derive(Debug)]
pub struct PdfText {
    /// The metadata that the document declares; it may be wrong.
    pub metadata: pdf::PdfMetadata,
    /// The text of each page in order; empty for a page without text.
    pub pages: Vec<String>,
}

/// Why some bytes were not read, as a message for the user. None of these repeats any of the input.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No child could be started; the operator has to act.
    #[error("the process that reads the file could not be started")]
    Unavailable(#[source] io::Error),
    /// The child died of this input: a bug in a parser.
    #[error("the process that read the file crashed")]
    Crashed,
    /// The child died because it needed more memory than its limit, or than the machine has.
    #[error("reading the file needed more memory than is allowed, so it was stopped")]
    OutOfMemory,
    /// The child did not finish in time.
    #[error("reading the file took longer than is allowed, so it was stopped")]
    TimedOut,
    /// The input or the output is over its limit.
    #[error("the file is too large to be read")]
    TooLarge,
    /// The page has no article that can be extracted.
    #[error(transparent)]
    Article(#[from] ArticleError),
    /// The file has no audio that can be decoded.
    #[error(transparent)]
    Audio(#[from] AudioError),
    /// The PDF has no text that can be extracted, or needs a password.
    #[error(transparent)]
    Pdf(#[from] PdfError),
    /// The file cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// The service's side of all children. Clones share them; they end when the last clone is dropped.
#[derive(Clone)]
pub struct Sandbox {
    pages: Arc<Pool>,
    documents: Arc<Pool>,
}

impl Sandbox {
    /// Creates a sandbox with [`SandboxSettings::documents`] for documents. No child is started before there is work.
    pub fn new(command: SandboxCommand, settings: SandboxSettings) -> Self {
        Self::with_documents(command, settings, SandboxSettings::documents())
    }

    /// Creates a sandbox as [`Sandbox::new`] does, with other limits for documents.
    pub fn with_documents(
        command: SandboxCommand,
        pages: SandboxSettings,
        documents: SandboxSettings,
    ) -> Self {
        Self { pages: Pool::new(command.clone(), pages), documents: Pool::new(command, documents) }
    }

    /// Reads the article of a page: its text, and its metadata.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this page alone.
    pub async fn read_article(&self, page: Page) -> Result<Article, SandboxError> {
        let task = Task::Article { url: page.url, user_title: page.user_title };
        match self.pages.run(&task, Body::Bytes(page.html.as_bytes())).await? {
            (TaskResponse::Article(article), text) => {
                let text = String::from_utf8(text).map_err(|_| SandboxError::Crashed)?;
                let (text, html) = match text.split_once(wire::HTML_SEPARATOR) {
                    Some((text, html)) => (text.to_owned(), Some(html.to_owned())),
                    None => (text, None),
                };
                Ok(Article { text, html, ..*article })
            }
            (TaskResponse::ArticleFailed { reason }, _) => Err(reason.into()),
            (TaskResponse::TooLarge, _) => Err(SandboxError::TooLarge),
            // A response to another task, as text that is not UTF-8, means that the child does not work as written.
            (TaskResponse::Json | TaskResponse::Pdf(_) | TaskResponse::PdfFailed { .. }, _) => {
                Err(SandboxError::Crashed)
            }
        }
    }

    /// Reads the text of a PDF, page by page, from a file that is open for reading. The file is sent in pieces: the service
    /// itself never holds it whole.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this file alone.
    pub async fn read_pdf(&self, file: &mut tokio::fs::File) -> Result<PdfText, SandboxError> {
        match self.documents.run(&Task::Pdf, Body::File(file)).await? {
            (TaskResponse::Pdf(metadata), text) => {
                let text = String::from_utf8(text).map_err(|_| SandboxError::Crashed)?;
                let pages = text.split(pdf::PAGE_SEPARATOR).map(str::to_owned).collect();
                Ok(PdfText { metadata: *metadata, pages })
            }
            (TaskResponse::PdfFailed { reason }, _) => Err(reason.into()),
            (TaskResponse::TooLarge, _) => Err(SandboxError::TooLarge),
            (TaskResponse::Json | TaskResponse::Article(_) | TaskResponse::ArticleFailed { .. }, _) => {
                Err(SandboxError::Crashed)
            }
        }
    }

    /// Reads what a URL returned: a feed, or a page with the feeds that it names.
    ///
    /// # Errors
    /// Each of [`SandboxError`] but `Article`; all but `Unavailable` concern these bytes alone.
    pub async fn read_feed(&self, bytes: &[u8], url: String) -> Result<FeedDocument, SandboxError> {
        self.run_json(&Task::Feed { url }, bytes).await
    }

    /// Reads a list of feeds; `None` if the text is not OPML.
    ///
    /// # Errors
    /// The same errors as [`Sandbox::read_feed`].
    pub async fn read_opml(&self, text: &str) -> Result<Option<OpmlDocument>, SandboxError> {
        self.run_json(&Task::Opml, text.as_bytes()).await
    }

    async fn run_json<T: DeserializeOwned>(&self, task: &Task, bytes: &[u8]) -> Result<T, SandboxError> {
        match self.pages.run(task, Body::Bytes(bytes)).await? {
            (TaskResponse::Json, text) => serde_json::from_slice(&text).map_err(|_| SandboxError::Crashed),
            (TaskResponse::TooLarge, _) => Err(SandboxError::TooLarge),
            (
                TaskResponse::Article(_)
                | TaskResponse::ArticleFailed { .. }
                | TaskResponse::Pdf(_)
                | TaskResponse::PdfFailed { .. },
                _,
            ) => Err(SandboxError::Crashed),
        }
    }

    /// Begins to decode an audio or video file that is open for reading only. `wall_time` and `cpu_seconds` hold for each piece.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this file alone.
    pub async fn open_audio(&self, file: std::fs::File) -> Result<AudioReader, SandboxError> {
        AudioReader::open(&self.pages, file).await
    }

    /// Begins to read a file of another program that is open for reading only.
    /// `wall_time` and `cpu_seconds` hold for each request.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` concern this file alone.
    pub async fn open_import(
        &self,
        file: std::fs::File,
        format: Option<Format>,
    ) -> Result<ImportReader, SandboxError> {
        ImportReader::open(&self.documents, file, format).await
    }

    /// Returns how children are confined on this machine; starts one if none has reported yet.
    ///
    /// # Errors
    /// `Unavailable` if no child can be started.
    pub async fn confinement(&self) -> Result<Confinement, SandboxError> {
        self.pages.confinement().await
    }

    /// Returns the number of children of pages that have no work.
    pub fn idle_count(&self) -> usize {
        self.pages.idle_count()
    }
}
