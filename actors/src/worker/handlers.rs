//! The table of the handlers of jobs, and of what is recorded with the subject of a job that waits, fails or is given up.
//!
//! A new [`JobKind`] needs one row in [`run`] and one in [`record_failure`].

use entity::{bookmark, document, job};
use jobs::{ClaimedJob, JobError, JobKind, record_document_reason};
use library::documents::unindexed_since;
use library::{exports, imports};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter};
use values::id::DocumentId;
use values::kind::DocumentStatus;
use values::time::Timestamp;

use super::context::WorkerContext;
use super::email;
use crate::ingest::{feed, index, index_removal, media, sequencer};
use crate::operations::ask_threads;

/// The failure of an attempt, as it is recorded with the subject of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptFailure {
    /// The job waits for something, as if there had been no attempt.
    Blocked,
    /// Another attempt follows.
    Retry,
    /// It was the last attempt.
    GivenUp,
}

/// Runs the handler of a job.
///
/// # Errors
/// The [`JobError`] of the handler.
pub(super) async fn run(ctx: &WorkerContext, job: &ClaimedJob) -> Result<(), JobError> {
    let (kind, job) = (job.kind, &job.row);
    match kind {
        JobKind::FetchPage | JobKind::ProcessText => sequencer::run_page(&ctx.extraction, job).await,
        JobKind::ProcessFile => sequencer::run_file(&ctx.extraction, job).await,
        JobKind::Transcribe => sequencer::run_transcription(&ctx.extraction, job).await,
        JobKind::Index => index::run(&ctx.indexing, job).await,
        JobKind::RemoveFromIndex => index_removal::run(&ctx.indexing, job).await,
        JobKind::FetchFeed => feed::fetch_source::run(&ctx.feeds, job).await,
        JobKind::DeliverEntries => feed::deliver::run(&ctx.feeds, job).await,
        JobKind::RemoveFeed => feed::remove::run(&ctx.indexing, job).await,
        JobKind::Subscribe => feed::websub::subscribe::run(&ctx.feeds, job).await,
        JobKind::SendEmail => email::run(&ctx.core, ctx.mail.as_deref(), job).await,
        JobKind::Import => imports::run(&ctx.imports, job).await,
        JobKind::Export => exports::run(&ctx.exports, job).await,
        JobKind::AnswerQuestion => ask_threads::run(&ctx.asking, job).await,
    }
}

/// Records with the subject of a job that an attempt failed, or why it is not further along. After the last attempt, releases what
/// was kept for another one.
pub(super) async fn record_failure(
    db: &impl ConnectionTrait,
    job: &ClaimedJob,
    failure: AttemptFailure,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    use AttemptFailure::{Blocked, GivenUp, Retry};

    let (kind, job) = (job.kind, &job.row);
    match (kind, failure) {
        (JobKind::Import, Blocked | Retry) => imports::record_wait(db, job, reason).await,
        (JobKind::Import, GivenUp) => imports::record_failure(db, job, reason, now).await,
        (JobKind::Export, Blocked | Retry) => exports::record_wait(db, job, reason).await,
        (JobKind::Export, GivenUp) => exports::record_failure(db, job, reason, now).await,
        (JobKind::AnswerQuestion, GivenUp) => ask_threads::record_failure(db, job, now).await,
        (JobKind::Transcribe, GivenUp) => {
            fail_document(db, job, reason, now).await?;
            media::recording_file::release(db, DocumentId(job.subject)).await
        }
        (JobKind::Index, GivenUp) => {
            fail_document(db, job, reason, now).await?;
            index::give_up(db, job).await
        }
        (
            JobKind::FetchPage
            | JobKind::ProcessText
            | JobKind::ProcessFile
            | JobKind::Transcribe
            | JobKind::Index,
            Blocked,
        ) => record_document_reason(db, job, reason).await,
        // A document counts as failed even if another attempt follows.
        (JobKind::FetchPage | JobKind::ProcessText | JobKind::ProcessFile, Retry | GivenUp)
        | (JobKind::Transcribe | JobKind::Index, Retry) => fail_document(db, job, reason, now).await,
        // No object shows their failures. The handlers of feeds record those of a source themselves.
        (
            JobKind::RemoveFromIndex
            | JobKind::FetchFeed
            | JobKind::DeliverEntries
            | JobKind::RemoveFeed
            | JobKind::Subscribe
            | JobKind::SendEmail,
            Blocked | Retry | GivenUp,
        )
        | (JobKind::AnswerQuestion, Blocked | Retry) => Ok(()),
    }
}

/// Records with the document of a job that an attempt failed. A document that is ready stays ready and keeps the reason: it
/// can be read and found, only its newer text or its new labels failed.
async fn fail_document(
    db: &impl ConnectionTrait,
    job: &job::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    // Lock order: bookmark before document, as in its deletion (prevents deadlock).
    bookmark::Entity::touch_for_document(db, job.user_id, DocumentId(job.subject), now).await?;
    record_document_reason(db, job, reason).await?;
    // At the first failure of a document without a text: from now on its metadata passage has vectors.
    document::Entity::update_owned(job.user_id)
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        .filter(document::Column::Version.eq(0))
        .filter(document::Column::Status.eq(DocumentStatus::Processing))
        .exec(db)
        .await?;
    document::Entity::update_owned(job.user_id)
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .col_expr(document::Column::Status, Expr::value(DocumentStatus::Failed))
        .filter(document::Column::Status.ne(DocumentStatus::Ready))
        .exec(db)
        .await
        .map(drop)
}
