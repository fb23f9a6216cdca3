//! Lists the documents whose texts are queued, being extracted, or failed, and retries failed ones.
//!
//! They need no scope, because only the session of the web app reaches them.

use std::collections::HashMap;

use database::compare_rows;
use entity::{account_count, document, job};
use schemars::JsonSchema;
use sea_orm::sea_query::{BinOper, Expr};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, Select};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, UserId};
use values::kind::{ContentType, JobState};
use values::scope::Scope;
use values::time::Timestamp;

use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::ingest::media::transcript_progress;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use jobs::{JobKind, PendingState, Priority};
use library::context::CoreContext;
use library::documents;
use library::owned_transaction::begin_request;
use validation::{Choice, NoFields, choices, request};

/// Name of the list of failed documents, to which cursors are bound.
const FAILED_LIST: &str = "failed work";
const DEFAULT_LIMIT: u64 = 50;

/// Lists the first documents of each stage, or a page of the failed ones.
#[derive(Debug)]
pub struct ListWork {
    only_failed: bool,
    page: PageRequest,
}

choices! {
    /// The stages whose documents are listed in pages.
    pub enum PagedStage {
        /// Documents whose last attempt failed.
        Failed = "failed",
    }
}

request! {
    /// The first documents of each stage, or a page of the failed ones.
    pub struct ListWorkRequest {
        /// `failed` lists only failed documents, in pages. Default: the first documents of each stage.
        pub stage?: Choice<PagedStage>,
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of documents of each stage. Default 50.
        pub limit?: PageLimit,
    }
    "cursor" needs "stage": "needs stage=failed";
}

impl FromRequest for ListWork {
    type Request = ListWorkRequest;

    fn from_request(_: &Target, request: ListWorkRequest) -> Result<Self, Error> {
        let only_failed = request.stage.is_some();
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { only_failed, page })
    }
}

/// The stage of a document's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkStage {
    /// Its job is queued, also between two attempts.
    Waiting,
    /// Its job is being carried out.
    Running,
    /// The last attempt failed, and no other will be made unless it is requested.
    Failed,
}

/// A document whose text is queued, being extracted, or failed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkView {
    /// The document.
    pub document_id: DocumentId,
    /// Its bookmark; null for an entry of a feed that is not saved.
    pub bookmark_id: Option<BookmarkId>,
    /// Title of the document.
    pub title: String,
    /// Type of the source of the text.
    pub content_type: ContentType,
    /// Whether the document waits, is being worked on, or failed.
    pub stage: WorkStage,
    /// Kind of the job, such as fetching a page or transcribing a recording; null for failed documents.
    pub work: Option<String>,
    /// Progress of a transcription, from 0 to 1; null for other jobs.
    pub progress: Option<f64>,
    /// Why the job waits, or why the document failed.
    pub reason: Option<String>,
    /// Number of attempts; null for failed documents.
    pub tries: Option<i32>,
    /// Whether the job has low priority.
    pub backlog: bool,
    /// When the next attempt is made; null while the job runs or waits for its turn.
    pub next_at: Option<Timestamp>,
}

/// Numbers of documents by stage, with the first of each stage.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListWorkResponse {
    /// Number of all documents whose job is queued.
    pub waiting: u64,
    /// Number of all documents whose job is running.
    pub running: u64,
    /// Number of all documents that failed.
    pub failed: u64,
    /// The first documents of each stage, running ones first, or a page of the failed ones.
    pub work: Vec<WorkView>,
    /// Cursor of the next page of failed documents; null without `stage`, and on the last page.
    pub next_cursor: Option<String>,
}

impl Operation for ListWork {
    type Reply = ListWorkResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListWorkResponse, Error> {
        let (db, user) = (ctx.core.db.read(), caller.user);
        let mut work = Vec::new();
        let list = self.page.of_list(ctx, caller, ListName::new(FAILED_LIST));
        for state in [PendingState::Running, PendingState::Queued].into_iter().filter(|_| !self.only_failed) {
            let first = jobs::list_document_jobs(db, user, state, list.limit()).await?;
            work.extend(views(&ctx.core, user, first).await?);
        }
        let before: Option<(Timestamp, DocumentId)> = list.position()?;
        let latest_failed = select_latest_failed(user, before);
        let ListPage { rows, next_cursor } =
            list.fetch(latest_failed, |row| (row.updated_at, row.id)).await?;
        work.extend(rows.into_iter().map(WorkView::from_failed));
        // Read by a statement of their own, so the numbers may differ from `work` by what changed meanwhile.
        let StageCounts { waiting, running, failed } = StageCounts::read(db, user).await?;
        Ok(ListWorkResponse {
            // A request without `stage` may not have a cursor, so it gets none.
            next_cursor: next_cursor.filter(|_| self.only_failed),
            waiting,
            running,
            failed,
            work,
        })
    }
}

/// The numbers of documents by stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StageCounts {
    waiting: u64,
    running: u64,
    failed: u64,
}

impl StageCounts {
    async fn read(db: &impl ConnectionTrait, user: UserId) -> Result<Self, DbErr> {
        let counts: Option<(i64, i64, i64)> = select_counts(user).into_tuple().one(db).await?;
        let [pending, running, failed] = counts
            .map_or([0; 3], |counts| <[i64; 3]>::from(counts).map(|n| u64::try_from(n).unwrap_or_default()));
        Ok(Self { waiting: pending.saturating_sub(running), running, failed })
    }
}

/// Selects the kept number of jobs that wait or run, the number of those that run, and the kept number of failed documents. A claim does
/// not change what is kept, so those that run are counted: they are few. One statement, so that a job that begins meanwhile counts once.
fn select_counts(user: UserId) -> Select<account_count::Entity> {
    account_count::Entity::owned_by(user)
        .select_only()
        .column(account_count::Column::PendingJobs)
        .expr_as(Expr::from(jobs::count_running_documents(user)), "running")
        .column(account_count::Column::FailedDocuments)
}

/// Selects the failed documents of which no job waits or runs, the latest first, after this position in the list. A failed document whose
/// next attempt is queued is listed with its job.
fn select_latest_failed(user: UserId, before: Option<(Timestamp, DocumentId)>) -> Select<document::Entity> {
    let (updated_at, id) = (document::Column::UpdatedAt, document::Column::Id);
    let mut failed = document::Entity::visible_to(user)
        .filter(has_failed())
        .filter(document::Column::HasPendingJob.eq(false));
    if let Some((last_updated_at, last_id)) = before {
        let columns = [updated_at.into_expr(), id.into_expr()];
        let last = [Expr::value(last_updated_at), Expr::value(last_id)];
        failed = failed.filter(compare_rows(columns, BinOper::SmallerThan, last));
    }
    failed.order_by_desc(updated_at).order_by_desc(id)
}

/// Selects documents without a text, or whose newer text failed: a readable document keeps the reason. It is spelled out as in the partial
/// index `document_failed`.
fn has_failed() -> Expr {
    Expr::cust("(document.status = 'failed' OR document.error IS NOT NULL)")
}

async fn views(core: &CoreContext, user: UserId, jobs: Vec<job::Model>) -> Result<Vec<WorkView>, Error> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let ids = jobs.iter().map(|job| DocumentId(job.subject));
    let documents = document::Entity::visible_to(user).filter(document::Column::Id.is_in(ids));
    let documents = documents.all(core.db.read()).await?;
    let documents: HashMap<_, _> = documents.into_iter().map(|row| (row.id, row)).collect();
    let mut views = Vec::with_capacity(jobs.len());
    for job in jobs {
        // Hidden or deleted since the job was read.
        let Some(document) = documents.get(&DocumentId(job.subject)).cloned() else { continue };
        let is_transcription = JobKind::named(&job.kind) == Some(JobKind::Transcribe);
        let progress =
            if is_transcription { transcript_progress(core.db.read(), &document).await? } else { None };
        views.push(WorkView::from_job(job, document, progress));
    }
    Ok(views)
}

impl WorkView {
    fn from_job(job: job::Model, document: document::Model, progress: Option<f64>) -> Self {
        let is_running = job.state == JobState::Running;
        Self {
            document_id: document.id,
            bookmark_id: document.bookmark_id,
            title: document.title,
            content_type: document.content_type,
            stage: if is_running { WorkStage::Running } else { WorkStage::Waiting },
            progress,
            reason: job.error.clone().or(document.error).filter(|_| !is_running),
            tries: Some(job.attempts),
            backlog: Priority::of(&job) == Priority::Backlog,
            next_at: (!is_running && job.queue_position.is_none()).then_some(job.run_at),
            work: Some(job.kind),
        }
    }

    fn from_failed(document: document::Model) -> Self {
        Self {
            document_id: document.id,
            bookmark_id: document.bookmark_id,
            title: document.title,
            content_type: document.content_type,
            stage: WorkStage::Failed,
            work: None,
            progress: None,
            reason: document.error,
            tries: None,
            backlog: false,
            next_at: None,
        }
    }
}

/// Retries a document that failed.
#[derive(Debug)]
pub struct RetryWork(DocumentId);

impl FromRequest for RetryWork {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The document, whose job is queued.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryWorkResponse {
    document_id: DocumentId,
}

impl Operation for RetryWork {
    type Reply = RetryWorkResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_SPACE: bool = true;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<RetryWorkResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        documents::retry_document(&txn, caller.user, self.0, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(RetryWorkResponse { document_id: self.0 })
    }
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};
    use values::kind::DocumentStatus;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    #[tokio::test]
    async fn failed_documents_are_found_in_the_order_of_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let user = UserId::new(NOON);

        let later = Some((NOON, DocumentId::new(NOON)));
        for (before, range) in [
            (None, "(user_id=? AND has_pending_job=?)"),
            (later, "(user_id=? AND has_pending_job=? AND (updated_at,id)<(?,?))"),
        ] {
            let page = select_latest_failed(user, before).limit(1).build(DbBackend::Sqlite);
            let plan = QueryPlan::of(&db, page).await.unwrap();

            assert!(plan.has_step(&format!("document_failed {range}")) && !plan.sorts(), "{plan:#?}");
        }
    }

    #[tokio::test]
    async fn only_running_jobs_are_read_for_the_counts() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();

        let counts = select_counts(UserId::new(NOON)).build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&db, counts).await.unwrap();

        let running = "job_user_pending (user_id=? AND state=? AND makes_document=?)";
        assert!(plan.has_step(running), "{plan:#?}");
        assert!(plan.owner_scans().iter().all(|table| table == "account_count"), "{plan:#?}");
    }

    #[test]
    fn failed_status_is_that_of_the_index() {
        assert_eq!(DocumentStatus::Failed.name(), "failed");
    }
}
