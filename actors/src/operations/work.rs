//! What is being made of a library: texts that wait, that are worked on, and those that could not be made, with the reason.

use std::collections::HashMap;

use entity::id::{BookmarkId, DocumentId, UserId};
use entity::kind::{DocumentStatus, JobState};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, document, job};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, SimpleExpr};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait, Select,
};
use serde::Serialize;

use super::target::Target;
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::ingest::media;
use jobs::{Priority, JobKind};
use crate::operations::page::{CURSOR, PageOf};
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// The name of the list that a cursor goes on in.
const FAILED: &str = "failed work";
/// Of each state so many are listed where no `limit` is given.
const LISTED: u64 = 50;

/// What is being made, and what could not be: the first of each, or a page of what failed.
#[derive(Debug)]
pub struct ListWork {
    failed: bool,
    page: PageOf,
}

impl ListWork {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        Field::optional(
            "stage",
            Kind::Choice(&["failed"]),
            "Only what could not be made, page by page; else the first of each stage.",
        ),
        CURSOR,
        Field::optional(
            "limit",
            Kind::Integer { min: 1, max: 100 },
            "How many of each stage; 50 when left out.",
        ),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        let failed = values.name("stage").is_some();
        let page = PageOf::read(&mut values, LISTED);
        if page.cursor.is_some() && !failed {
            return Err(Error::invalid("cursor", "needs stage=failed"));
        }
        Ok(Self { failed, page })
    }
}

/// How far a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum WorkStage {
    /// Its turn is still to come.
    Waiting,
    /// It is worked on.
    Running,
    /// It could not be made.
    Failed,
}

/// One text that is being made, or could not be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorkView {
    document_id: DocumentId,
    bookmark_id: Option<BookmarkId>,
    title: String,
    stage: WorkStage,
    /// What is done: a page is fetched, a file read, a recording heard, a text put into the index; none for what failed.
    work: Option<String>,
    /// Of a recording, 0 to 1.
    progress: Option<f64>,
    /// Why it is not further.
    reason: Option<String>,
    /// How often it was tried.
    tries: Option<i32>,
    /// It gives way to what somebody waits for.
    backlog: bool,
    /// When it is tried next, where it waits for that.
    next_at: Option<Timestamp>,
}

/// What waits, is worked on and could not be made, with the first of each.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListWorkResponse {
    waiting: u64,
    running: u64,
    failed: u64,
    work: Vec<WorkView>,
    next_cursor: Option<String>,
}

impl Operation for ListWork {
    type Reply = ListWorkResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListWorkResponse, Error> {
        let (db, user) = (ctx.core.db.read(), caller.user);
        let jobs = |state: JobState| makes_documents(user).filter(is_under_way()).filter(is(state));
        let under_way =
            makes_documents(user).filter(is_under_way()).select_only().column(job::Column::Subject);
        let failed = document::Entity::readable_by(user)
            .filter(has_failed())
            .filter(document::Column::Id.not_in_subquery(under_way.into_query()));
        let mut work = Vec::new();
        for state in [JobState::Running, JobState::Queued].into_iter().filter(|_| !self.failed) {
            let some = jobs(state).order_by_asc(job::Column::Priority).order_by_asc(job::Column::RunAt);
            work.extend(views(ctx, user, some.limit(self.page.limit).all(db).await?).await?);
        }
        let before: Option<(Timestamp, DocumentId)> = self.page.position(ctx, user, FAILED)?;
        let mut latest = failed
            .clone()
            .filter(before.map_or_else(Condition::all, is_before))
            .order_by_desc(document::Column::UpdatedAt)
            .order_by_desc(document::Column::Id)
            .limit(self.page.limit + 1)
            .all(db)
            .await?;
        let next_cursor = self.page.cut(ctx, user, FAILED, &mut latest, |row| (row.updated_at, row.id));
        work.extend(latest.into_iter().map(WorkView::failed));
        Ok(ListWorkResponse {
            next_cursor: next_cursor.filter(|_| self.failed),
            waiting: jobs(JobState::Queued).count(db).await?,
            running: jobs(JobState::Running).count(db).await?,
            failed: failed.count(db).await?,
            work,
        })
    }
}

/// What stands behind this in the list of what failed.
fn is_before((updated_at, id): (Timestamp, DocumentId)) -> Condition {
    let (updated, own) = (document::Column::UpdatedAt, document::Column::Id);
    Condition::any()
        .add(updated.lt(updated_at))
        .add(Condition::all().add(updated.eq(updated_at)).add(own.lt(id)))
}

/// There is no text, or no newer one: what is readable keeps the reason.
fn has_failed() -> Condition {
    Condition::any()
        .add(document::Column::Status.eq(DocumentStatus::Failed))
        .add(document::Column::Error.is_not_null())
}

/// Spelled out, as in the partial index.
fn is(state: JobState) -> SimpleExpr {
    Expr::cust(format!("job.state = '{}'", state.name()))
}

fn is_under_way() -> SimpleExpr {
    Expr::cust("job.state IN ('queued', 'running')")
}

fn makes_documents(user: UserId) -> Select<job::Entity> {
    job::Entity::owned_by(user).filter(job::Column::Kind.is_in(JobKind::that_make_documents()))
}

async fn views(ctx: &OperationContext, user: UserId, jobs: Vec<job::Model>) -> Result<Vec<WorkView>, Error> {
    let ids = jobs.iter().map(|job| DocumentId(job.subject));
    let documents = document::Entity::readable_by(user).filter(document::Column::Id.is_in(ids));
    let documents = documents.all(ctx.core.db.read()).await?;
    let documents: HashMap<_, _> = documents.into_iter().map(|row| (row.id, row)).collect();
    let mut views = Vec::with_capacity(jobs.len());
    for job in jobs {
        let Some(document) = documents.get(&DocumentId(job.subject)).cloned() else { continue };
        let hears = JobKind::named(&job.kind) == Some(JobKind::Transcribe);
        let progress = if hears { media::transcript_progress(ctx.core.db.read(), &document).await? } else { None };
        views.push(WorkView::of(job, document, progress));
    }
    Ok(views)
}

impl WorkView {
    fn of(job: job::Model, document: document::Model, progress: Option<f64>) -> Self {
        let runs = job.state == JobState::Running;
        Self {
            document_id: document.id,
            bookmark_id: document.bookmark_id,
            title: document.title,
            stage: if runs { WorkStage::Running } else { WorkStage::Waiting },
            progress,
            reason: job.error.clone().or(document.error).filter(|_| !runs),
            tries: Some(job.attempts),
            backlog: Priority::of(&job) == Priority::Backlog,
            next_at: (!runs && job.turn.is_none()).then_some(job.run_at),
            work: Some(job.kind),
        }
    }

    fn failed(document: document::Model) -> Self {
        Self {
            document_id: document.id,
            bookmark_id: document.bookmark_id,
            title: document.title,
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

/// Tries a text again that could not be made.
#[derive(Debug)]
pub struct RetryWork(DocumentId);

impl RetryWork {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// It waits for its turn now.
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
        let (user, now) = (caller.user, ctx.core.clock.now());
        let txn = begin_request(&ctx.core.db, caller).await?;
        let document = document::Entity::one_of(user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        if document.status != DocumentStatus::Failed && document.error.is_none() {
            return Err(Error::Conflict(
                "the text of the document has not failed, so there is nothing to retry",
            ));
        }
        let runs = makes_documents(user).filter(job::Column::Subject.eq(document.id.0));
        if runs.filter(is(JobState::Running)).one(&txn).await?.is_some() {
            return Err(Error::Conflict("the text of the document is being processed; wait until that ends"));
        }
        let work = match last_work(&txn, &document).await? {
            Some(work) => work,
            // It came with an export, as failed as it was there.
            None => work_of(&txn, &document).await?,
        };
        jobs::enqueue(&txn, user, work, document.id.0, Priority::Now, now).await?;
        // What is readable stays so.
        let is_ready = document.status == DocumentStatus::Ready;
        let status = if is_ready { DocumentStatus::Ready } else { DocumentStatus::Processing };
        document::Entity::update_many()
            .col_expr(document::Column::Status, Expr::value(status))
            .col_expr(document::Column::Error, Expr::value(None::<String>))
            .filter(document::Column::UserId.eq(user))
            .filter(document::Column::Id.eq(document.id))
            .exec(&txn)
            .await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(RetryWorkResponse { document_id: document.id })
    }
}

/// What makes the text of a document.
async fn work_of(db: &impl ConnectionTrait, document: &document::Model) -> Result<JobKind, Error> {
    let Some(id) = document.bookmark_id else { return Ok(JobKind::Page) };
    let saved = bookmark::Entity::one_of(document.user_id, id).one(db).await?.ok_or(Error::not_found())?;
    Ok(JobKind::of_bookmark(saved.kind))
}

/// What waits to be tried again for a document, else what was given up last.
async fn last_work(db: &impl ConnectionTrait, document: &document::Model) -> Result<Option<JobKind>, Error> {
    let own = makes_documents(document.user_id).filter(job::Column::Subject.eq(document.id.0));
    let waits = own.clone().filter(is(JobState::Queued)).one(db).await?;
    let dead = own.filter(job::Column::State.eq(JobState::Dead)).order_by_desc(job::Column::FinishedAt);
    let last = match waits {
        Some(waits) => Some(waits),
        None => dead.one(db).await?,
    };
    Ok(last.and_then(|job| JobKind::named(&job.kind)))
}
