//! What operations work with: the core, and the contexts of authentication, ingest and answers.

mod requests;
mod user_slots;

use disk::DiskSpace;
use jobs::JobSignal;
use library::context::CoreContext;
use library::uploads::Uploads;
use values::time::Timestamp;

use crate::answerer::AnswerContext;
use crate::auth::context::AuthContext;
use crate::document_page_cache::DocumentPageCache;
use crate::ingest::context::IngestContext;
use crate::originals::Originals;
use crate::pdf_pages::PdfPages;
use crate::picture_cache::PictureCache;
use crate::recordings::Recordings;
use crate::retrieval::Retrieval;

pub use requests::RequestContext;
pub use user_slots::UserSlots;

/// Everything that an operation may need. Clones share it.
#[derive(Clone)]
pub struct OperationContext {
    /// The database, the clock, the plans and the lanes of blocking work.
    pub core: CoreContext,
    /// API keys, OAuth grants, sign-in and the limits of all of them.
    pub auth: AuthContext,
    /// The activity view, Idempotency-Keys and cursors.
    pub requests: RequestContext,
    /// The texts of document pages that were read recently.
    pub document_page_cache: DocumentPageCache,
    /// The pictures of documents that were shown recently.
    pub picture_cache: PictureCache,
    /// Slots of each user for batches and for uploads of files to import.
    pub user_slots: UserSlots,
    /// Search, and the passage index.
    pub retrieval: Retrieval,
    /// Answers to questions.
    pub answers: AnswerContext,
    /// Access to the web and to feeds.
    pub ingest: IngestContext,
    /// Uploads, and the store of their files.
    pub uploads: Uploads,
    /// The files from which texts were made.
    pub originals: Originals,
    /// Pages of PDFs: their pictures, and the places of their words.
    pub pdf_pages: PdfPages,
    /// Transcripts with the places of their segments in the text.
    pub recordings: Recordings,
    /// The free space of the disks, below whose floor writes are refused.
    pub disk: DiskSpace,
    /// The start of the process.
    pub started_at: Timestamp,
    /// Wakes the worker after a transaction that enqueued a job.
    pub job_signal: JobSignal,
}
