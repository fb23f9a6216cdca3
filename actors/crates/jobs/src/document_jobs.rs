//! Reads the jobs that extract the texts of a user's documents or put them into the index ([`JobKind::makes_document`]).

use entity::document;
use entity::job::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};
use values::id::{DocumentId, UserId};
use values::kind::JobState;

use super::inspect::{has_state, is_pending};
use super::kind::JobKind;

fn of_user(user: UserId) -> Select<Entity> {
    Entity::owned_by(user).filter(Column::Kind.is_in(JobKind::that_make_documents()))
}

fn of_document(user: UserId, document: DocumentId) -> Select<Entity> {
    of_user(user).filter(Column::Subject.eq(document.0))
}

/// The state of a job that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingState {
    /// It waits, and may be deferred.
    Queued,
    /// It is under a lease.
    Running,
}

/// Selects the jobs of a user in this state, by the index `job_user_pending`.
fn pending(user: UserId, state: PendingState) -> Select<Entity> {
    let state = match state {
        PendingState::Queued => JobState::Queued,
        PendingState::Running => JobState::Running,
    };
    of_user(user).filter(is_pending()).filter(has_state(state))
}

/// Returns whether a job of a document runs.
pub async fn is_document_running(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
) -> Result<bool, DbErr> {
    Ok(of_document(user, document).filter(has_state(JobState::Running)).one(db).await?.is_some())
}

/// Returns whether a job of this kind, which makes documents, waits or runs for a document.
pub async fn is_document_pending(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
    kind: JobKind,
) -> Result<bool, DbErr> {
    let own = of_document(user, document).filter(Column::Kind.eq(kind.name())).filter(is_pending());
    Ok(own.one(db).await?.is_some())
}

/// Returns the queued job of a document or, if there is none, its latest job that was given up.
pub async fn last_document_job(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
) -> Result<Option<Model>, DbErr> {
    let own = of_document(user, document);
    if let Some(queued) = own.clone().filter(has_state(JobState::Queued)).one(db).await? {
        return Ok(Some(queued));
    }
    own.filter(has_state(JobState::GivenUp)).order_by_desc(Column::FinishedAt).one(db).await
}

/// Lists the first jobs of a user's documents in this state: the most urgent first, then those whose next attempt
/// is the earliest.
pub async fn list_document_jobs(
    db: &impl ConnectionTrait,
    user: UserId,
    state: PendingState,
    limit: u64,
) -> Result<Vec<Model>, DbErr> {
    let first = pending(user, state).order_by_asc(Column::Priority).order_by_asc(Column::RunAt);
    first.limit(limit).all(db).await
}

/// Counts the jobs of a user's documents in this state.
pub async fn count_document_jobs(
    db: &impl ConnectionTrait,
    user: UserId,
    state: PendingState,
) -> Result<u64, DbErr> {
    // In the index alone: a count of whole rows would read each of them.
    let jobs = pending(user, state).select_only().column_as(Column::Subject.count(), "jobs");
    let jobs: Option<i64> = jobs.into_tuple().one(db).await?;
    Ok(jobs.and_then(|jobs| u64::try_from(jobs).ok()).unwrap_or_default())
}

/// Selects the ids of the user's documents of which a job waits or runs.
pub fn pending_documents(user: UserId) -> SelectStatement {
    of_user(user).filter(is_pending()).select_only().column(Column::Subject).into_query()
}

/// Returns the condition that no job of a document of the outer statement waits or runs. The owner of the document owns the jobs, so
/// the condition need not name the user; without the user the index `job_subject` finds the few jobs of the document.
pub fn has_no_pending_job() -> SimpleExpr {
    has_no_pending_job_of(JobKind::that_make_documents())
}

/// Returns the condition that no job of these kinds for a document of the outer statement waits or runs, as [`has_no_pending_job`].
pub fn has_no_pending_job_of(kinds: impl IntoIterator<Item = &'static str>) -> SimpleExpr {
    let jobs = Query::select()
        .column(Column::Id)
        .from(Entity)
        .and_where(Expr::col((Entity, Column::Subject)).equals((document::Entity, document::Column::Id)))
        .and_where(Column::Kind.is_in(kinds))
        .and_where(is_pending())
        .to_owned();
    Expr::not_exists(jobs)
}
