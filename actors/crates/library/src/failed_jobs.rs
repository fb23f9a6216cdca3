//! Retries the background jobs that were given up.

use database::Transaction;
use entity::job;
use jobs::JobKind;
use values::id::{DocumentId, JobId};

use crate::context::CoreContext;
use crate::documents;
use crate::owned_transaction::begin_owned;
use errors::Error;

/// Why a job is not retried.
#[derive(Debug, thiserror::Error)]
pub enum RetryJobError {
    /// No job with this id has failed, or another process retries it at the same time.
    #[error("no failed job has this id")]
    UnknownJob,
    /// The rules of its work refuse it, or the database failed.
    #[error(transparent)]
    Refused(#[from] Error),
}

/// Enqueues a job that was given up once more.
///
/// # Errors
/// [`RetryJobError::UnknownJob`] when no failed job has this id. [`RetryJobError::Refused`] with [`Error::Conflict`] when the job must
/// be continued in another way, or its document is being processed; with [`Error::NotFound`] when its document is deleted at the
/// same time.
pub async fn retry(core: &CoreContext, id: JobId) -> Result<(), RetryJobError> {
    let job = jobs::find_failed(core.db.read(), id).await.map_err(Error::from)?;
    let job = job.ok_or(RetryJobError::UnknownJob)?;
    let kind = retried_kind(&job)?;
    let txn = begin_owned(&core.db, job.user_id).await.map_err(Error::from)?;
    enqueue_again(core, &txn, &job, kind).await?;
    txn.commit().await.map_err(Error::from)?;
    Ok(())
}

/// Returns the kind of a job that can be retried.
fn retried_kind(job: &job::Model) -> Result<JobKind, Error> {
    match JobKind::named(&job.kind) {
        Some(JobKind::Import) => Err(Error::Conflict(
            "the job is an import: continue it with `carrel imports resume`, or with `carrel imports undo` if it was being undone",
        )),
        Some(JobKind::Export) => {
            Err(Error::Conflict("the job is an export: start another one with `carrel export`"))
        }
        Some(kind) => Ok(kind),
        None => Err(Error::Conflict(
            "this version of Carrel does not know the kind of the job: retry it with the newer version that created it",
        )),
    }
}

async fn enqueue_again(
    core: &CoreContext,
    txn: &Transaction,
    job: &job::Model,
    kind: JobKind,
) -> Result<(), RetryJobError> {
    let now = core.clock.now();
    if kind.makes_document() {
        documents::retry(txn, job.user_id, DocumentId(job.subject), now).await?;
    } else if !jobs::retry_failed(txn, job, kind, now).await.map_err(Error::from)? {
        return Err(RetryJobError::UnknownJob);
    }
    Ok(())
}
