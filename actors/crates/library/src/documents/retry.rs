//! Retries a document whose text could not be extracted or indexed.

use entity::{bookmark, document, job};
use jobs::{JobKind, Priority, document_jobs, has_state};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder};
use values::id::{DocumentId, UserId};
use values::kind::{DocumentStatus, JobState};
use values::time::Timestamp;

use errors::Error;

/// Enqueues the last job of a document that failed once more, and removes the error of the document.
///
/// # Errors
/// [`Error::NotFound`] when the document does not exist or belongs to another user; [`Error::Conflict`] when it has not failed, or
/// is being processed.
pub async fn retry(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: DocumentId,
    now: Timestamp,
) -> Result<(), Error> {
    let document = document::Entity::one_visible_to(user, id).one(txn).await?.ok_or(Error::not_found())?;
    if document.status != DocumentStatus::Failed && document.error.is_none() {
        return Err(Error::Conflict("the text of the document has not failed, so there is nothing to retry"));
    }
    let own_jobs = document_jobs(user).filter(job::Column::Subject.eq(document.id.0));
    // A running job would overwrite the status that is set below with its own outcome.
    if own_jobs.filter(has_state(JobState::Running)).one(txn).await?.is_some() {
        return Err(Error::Conflict("the text of the document is being processed; wait until that ends"));
    }
    // The kind of the last job, if there is one: a page that turned out to be a recording has another job than the kind of
    // its bookmark suggests.
    let kind = match last_job_kind(txn, &document).await? {
        Some(kind) => kind,
        // An imported document that had failed before its export has no job here.
        None => job_kind_of(txn, &document).await?,
    };
    jobs::enqueue(txn, user, kind, document.id.0, Priority::Now, now).await?;
    // A document with a readable text stays ready.
    let is_ready = document.status == DocumentStatus::Ready;
    let status = if is_ready { DocumentStatus::Ready } else { DocumentStatus::Processing };
    document::Entity::update_owned(user)
        .col_expr(document::Column::Status, Expr::value(status))
        .col_expr(document::Column::Error, Expr::value(None::<String>))
        .filter(document::Column::Id.eq(document.id))
        .exec(txn)
        .await?;
    Ok(())
}

/// Returns the kind of job that extracts the text of a document.
async fn job_kind_of(db: &impl ConnectionTrait, document: &document::Model) -> Result<JobKind, Error> {
    let Some(id) = document.bookmark_id else { return Ok(JobKind::FetchPage) };
    let saved =
        bookmark::Entity::one_visible_to(document.user_id, id).one(db).await?.ok_or(Error::not_found())?;
    Ok(JobKind::of_bookmark(saved.kind))
}

/// Returns the kind of the document's queued job or, if there is none, of its latest job that was given up.
async fn last_job_kind(
    db: &impl ConnectionTrait,
    document: &document::Model,
) -> Result<Option<JobKind>, Error> {
    let own = document_jobs(document.user_id).filter(job::Column::Subject.eq(document.id.0));
    let queued = own.clone().filter(has_state(JobState::Queued)).one(db).await?;
    let given_up =
        own.filter(job::Column::State.eq(JobState::GivenUp)).order_by_desc(job::Column::FinishedAt);
    let last = match queued {
        Some(queued) => Some(queued),
        None => given_up.one(db).await?,
    };
    Ok(last.and_then(|job| JobKind::named(&job.kind)))
}
