//! How many recordings of one user are in progress at a time. Recordings that yield to others take turns, so if many of them
//! were in progress, none would be finished for a long time. These few are transcribed to their ends, and others start after them.

use entity::id::DocumentId;
use entity::{job, transcript};
use sea_orm::{ColumnTrait, DbErr, PaginatorTrait, QueryFilter};

use crate::ingest::context::IngestContext;
use jobs::{Priority, JobKind};

/// Recordings of one user.
const MAX_RECORDINGS_PER_USER: u64 = 4;
/// Recordings of one user that belong to a backlog, such as an import: the others still have places then.
const MAX_BACKLOG_RECORDINGS_PER_USER: u64 = 2;

/// Whether a job may start its recording, or continue it. Recordings that wait for a later time take no place meanwhile.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn has_place(ctx: &IngestContext, job: &job::Model) -> Result<bool, DbErr> {
    let id = DocumentId(job.subject);
    let making = || transcript::Entity::owned_by(job.user_id).filter(transcript::Column::Finished.eq(false));
    let own = making().filter(transcript::Column::DocumentId.eq(id)).one(ctx.core.db.read()).await?;
    if own.is_some() {
        return Ok(true);
    }
    let others = making()
        .filter(transcript::Column::DocumentId.in_subquery(jobs::subjects_due(JobKind::Transcribe, ctx.core.clock.now())));
    let max = match Priority::of(job) {
        Priority::Backlog => MAX_BACKLOG_RECORDINGS_PER_USER,
        Priority::Now => MAX_RECORDINGS_PER_USER,
    };
    Ok(others.count(ctx.core.db.read()).await? < max)
}
