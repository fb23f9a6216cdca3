//! The table of the handlers of jobs, and of what is recorded with the subject of a job that waits, fails or is given up.
//!
//! A new [`JobKind`] needs one row in [`run`], and one in each of the functions below if its failure is shown somewhere.

use entity::id::DocumentId;
use entity::kind::DocumentStatus;
use entity::time::Timestamp;
use entity::{bookmark, document, job};
use jobs::{JobError, JobKind, record_document_reason};
use library::{exports, imports};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter};

use super::context::WorkerContext;
use crate::ingest::{feed, index, index_removal, media, sequencer};
use crate::notices::email;

/// Runs the handler of a job.
///
/// # Errors
/// [`JobError::Permanent`] when this version of the service does not know the kind; else as the handler says.
pub(super) async fn run(ctx: &WorkerContext, job: &job::Model) -> Result<(), JobError> {
    match JobKind::named(&job.kind) {
        Some(JobKind::FetchPage | JobKind::ProcessText) => sequencer::run_page(&ctx.extraction, job).await,
        Some(JobKind::ProcessFile) => sequencer::run_file(&ctx.extraction, job).await,
        Some(JobKind::Transcribe) => sequencer::run_transcription(&ctx.extraction, job).await,
        Some(JobKind::Index) => index::run(&ctx.indexing, job).await,
        Some(JobKind::UpdateLabels) => index::update_labels(&ctx.indexing, job).await,
        Some(JobKind::RemoveFromIndex) => index_removal::run(&ctx.indexing, job).await,
        Some(JobKind::FetchFeed) => feed::poll::run(&ctx.feeds, job).await,
        Some(JobKind::DeliverEntries) => feed::deliver::run(&ctx.feeds, job).await,
        Some(JobKind::RemoveFeed) => feed::forget::run(&ctx.indexing, job).await,
        Some(JobKind::Subscribe) => feed::websub::subscribe::run(&ctx.feeds, job).await,
        Some(JobKind::SendEmail) => email::run(&ctx.core, ctx.mail.as_deref(), job).await,
        Some(JobKind::Import) => imports::run(&ctx.imports, job).await,
        Some(JobKind::Export) => exports::run(&ctx.exports, job).await,
        None => {
            Err(JobError::Permanent("this version of the service does not know this kind of job".to_owned()))
        }
    }
}

/// Records with the subject of a job why it is not further along: it waits for something, or it is retried.
pub(super) async fn record_wait(
    db: &impl ConnectionTrait,
    job: &job::Model,
    reason: &str,
) -> Result<(), DbErr> {
    match JobKind::named(&job.kind) {
        Some(JobKind::Import) => imports::record_wait(db, job, reason).await,
        Some(JobKind::Export) => exports::record_waiting(db, job, reason).await,
        Some(kind) if kind.makes_document() => record_document_reason(db, job, reason).await,
        Some(_) | None => Ok(()),
    }
}

/// Records with the subject of a job that an attempt failed. A document that is ready stays ready and keeps the reason: it
/// can be read and found, only its newer text or its new labels failed.
pub(super) async fn record_failure(
    db: &impl ConnectionTrait,
    job: &job::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    match JobKind::named(&job.kind) {
        Some(JobKind::Import) => return imports::record_failure(db, job, reason, now).await,
        Some(JobKind::Export) => return exports::record_failure(db, job, reason, now).await,
        Some(kind) if !kind.makes_document() => return Ok(()),
        Some(_) | None => {}
    }
    // Lock order: bookmark before document, as in its deletion (prevents deadlock).
    bookmark::Entity::touch_for_document(db, job.user_id, DocumentId(job.subject), now).await?;
    record_document_reason(db, job, reason).await?;
    document::Entity::update_owned(job.user_id)
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .col_expr(document::Column::Status, Expr::value(DocumentStatus::Failed))
        .filter(document::Column::Status.ne(DocumentStatus::Ready))
        .exec(db)
        .await
        .map(drop)
}

/// Records with the subject of a job that it was given up, and releases what was kept for another attempt.
pub(super) async fn record_give_up(
    db: &impl ConnectionTrait,
    job: &job::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    record_failure(db, job, reason, now).await?;
    match JobKind::named(&job.kind) {
        Some(JobKind::Transcribe) => media::recording_file::release(db, DocumentId(job.subject)).await?,
        Some(JobKind::Index) => index::give_up(db, job).await?,
        Some(_) | None => {}
    }
    Ok(())
}
