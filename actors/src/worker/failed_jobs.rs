//! Lists and retries the background jobs of all users that were given up, for the command line.

use std::collections::HashMap;

use entity::document;
use entity::job;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use uuid::Uuid;
use values::id::{DocumentId, JobId, UserId};
use values::time::Timestamp;

use crate::auth::accounts;
use crate::operations::work::retry_document;
use errors::Error;
use jobs::JobKind;
use library::context::CoreContext;
use library::owned_transaction::begin_owned;

/// Maximum number of jobs in a list.
pub const MAX_LISTED_JOBS: u64 = 1000;

/// A job that was given up.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedJobView {
    /// Id of the job.
    pub id: JobId,
    /// E-mail address of the account for which it ran.
    pub email: String,
    /// Name of the kind of work.
    pub kind: String,
    /// Id of the object of the work, such as a document.
    pub subject: Uuid,
    /// Title of the document; `None` if the job is about no document, or the user has deleted it.
    pub title: Option<String>,
    /// Why the last attempt failed.
    pub reason: Option<String>,
    /// When the job was given up.
    pub failed_at: Option<Timestamp>,
}

/// Lists the latest jobs that were given up, of a user or of all users, at most [`MAX_LISTED_JOBS`]. A job is omitted once another job
/// has made its document.
pub async fn list_failed_jobs(core: &CoreContext, user: Option<UserId>) -> Result<Vec<FailedJobView>, Error> {
    let rows = jobs::list_failed(core.db.read(), user, MAX_LISTED_JOBS).await?;
    let accounts = accounts::all(core).await?;
    let emails: HashMap<UserId, String> =
        accounts.into_iter().map(|account| (account.id, account.email)).collect();
    let titles = load_titles(core, &rows).await?;
    let view = |row: job::Model| FailedJobView {
        id: row.id,
        email: emails.get(&row.user_id).cloned().unwrap_or_default(),
        kind: row.kind,
        subject: row.subject,
        title: titles.get(&row.subject).cloned(),
        reason: row.error,
        failed_at: row.finished_at,
    };
    Ok(rows.into_iter().map(view).collect())
}

/// Loads the titles of the documents that are subjects of jobs, by their ids.
async fn load_titles(core: &CoreContext, rows: &[job::Model]) -> Result<HashMap<Uuid, String>, Error> {
    let mut documents: HashMap<UserId, Vec<DocumentId>> = HashMap::new();
    for row in rows {
        documents.entry(row.user_id).or_default().push(DocumentId(row.subject));
    }
    let mut titles = HashMap::new();
    for (user, ids) in documents {
        let own = document::Entity::visible_to(user).filter(document::Column::Id.is_in(ids));
        // Two columns rather than rows: a document may have a long text.
        let found = own.select_only().columns([document::Column::Id, document::Column::Title]);
        let found: Vec<(Uuid, String)> = found.into_tuple().all(core.db.read()).await?;
        titles.extend(found);
    }
    Ok(titles)
}

/// Retries a job that was given up.
///
/// # Errors
/// [`Error::NotFound`] when no failed job has this id; [`Error::Conflict`] when the job must be continued in another way, or its
/// document is being processed.
pub async fn retry_failed_job(core: &CoreContext, id: JobId) -> Result<(), Error> {
    let job = jobs::find_failed(core.db.read(), id).await?.ok_or(Error::not_found())?;
    let kind = match JobKind::named(&job.kind) {
        Some(JobKind::Import) => {
            return Err(Error::Conflict(
                "the job is an import: continue it with `carrel imports resume`, or with `carrel imports undo` if it was being \
                 undone",
            ));
        }
        Some(JobKind::Export) => {
            return Err(Error::Conflict("the job is an export: start another one with `carrel export`"));
        }
        Some(kind) => kind,
        None => {
            return Err(Error::Conflict(
                "this version of Carrel does not know the kind of the job: retry it with the newer version that created \
                 it",
            ));
        }
    };
    let now = core.clock.now();
    let txn = begin_owned(&core.db, job.user_id).await?;
    if kind.makes_document() {
        retry_document(&txn, job.user_id, DocumentId(job.subject), now).await?;
    } else if !jobs::retry_failed(&txn, &job, kind, now).await? {
        return Err(Error::not_found());
    }
    txn.commit().await?;
    Ok(())
}
