//! Reads the jobs that extract the texts of a user's documents or put them into the index ([`JobKind::makes_document`]).

use database::{padded, tested_only};
use entity::document;
use entity::job::{Column, Entity, KindColumn, Model};
use sea_orm::sea_query::{Expr, ExprTrait, Func, LockBehavior, LockType, Query, SelectStatement, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::kind::JobState;

use super::inspect::{has_state, is_pending, jobs_of_kinds_for};
use super::kind::{JobKind, Priority};

fn of_user(user: UserId) -> Select<Entity> {
    Entity::owned_by(user).filter(Column::Kind.is_in(JobKind::that_make_documents()))
}

/// Selects the jobs of a document of a user by their subject: without statistics SQLite would prefer an index of the user's jobs, which are
/// many.
fn of_document(backend: DbBackend, user: UserId, document: DocumentId) -> Select<Entity> {
    Entity::of_every_user()
        .filter(tested_only(Column::UserId.into_expr(), backend).eq(user))
        .filter(Column::Kind.is_in(JobKind::that_make_documents()))
        .filter(Column::Subject.eq(document.0))
}

/// The state of a job that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingState {
    /// It waits, and may be deferred.
    Queued,
    /// It is under a lease.
    Running,
}

/// Selects the jobs of a user in this state by the index `job_user_pending`, which has the jobs of documents apart from the others, however
/// many wait. The state comes before the condition of the index: of two conditions on a column SQLite may take the first one, and would read
/// the jobs of both states for those that run.
fn pending(user: UserId, state: PendingState) -> Select<Entity> {
    let state = match state {
        PendingState::Queued => JobState::Queued,
        PendingState::Running => JobState::Running,
    };
    let makes_document = Expr::col((Entity, KindColumn::MakesDocument)).eq(true);
    Entity::owned_by(user).filter(has_state(state)).filter(makes_document).filter(is_pending())
}

/// Returns whether a job of a document runs.
pub async fn is_document_running(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
) -> Result<bool, DbErr> {
    let own = of_document(db.get_database_backend(), user, document);
    Ok(own.filter(has_state(JobState::Running)).one(db).await?.is_some())
}

/// Returns whether a job of this kind, which makes documents, waits or runs for a document.
pub async fn is_document_pending(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
    kind: JobKind,
) -> Result<bool, DbErr> {
    let own = of_document(db.get_database_backend(), user, document);
    let own = own.filter(Column::Kind.eq(kind.name())).filter(is_pending());
    Ok(own.one(db).await?.is_some())
}

/// Returns the queued job of a document or, if there is none, its latest job that was given up.
pub async fn last_document_job(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
) -> Result<Option<Model>, DbErr> {
    let own = of_document(db.get_database_backend(), user, document);
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
    select_first(user, state, limit).all(db).await
}

/// Selects them in the order of the index.
fn select_first(user: UserId, state: PendingState, limit: u64) -> Select<Entity> {
    pending(user, state).order_by_asc(Column::Priority).order_by_asc(Column::RunAt).limit(limit)
}

/// Selects the number of jobs of a user's documents that run. They are at most as many as all workers have in their slots and batches.
pub fn count_running_documents(user: UserId) -> SelectStatement {
    let running = pending(user, PendingState::Running).select_only().column(Column::Subject).into_query();
    Query::select()
        .expr(Func::count(Expr::col(Column::Subject)))
        .from_subquery(running, "running_job")
        .to_owned()
}

/// Selects the ids of the user's documents of which a job waits or runs.
pub fn pending_documents(user: UserId) -> SelectStatement {
    of_user(user).filter(is_pending()).select_only().column(Column::Subject).into_query()
}

/// Returns the condition that no job of these kinds for a document of the outer statement waits or runs. The owner of the document owns the
/// jobs, so the condition need not name the user; without the user the index `job_subject` finds the few jobs of the document.
pub fn has_no_pending_job_of(kinds: impl IntoIterator<Item = &'static str>) -> SimpleExpr {
    let jobs =
        jobs_of_kinds_for((document::Entity, document::Column::Id), kinds).and_where(is_pending()).to_owned();
    Expr::not_exists(jobs)
}

/// Returns the condition that the metadata of a document of the outer statement is left to no job that
/// [indexes it](JobKind::indexes_metadata): none runs, and none waits that a user waits for. A job of the backlog may wait for hours, as during
/// a change of the embedding model.
pub fn leaves_metadata_to_no_job() -> SimpleExpr {
    let jobs = jobs_of_kinds_for((document::Entity, document::Column::Id), JobKind::that_index_metadata())
        .and_where(is_pending())
        .and_where(has_state(JobState::Running).or(is_urgent()))
        .to_owned();
    Expr::not_exists(jobs)
}

/// Returns the condition that a user waits for a job, as [`Priority::of`] says.
fn is_urgent() -> SimpleExpr {
    Column::Priority.lte(Priority::Now.number())
}

/// Returns those of these documents of a user for which a job waits or runs that [indexes their metadata](JobKind::indexes_metadata) and that
/// a user waits for. On PostgreSQL it locks these jobs, so that none of them ends before the transaction does, and leaves out the documents of
/// jobs that another transaction has locked: it never waits.
pub async fn lock_urgent_index_jobs(
    txn: &impl ConnectionTrait,
    user: UserId,
    documents: &[DocumentId],
) -> Result<Vec<DocumentId>, DbErr> {
    let jobs = urgent_index_jobs_of(user, documents, txn.get_database_backend())
        .lock_with_behavior(LockType::Share, LockBehavior::SkipLocked);
    let subjects: Vec<Uuid> = jobs.into_tuple().all(txn).await?;
    Ok(subjects.into_iter().map(DocumentId).collect())
}

/// Selects the subjects of the pending jobs that index the metadata of these documents and that a user waits for.
fn urgent_index_jobs_of(user: UserId, documents: &[DocumentId], backend: DbBackend) -> Select<Entity> {
    let subjects: Vec<Uuid> = documents.iter().map(|document| document.0).collect();
    Entity::of_every_user()
        // Otherwise SQLite would read all pending jobs of the user, instead of the few of each document.
        .filter(tested_only(Column::UserId.into_expr(), backend).eq(user))
        .filter(Column::Subject.is_in(padded(&subjects)))
        .filter(Column::Kind.is_in(JobKind::that_index_metadata()))
        .filter(is_pending())
        .filter(is_urgent())
        .select_only()
        .column(Column::Subject)
}

#[cfg(test)]
mod list_tests {
    use database::QueryPlan;

    use super::*;
    use crate::test_queue::{NOON, TestQueue};

    #[tokio::test]
    async fn first_jobs_of_documents_are_read_in_the_order_of_an_index() {
        let (queue, user) = (TestQueue::new().await, UserId::new(NOON));
        let index = "job_user_pending (user_id=? AND state=? AND makes_document=?";

        for state in [PendingState::Queued, PendingState::Running] {
            queue.assert_uses_index(select_first(user, state, 1).build(DbBackend::Sqlite), index).await;
        }
    }

    #[tokio::test]
    async fn jobs_of_a_document_are_found_by_it_alone() {
        let (queue, user) = (TestQueue::new().await, UserId::new(NOON));
        let own = of_document(DbBackend::Sqlite, user, DocumentId::new(NOON));

        for state in [JobState::Running, JobState::Queued, JobState::GivenUp] {
            let jobs = own.clone().filter(has_state(state)).order_by_desc(Column::FinishedAt).limit(1);
            let plan = QueryPlan::of(&queue.db, jobs.build(DbBackend::Sqlite)).await.unwrap();

            assert!(plan.has_step("subject=?)") && !plan.has_step("user_id"), "{plan:#?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sea_orm::{EntityTrait, IntoActiveModel, Statement};
    use values::kind::ContentType;

    use super::*;
    use crate::test_queue::{NOON, TestQueue};
    use crate::{Deferral, continue_as_index, defer, enqueue, finish, give_up, promote, withdraw};

    /// Adds a document with a job of this kind, and leaves it to the job.
    async fn leave_to_job(queue: &TestQueue, kind: JobKind) -> (UserId, DocumentId) {
        let user = queue.add_user().await;
        let row = document::Model::pending(user, ContentType::Article, "Herons".to_owned(), NOON);
        let id = row.id;
        document::Entity::insert(row.into_active_model())
            .exec_without_returning(queue.db.write())
            .await
            .unwrap();
        enqueue(queue.db.write(), user, kind, id.0, Priority::Now, NOON).await.unwrap();
        document::Entity::update_owned(user)
            .col_expr(document::Column::AwaitsIndexJob, Expr::value(true))
            .filter(document::Column::Id.eq(id))
            .exec(queue.db.write())
            .await
            .unwrap();
        (user, id)
    }

    async fn is_left(queue: &TestQueue, user: UserId, id: DocumentId) -> bool {
        let row = document::Entity::one_visible_to(user, id).one(queue.db.read()).await.unwrap();
        row.unwrap().awaits_index_job
    }

    #[tokio::test]
    async fn document_is_left_to_its_job_until_that_ends() {
        let queue = TestQueue::new().await;
        let (user, id) = leave_to_job(&queue, JobKind::ProcessText).await;
        let db = queue.db.write();
        let delay = Duration::from_secs(1);

        // Attempts, their leases and the next step of the job do not end it.
        let job = queue.claim_one(NOON).await;
        let deferral = Deferral { counts_attempt: true, reason: Some("late"), delay };
        assert!(defer(db, &job, deferral, NOON).await.unwrap());
        promote(&queue.db, NOON + delay).await.unwrap();
        let job = queue.claim_one(NOON + delay).await;
        assert!(continue_as_index(db, user, &[&job], NOON + delay).await.unwrap());
        assert!(is_left(&queue, user, id).await);

        assert!(finish(db, &job, NOON + delay).await.unwrap());
        assert!(!is_left(&queue, user, id).await);
    }

    #[tokio::test]
    async fn document_is_not_left_to_a_job_that_is_gone() {
        let queue = TestQueue::new().await;
        let db = queue.db.write();
        let (user, id) = leave_to_job(&queue, JobKind::Index).await;
        assert!(give_up(db, &queue.claim_one(NOON).await, "refused", NOON).await.unwrap());
        assert!(!is_left(&queue, user, id).await, "it was given up");

        let (user, id) = leave_to_job(&queue, JobKind::Index).await;
        withdraw(db, user, JobKind::Index, id.0).await.unwrap();
        assert!(!is_left(&queue, user, id).await, "it was withdrawn");
    }

    #[tokio::test]
    async fn end_of_another_kind_of_job_changes_no_document() {
        let queue = TestQueue::new().await;
        let (user, id) = leave_to_job(&queue, JobKind::Index).await;
        let (kind, db) = (JobKind::FetchPage, queue.db.write());
        enqueue(db, user, kind, id.0, Priority::Now, NOON).await.unwrap();

        withdraw(db, user, kind, id.0).await.unwrap();

        assert!(is_left(&queue, user, id).await);
    }

    #[tokio::test]
    async fn documents_with_index_jobs_are_found_by_them() {
        let queue = TestQueue::new().await;
        let (user, waiting) = leave_to_job(&queue, JobKind::Index).await;
        let (other, foreign) = leave_to_job(&queue, JobKind::ProcessText).await;
        let (_, without) = leave_to_job(&queue, JobKind::FetchPage).await;
        let backlog = DocumentId(Uuid::from_u128(7));
        let db = queue.db.write();
        enqueue(db, user, JobKind::Index, backlog.0, Priority::Backlog, NOON).await.unwrap();
        let all = [waiting, foreign, without, backlog];

        let locked = lock_urgent_index_jobs(db, user, &all).await.unwrap();
        let locked_of_other = lock_urgent_index_jobs(db, other, &all).await.unwrap();

        assert_eq!((locked, locked_of_other), (vec![waiting], vec![foreign]));
    }

    #[tokio::test]
    async fn index_jobs_of_documents_are_found_by_their_subjects() {
        let queue = TestQueue::new().await;
        let documents: Vec<DocumentId> = (0..200).map(|id| DocumentId(Uuid::from_u128(id))).collect();

        let user = UserId::new(NOON);
        let jobs = urgent_index_jobs_of(user, &documents, DbBackend::Sqlite).build(DbBackend::Sqlite);

        queue.assert_uses_index(jobs, "job_subject (subject=?").await;
    }

    #[tokio::test]
    async fn kinds_of_the_triggers_are_those_that_index_metadata() {
        let queue = TestQueue::new().await;
        let names: Vec<String> = JobKind::that_index_metadata().map(|name| format!("'{name}'")).collect();
        let kinds = format!("OLD.kind IN ({})", names.join(", "));

        let triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'index_job_%'";
        let statement = Statement::from_string(DbBackend::Sqlite, triggers);
        let rows = queue.db.read().query_all_raw(statement).await.unwrap();

        assert_eq!(rows.len(), 2);
        for row in rows {
            let sql: String = row.try_get("", "sql").unwrap();
            assert!(sql.contains(&kinds), "{sql}");
        }
    }
}
