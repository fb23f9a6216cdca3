//! What a recording waits for before it is transcribed: a speech model, a slot among the recordings of its user, and the
//! end of a pause of the AI.

use std::time::Duration;

use entity::{document, job};
use errors::Error;
use jobs::JobError;
use library::context::CoreContext;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};

use super::recording_limit;

/// The error that a document shows while there is no speech model to transcribe it.
pub const MODEL_MISSING_REASON: &str = "waiting for the speech model";
/// The error that a document shows while other recordings are transcribed.
pub const SLOT_TAKEN_REASON: &str = "waiting until other recordings are transcribed";
/// The error that a document shows while the AI is paused.
pub const AI_PAUSED_REASON: &str = "waiting until the pause of the AI ends";
/// The process that loads a speech model wakes the jobs that wait for it. Jobs of other processes try again after this.
const MODEL_RETRY_DELAY: Duration = Duration::from_secs(300);
/// Longest time until a recording checks again for a slot, or for the end of a pause.
pub const WAIT_RETRY_DELAY: Duration = Duration::from_secs(60);

/// The error of a job while there is no speech model.
pub fn model_missing() -> JobError {
    JobError::Blocked { reason: MODEL_MISSING_REASON, after: MODEL_RETRY_DELAY }
}

/// Refuses to begin a recording while too many others of its user are in progress.
///
/// # Errors
/// [`JobError::Blocked`] when there is no slot; [`JobError::Internal`] when the database fails.
pub async fn ensure_slot(core: &CoreContext, job: &job::Model) -> Result<(), JobError> {
    let wait = JobError::Blocked { reason: SLOT_TAKEN_REASON, after: WAIT_RETRY_DELAY };
    if recording_limit::has_slot(core, job).await? { Ok(()) } else { Err(wait) }
}

/// Clears the error that the document showed while its recording waited.
pub async fn clear_wait_reason(core: &CoreContext, document: &document::Model) -> Result<(), Error> {
    document::Entity::update_owned(document.user_id)
        .col_expr(document::Column::Error, Expr::value(None::<String>))
        .filter(document::Column::Id.eq(document.id))
        .filter(document::Column::Error.is_in([MODEL_MISSING_REASON, SLOT_TAKEN_REASON, AI_PAUSED_REASON]))
        .exec(core.db.write())
        .await?;
    Ok(())
}
