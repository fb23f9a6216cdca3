//! How many recordings of one user are in progress at a time. Recordings that yield to others take turns, so if many of them
//! were in progress, none would be finished for a long time. These few are transcribed to their ends, and others start after them.
//!
//! A slot is counted from the rows and held by no permit: a recording keeps it over restarts of the server.

use entity::{job, transcript};
use jobs::{JobKind, Priority};
use library::context::CoreContext;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, DbErr, PaginatorTrait, QueryFilter};
use values::id::DocumentId;

/// Recordings of one user that may be in progress.
const MAX_RECORDINGS_PER_USER: u64 = 4;
/// Recordings of one user that belong to a backlog, such as an import. The other slots stay free
/// for recordings that the user waits for.
const MAX_BACKLOG_RECORDINGS_PER_USER: u64 = 2;

/// Returns whether a job may start its recording, or continue it. Recordings that wait for a later time take no slot meanwhile.
pub async fn has_slot(core: &CoreContext, job: &job::Model) -> Result<bool, DbErr> {
    let id = DocumentId(job.subject);
    // Spelled out, as in the partial index `transcript_unfinished`.
    let unfinished =
        || transcript::Entity::owned_by(job.user_id).filter(Expr::cust("NOT transcript.is_finished"));
    // A recording that was begun keeps its slot, however many others have begun since.
    let own = unfinished().filter(transcript::Column::DocumentId.eq(id)).one(core.db.read()).await?;
    if own.is_some() {
        return Ok(true);
    }
    // One that waits for a retry holds no slot, so that a failing recording does not hold up the others.
    let due = jobs::jobs_for((transcript::Entity, transcript::Column::DocumentId), JobKind::Transcribe)
        .and_where(jobs::is_pending())
        .and_where(jobs::runs_or_is_due(core.clock.now()))
        .to_owned();
    let others = unfinished().filter(Expr::exists(due));
    let max = match Priority::of(job) {
        Priority::Backlog => MAX_BACKLOG_RECORDINGS_PER_USER,
        Priority::Now => MAX_RECORDINGS_PER_USER,
    };
    Ok(others.count(core.db.read()).await? < max)
}
