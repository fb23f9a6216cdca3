//! How many recordings of a person are on their way at a time. Those that give way take turns with one another, so of many
//! that were all begun none would be done for long; these few are heard to their ends, and others begin after them.

use entity::id::DocumentId;
use entity::{job, transcript};
use sea_orm::{ColumnTrait, DbErr, PaginatorTrait, QueryFilter};

use crate::app::App;
use crate::ingest::queue::{self, Priority, Work};

/// So many.
const MOST: u64 = 4;
/// So many that nobody waits for: others still have places then.
const MOST_OF_BACKLOG: u64 = 2;

/// Whether a job may begin its recording, or go on with it. Those that wait for a later time have no place meanwhile.
///
/// # Errors
/// The database.
pub async fn may(app: &App, job: &job::Model) -> Result<bool, DbErr> {
    let id = DocumentId(job.subject);
    let making = || transcript::Entity::owned_by(job.user_id).filter(transcript::Column::Finished.eq(false));
    let own = making().filter(transcript::Column::DocumentId.eq(id)).one(app.db.read()).await?;
    if own.is_some() {
        return Ok(true);
    }
    let others = making()
        .filter(transcript::Column::DocumentId.in_subquery(queue::subjects_due(Work::Hear, app.clock.now())));
    let most = if Priority::of(job) == Priority::Backlog { MOST_OF_BACKLOG } else { MOST };
    Ok(others.count(app.db.read()).await? < most)
}
