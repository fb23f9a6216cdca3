//! Requests work, and withdraws requests.

use database::insert_all;
use entity::job::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, OnConflict, SelectStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter};
use uuid::Uuid;
use values::id::UserId;
use values::kind::JobState;
use values::time::Timestamp;

use super::fairness;
use super::kind::{JobKind, Priority};

/// Enqueues a job, in the transaction that makes it necessary. If the same job waits already, it stays one: it gets all its
/// attempts again, and the sooner of the two priorities.
pub async fn enqueue(
    db: &impl ConnectionTrait,
    user: UserId,
    kind: JobKind,
    subject: Uuid,
    priority: Priority,
    now: Timestamp,
) -> Result<(), DbErr> {
    enqueue_all(db, user, kind, [subject], priority, now).await
}

/// Enqueues a job of one kind for each of these subjects, as [`enqueue()`]. No subject may occur twice.
pub async fn enqueue_all(
    db: &impl ConnectionTrait,
    user: UserId,
    kind: JobKind,
    subjects: impl IntoIterator<Item = Uuid>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), DbErr> {
    let (track, priority) = (kind.track().number(), priority.number());
    let mut subjects = subjects.into_iter().peekable();
    if subjects.peek().is_none() {
        return Ok(());
    }
    // Two transactions may compute the same position; their jobs then run in the order of their ids.
    let first_position = fairness::next_position(db, user, kind.name(), (track, priority)).await?;
    let rows = subjects.zip(first_position..).map(|(subject, position)| Model {
        queue_position: Some(position),
        ..Model::queued(user, kind.name(), subject, (track, priority), now)
    });
    insert_all::<Entity>(db, rows, Some(&merge_into_waiting(db, now))).await.map(drop)
}

/// Returns how a request changes the row of the same job that waits already. The unique index `job_queued` detects it.
fn merge_into_waiting(db: &impl ConnectionTrait, now: Timestamp) -> OnConflict {
    let smaller =
        if db.get_database_backend() == sea_orm::DatabaseBackend::Postgres { "LEAST" } else { "MIN" };
    // Positions of two priorities do not compare: a job that becomes more urgent takes the position that the request computed.
    let position = "CASE WHEN job.queue_position IS NULL OR excluded.priority < job.priority \
                    THEN excluded.queue_position ELSE job.queue_position END";
    OnConflict::columns([Column::Kind, Column::Subject])
        .target_and_where(Expr::cust("state = 'queued'"))
        .value(Column::Priority, Expr::cust(format!("{smaller}(job.priority, excluded.priority)")))
        .value(Column::QueuePosition, Expr::cust(position))
        .value(Column::RunAt, now)
        .value(Column::Attempts, 0)
        .value(Column::Crashes, 0)
        .value(Column::Progress, 0)
        .to_owned()
}

/// Enqueues a job once more that was given up, in the place of the row with its reason. Returns `false` if the row is gone.
pub async fn retry_failed(
    db: &impl ConnectionTrait,
    job: &Model,
    kind: JobKind,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let given_up = Entity::delete_owned(job.user_id)
        .filter(Column::Id.eq(job.id))
        .filter(Column::State.eq(JobState::GivenUp));
    if given_up.exec(db).await?.rows_affected == 0 {
        return Ok(false);
    }
    enqueue(db, job.user_id, kind, job.subject, Priority::Now, now).await?;
    Ok(true)
}

/// Removes a queued job that has become unnecessary. A running job is not affected.
pub async fn withdraw(
    db: &impl ConnectionTrait,
    user: UserId,
    kind: JobKind,
    subject: Uuid,
) -> Result<(), DbErr> {
    Entity::delete_owned(user)
        .filter(Column::Kind.eq(kind.name()))
        .filter(Column::Subject.eq(subject))
        .filter(Column::State.eq(JobState::Queued))
        .exec(db)
        .await
        .map(drop)
}

/// Removes the jobs of a kind whose subjects are deleted, in the transaction that deletes them: those that wait and those that have
/// ended. A running job is not affected; its handler finds no subject. `subjects` selects the ids of the subjects.
pub async fn remove_with_subjects(
    db: &impl ConnectionTrait,
    user: UserId,
    kind: JobKind,
    subjects: SelectStatement,
) -> Result<(), DbErr> {
    Entity::delete_owned(user)
        .filter(Column::Kind.eq(kind.name()))
        .filter(Column::State.ne(JobState::Running))
        .filter(Column::Subject.in_subquery(subjects))
        .exec(db)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use database::DatabaseFault;
    use entity::user;
    use sea_orm::sea_query::Query;
    use sea_orm::{DbBackend, EntityTrait, Statement};

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};
    use crate::{Deferral, defer, finish, give_up};

    #[tokio::test]
    async fn waiting_job_requested_again_stays_one() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        for priority in [Priority::Backlog, Priority::Now, Priority::Backlog] {
            enqueue(queue.db.write(), user, JobKind::Index, subject(1), priority, NOON).await.unwrap();
        }

        let jobs = queue.jobs().await;

        assert_eq!(jobs.iter().map(Priority::of).collect::<Vec<_>>(), [Priority::Now]);
    }

    #[tokio::test]
    async fn deferred_job_requested_again_is_due_with_all_attempts() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;
        let job = queue.claim_one(NOON).await;
        let delay = Duration::from_secs(3600);
        let deferral = Deferral { counts_attempt: true, reason: Some("the site is down"), delay };
        assert!(defer(queue.db.write(), &job, deferral, NOON).await.unwrap());

        queue.enqueue(user, subject(1)).await;

        let again = queue.claim_one(NOON).await;
        assert_eq!((again.id, again.attempts), (job.id, 1));
    }

    #[tokio::test]
    async fn withdrawn_job_does_not_run() {
        let queue = TestQueue::new().await;
        let (user, other) = (queue.add_user().await, queue.add_user().await);
        queue.enqueue(user, subject(1)).await;
        queue.enqueue(user, subject(2)).await;

        withdraw(queue.db.write(), user, JobKind::Index, subject(1)).await.unwrap();
        withdraw(queue.db.write(), user, JobKind::FetchPage, subject(2)).await.unwrap();
        withdraw(queue.db.write(), other, JobKind::Index, subject(2)).await.unwrap();

        assert_eq!(queue.claim_one(NOON).await.subject, subject(2));
    }

    #[tokio::test]
    async fn running_job_continues_when_it_is_withdrawn() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;
        let job = queue.claim_one(NOON).await;

        withdraw(queue.db.write(), user, JobKind::Index, subject(1)).await.unwrap();

        assert!(finish(queue.db.write(), &job, NOON).await.unwrap());
        assert_eq!(queue.job(job.id).await.map(|job| job.state), Some(JobState::Done));
    }

    #[tokio::test]
    async fn jobs_of_deleted_subjects_are_removed_unless_they_run() {
        let queue = TestQueue::new().await;
        let (user, other, db) = (queue.add_user().await, queue.add_user().await, queue.db.write());
        queue.enqueue(user, subject(1)).await;
        assert!(finish(db, &queue.claim_one(NOON).await, NOON).await.unwrap());
        queue.enqueue(user, subject(2)).await;
        assert!(give_up(db, &queue.claim_one(NOON).await, "refused", NOON).await.unwrap());
        queue.enqueue(user, subject(3)).await;
        queue.claim_one(NOON).await;
        queue.enqueue(user, subject(4)).await;
        queue.enqueue(user, subject(5)).await;
        queue.enqueue(other, subject(1)).await;
        enqueue(db, user, JobKind::FetchPage, subject(4), Priority::Now, NOON).await.unwrap();

        let deleted = Query::select()
            .column(Column::Subject)
            .from(Entity)
            .and_where(Column::Subject.lt(subject(5)))
            .to_owned();
        remove_with_subjects(db, user, JobKind::Index, deleted).await.unwrap();

        let jobs = queue.jobs().await;
        let mut left: Vec<_> = jobs.iter().map(|job| (job.subject, job.user_id, job.kind.as_str())).collect();
        left.sort();
        let (index, fetch) = (JobKind::Index.name(), JobKind::FetchPage.name());
        let expected = [(1, other, index), (3, user, index), (4, user, fetch), (5, user, index)]
            .map(|(number, user, kind)| (subject(number), user, kind));
        assert_eq!(left, expected);
    }

    #[tokio::test]
    async fn job_without_an_account_is_refused() {
        let queue = TestQueue::new().await;
        let (unknown, db) = (UserId::new(NOON), queue.db.write());

        let refused =
            enqueue(db, unknown, JobKind::Index, subject(1), Priority::Now, NOON).await.unwrap_err();

        assert_eq!(DatabaseFault::of(&refused), DatabaseFault::MissingReference);
        assert!(queue.jobs().await.is_empty());
    }

    #[tokio::test]
    async fn deleted_account_takes_its_jobs_of_every_state() {
        let queue = TestQueue::new().await;
        let (user, other) = (queue.add_user().await, queue.add_user().await);
        for number in 1..=4 {
            queue.enqueue(user, subject(number)).await;
        }
        let claimed = queue.claim(3, NOON).await.jobs;
        assert!(finish(queue.db.write(), &claimed[0].row, NOON).await.unwrap());
        assert!(give_up(queue.db.write(), &claimed[1].row, "gone", NOON).await.unwrap());
        queue.enqueue(other, subject(9)).await;

        user::Entity::delete_by_id(user).exec(queue.db.write()).await.unwrap();

        let left: Vec<UserId> = queue.jobs().await.into_iter().map(|job| job.user_id).collect();
        assert_eq!(left, [other]);
    }

    #[tokio::test]
    async fn jobs_of_a_deleted_account_are_found_by_indexes() {
        let queue = TestQueue::new().await;
        let trigger = "SELECT sql FROM sqlite_master WHERE name = 'user_of_jobs_deleted'";
        let trigger = Statement::from_string(DbBackend::Sqlite, trigger);
        let row = queue.db.read().query_one_raw(trigger).await.unwrap().unwrap();
        let sql: String = row.try_get("", "sql").unwrap();
        let body = sql.split_once("BEGIN").unwrap().1.replace("OLD.id", "x'00'");
        let statements: Vec<&str> = body.split(';').map(str::trim).filter(|sql| *sql != "END").collect();

        assert_eq!(statements.len(), 3, "{sql}");
        for (sql, index) in
            statements.into_iter().zip(["job_user_pending", "job_finished", "job_user_given_up"])
        {
            let delete = Statement::from_string(DbBackend::Sqlite, sql);
            queue.assert_uses_index(delete, &format!("{index} (user_id=?")).await;
        }
    }
}
