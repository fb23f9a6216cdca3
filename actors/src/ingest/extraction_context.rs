//! The context of the stages that make the text of a document: `page`, `file`, `pdf` and `media`.

use inference::transcriber::SpeechService;
use jobs::JobSignal;
use library::context::CoreContext;
use library::uploads::Uploads;
use sandbox::Sandbox;
use values::id::UserId;
use web::{Fetcher, HostThrottle};

/// The components that fetch, read and transcribe the content of documents. Clones share them.
#[derive(Clone)]
pub struct ExtractionContext {
    /// Rows, the clock, the plans and the lanes of blocking work.
    pub core: CoreContext,
    /// Fetches pages and files from the web.
    pub fetcher: Fetcher,
    /// Limits background fetches to one at a time for each host.
    pub host_throttle: HostThrottle<UserId>,
    /// Parses foreign bytes in child processes.
    pub sandbox: Sandbox,
    /// The store of files and the folder for files that are worked on.
    pub uploads: Uploads,
    /// Transcribes recordings, in turns between users; without a model until one is loaded.
    pub speech: SpeechService<UserId>,
    /// Tells the worker that a job may be due.
    pub job_signal: JobSignal,
}
