//! The one place where foreign bytes are parsed: a child process that can reach nothing and that may die.
//!
//! [`Sandbox`] is the service's side. It keeps a few children, gives each one task at a time, and kills what takes too
//! long. The child is this same program, started as `carrel parse-worker`, whose whole work is [`child::run`].
//! A page that crashes, hangs or bloats its child costs its own job an error and nobody else anything.
//! (faults-and-threats, 4.2: Parser isolation; rows 35, 38, P1, P6)

mod article;
pub mod child;
mod feed;
pub mod import;
mod limits;
pub mod pdf;
mod pool;
pub mod sound;
#[cfg(test)]
mod tests;
mod wire;

use std::{ffi::OsString, io, path::PathBuf, sync::Arc, time::Duration};

pub use article::{Article, Heading, Unreadable};
pub use feed::{Enclosure, Feed, FeedLink, Item, Outline, Outlines, Reading};
pub use limits::{Confinement, Measure};

use import::{Format, Import, NoImport};
use pdf::NoText;
use pool::{Body, Pool};
use serde::de::DeserializeOwned;
use sound::{NoSound, Sound};
use wire::{Duty, Reply, Setup, Task};

/// The subcommand by which this program becomes a child.
pub const SUBCOMMAND: &str = "parse-worker";

/// How a child is started.
#[derive(Clone, Debug)]
pub struct SandboxCommand {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl SandboxCommand {
    /// This very program as a child.
    ///
    /// # Errors
    /// The system does not say which program this is.
    pub fn this_program() -> io::Result<Self> {
        // Through this link a service whose file was replaced by an update still starts children of its own version.
        let link = PathBuf::from("/proc/self/exe");
        let program = if link.exists() { link } else { std::env::current_exe()? };
        Ok(Self { program, args: vec![SUBCOMMAND.into()] })
    }
}

/// What children may use up.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// How many children work at the same time, at least 1.
    pub children: usize,
    /// How long one job may take in real time. Children have a lower priority: on a machine whose cores requests use up they get a
    /// quarter of the processor time, so this is five times [`Self::cpu_seconds`] or more. A child that exceeds it hangs.
    pub wall: Duration,
    /// Processor seconds of one job.
    pub cpu_seconds: u64,
    /// Address space of a child, its program included.
    pub memory_bytes: u64,
    /// The longest input, in bytes.
    pub input_bytes: usize,
    /// The longest text that comes back, in bytes.
    pub output_bytes: usize,
    /// How long a child without work is kept.
    pub idle: Duration,
    /// After so many jobs a child makes room for a fresh one.
    pub jobs: u32,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            children: std::thread::available_parallelism().map_or(1, usize::from).min(4),
            wall: Duration::from_secs(90),
            cpu_seconds: 15,
            memory_bytes: 1 << 30,
            input_bytes: 32 << 20,
            output_bytes: 16 << 20,
            idle: Duration::from_secs(20),
            jobs: 500,
        }
    }
}

impl SandboxSettings {
    /// For documents, which are larger than pages, and for which someone waits less. A child holds the whole file beside
    /// what it makes of it.
    pub fn documents() -> Self {
        let input_bytes = 512 << 20;
        Self {
            children: Self::default().children.min(2),
            wall: Duration::from_secs(300),
            cpu_seconds: 60,
            memory_bytes: (1 << 30) + input_bytes as u64,
            input_bytes,
            output_bytes: 64 << 20,
            jobs: 50,
            ..Self::default()
        }
    }

    fn setup(&self, duty: Duty) -> Setup {
        Setup {
            duty,
            memory_bytes: self.memory_bytes,
            cpu_seconds: self.cpu_seconds,
            input_bytes: self.input_bytes,
            output_bytes: self.output_bytes,
        }
    }
}

/// A web page as it was fetched, decoded to UTF-8.
#[derive(Clone)]
pub struct Page {
    /// The markup.
    pub html: String,
    /// The address it came from, after redirects.
    pub url: String,
    /// What its person calls it.
    pub called: Option<String>,
}

/// A PDF as it was read.
#[derive(Debug)]
pub struct PdfText {
    /// What it says about itself.
    pub facts: pdf::Facts,
    /// The text of each page.
    pub pages: Vec<String>,
}

/// Why there is no reading of some bytes, in words for the user. None of these says anything of what the bytes held.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No child could be started: the operator has something to look at.
    #[error("no process could be started to read it")]
    Unavailable(#[source] io::Error),
    /// The child died of this input: a fault in a parser.
    #[error("the process that read it crashed")]
    Crashed,
    /// The child died because it wanted more memory than it may have, or than the machine has.
    #[error("reading it needed more memory than is allowed, so it was stopped")]
    OutOfMemory,
    /// The child had not finished in its time.
    #[error("reading it took longer than is allowed, so it was stopped")]
    TimedOut,
    /// More bytes than the sandbox takes in or gives out.
    #[error("it is too large to be read at once")]
    TooLarge,
    /// The child looked, and there is nothing to read; shown to the user in these words.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The child looked, and there is no sound to hear; shown to the user in these words.
    #[error(transparent)]
    Unheard(#[from] NoSound),
    /// The child looked, and the PDF has no text; shown to the user in these words.
    #[error(transparent)]
    NoText(#[from] NoText),
    /// The child looked, and there is nothing to import; shown to the user in these words.
    #[error(transparent)]
    NoImport(#[from] NoImport),
}

/// The service's side of all children. Clones share them; they end with the last clone.
#[derive(Clone)]
pub struct Sandbox {
    pool: Arc<Pool>,
    documents: Arc<Pool>,
}

impl Sandbox {
    /// No child is started before there is work.
    pub fn new(command: SandboxCommand, settings: SandboxSettings) -> Self {
        Self::with_documents(command, settings, SandboxSettings::documents())
    }

    /// As [`Sandbox::new`], with other bounds for documents.
    pub fn with_documents(
        command: SandboxCommand,
        pages: SandboxSettings,
        documents: SandboxSettings,
    ) -> Self {
        Self { pool: Pool::new(command.clone(), pages), documents: Pool::new(command, documents) }
    }

    /// The article of a page: its text and what the page says about itself.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` are about this page alone.
    pub async fn article(&self, page: Page) -> Result<Article, SandboxError> {
        let task = Task::Article { url: page.url, called: page.called };
        match self.pool.run(&task, Body::Bytes(page.html.as_bytes())).await? {
            (Reply::Article(article), text) => {
                let text = String::from_utf8(text).map_err(|_| SandboxError::Crashed)?;
                let (text, html) = match text.split_once(wire::HTML) {
                    Some((text, html)) => (text.to_owned(), Some(html.to_owned())),
                    None => (text, None),
                };
                Ok(Article { text, html, ..*article })
            }
            (Reply::Unreadable { reason }, _) => Err(reason.into()),
            (Reply::TooLarge, _) => Err(SandboxError::TooLarge),
            (Reply::Json | Reply::Pdf(_) | Reply::NoText { .. }, _) => Err(SandboxError::Crashed),
        }
    }

    /// The text of a PDF, page by page, out of a file that is open for reading. It is sent on piece by piece: the service
    /// itself never holds it.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` are about this file alone.
    pub async fn pdf(&self, file: &mut tokio::fs::File) -> Result<PdfText, SandboxError> {
        match self.documents.run(&Task::Pdf, Body::File(file)).await? {
            (Reply::Pdf(facts), text) => {
                let text = String::from_utf8(text).map_err(|_| SandboxError::Crashed)?;
                let pages = text.split(pdf::PAGE_END).map(str::to_owned).collect();
                Ok(PdfText { facts: *facts, pages })
            }
            (Reply::NoText { reason }, _) => Err(reason.into()),
            (Reply::TooLarge, _) => Err(SandboxError::TooLarge),
            (Reply::Json | Reply::Article(_) | Reply::Unreadable { .. }, _) => Err(SandboxError::Crashed),
        }
    }

    /// The feed that came from an address, or the feeds that the page there names.
    ///
    /// # Errors
    /// Each of [`SandboxError`] but `Unreadable`; all but `Unavailable` are about these bytes alone.
    pub async fn feed(&self, bytes: &[u8], url: String) -> Result<Reading, SandboxError> {
        self.json(&Task::Feed { url }, bytes).await
    }

    /// The feeds of a list; `None` where the text is no OPML.
    ///
    /// # Errors
    /// As [`Sandbox::feed`].
    pub async fn opml(&self, text: &str) -> Result<Option<Outlines>, SandboxError> {
        self.json(&Task::Opml, text.as_bytes()).await
    }

    async fn json<T: DeserializeOwned>(&self, task: &Task, bytes: &[u8]) -> Result<T, SandboxError> {
        match self.pool.run(task, Body::Bytes(bytes)).await? {
            (Reply::Json, text) => serde_json::from_slice(&text).map_err(|_| SandboxError::Crashed),
            (Reply::TooLarge, _) => Err(SandboxError::TooLarge),
            (Reply::Article(_) | Reply::Unreadable { .. } | Reply::Pdf(_) | Reply::NoText { .. }, _) => {
                Err(SandboxError::Crashed)
            }
        }
    }

    /// Begins to decode the sound of an audio or video file, open for reading and nothing else. `wall` and `cpu_seconds` hold for each
    /// piece of it.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` are about this file alone.
    pub async fn sound(&self, file: std::fs::File) -> Result<Sound, SandboxError> {
        Sound::open(&self.pool, file).await
    }

    /// Begins to read a file of another program, open for reading and nothing else. `wall` and `cpu_seconds` hold for each
    /// question.
    ///
    /// # Errors
    /// Each of [`SandboxError`]; all but `Unavailable` are about this file alone.
    pub async fn import(&self, file: std::fs::File, format: Option<Format>) -> Result<Import, SandboxError> {
        Import::open(&self.documents, file, format).await
    }

    /// How children are held on this machine. Starts one when none has told yet.
    ///
    /// # Errors
    /// `Unavailable` when no child can be started.
    pub async fn confinement(&self) -> Result<Confinement, SandboxError> {
        self.pool.confinement().await
    }

    /// How many children wait for work at the moment.
    pub fn idle(&self) -> usize {
        self.pool.idle()
    }
}
