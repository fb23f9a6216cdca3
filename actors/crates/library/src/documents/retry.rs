//! Retries a document whose text could not be extracted or indexed.

use entity::{bookmark, document};
use jobs::{JobKind, Priority};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{DocumentId, UserId};
use values::kind::DocumentStatus;
use values::time::Timestamp;

use errors::Error;

/// Enqueues the last job of a document that failed once more, and removes the error of the document.
///
/// # Errors
/// [`Error::NotFound`] when the document does not exist or belongs to another user; [`Error::Conflict`] when it has not failed, or
/// is being processed.
pub async fn retry_document(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: DocumentId,
    now: Timestamp,
) -> Result<(), Error> {
    let document = document::Entity::one_visible_to(user, id).one(txn).await?.ok_or(Error::not_found())?;
    if document.status != DocumentStatus::Failed && document.error.is_none() {
        return Err(Error::conflict("the text of the document has not failed, so there is nothing to retry"));
    }
    // A running job would overwrite the status that is set below with its own outcome.
    if jobs::is_document_running(txn, user, document.id).await? {
        return Err(Error::conflict("the text of the document is being processed; wait until that ends"));
    }
    // The kind of the last job, if there is one: a page that turned out to be a recording has another job than the kind of
    // its bookmark suggests.
    let last_job = jobs::last_document_job(txn, user, document.id).await?;
    let kind = match last_job.and_then(|job| JobKind::named(&job.kind)) {
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
