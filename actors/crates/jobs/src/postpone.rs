//! Postpones jobs until their user lets them run, such as those of a paused import.
//!
//! A postponed job is a queued job without a queue position, so no worker claims it, and it is due too late for
//! [`promote`](super::promote) to give it one. The reason in its row tells it from a job that waits for something else.

use entity::job::{Column, Entity};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, UpdateMany};
use uuid::Uuid;
use values::id::UserId;
use values::kind::JobState;
use values::time::Timestamp;

/// When a postponed job is due: at the end of the year 9999, the latest time that the databases can store.
const POSTPONED_RUN_AT: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// Postpones the queued jobs of a user about these subjects, with a reason for the user, until [`release_postponed`] makes them due.
/// A request for the same job merges into the row and so makes it due before. Running jobs continue.
pub async fn postpone(
    db: &impl ConnectionTrait,
    user: UserId,
    subjects: impl IntoIterator<Item = Uuid>,
    reason: &str,
) -> Result<(), DbErr> {
    update_queued(user, subjects)
        .col_expr(Column::RunAt, Expr::value(POSTPONED_RUN_AT))
        .col_expr(Column::QueuePosition, Expr::value(None::<i64>))
        .col_expr(Column::Error, Expr::value(reason))
        .exec(db)
        .await
        .map(drop)
}

/// Makes the jobs of a user about these subjects due that were postponed with this reason. Jobs that wait for another reason, such as
/// a host that asked for a pause, keep their time.
pub async fn release_postponed(
    db: &impl ConnectionTrait,
    user: UserId,
    subjects: impl IntoIterator<Item = Uuid>,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    update_queued(user, subjects)
        .col_expr(Column::RunAt, Expr::value(now))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .filter(Column::Error.eq(reason))
        .exec(db)
        .await
        .map(drop)
}

/// Returns an update of the jobs of a user about these subjects that no worker has claimed.
fn update_queued(user: UserId, subjects: impl IntoIterator<Item = Uuid>) -> UpdateMany<Entity> {
    Entity::update_owned(user)
        .filter(Column::State.eq(JobState::Queued))
        .filter(Column::Subject.is_in(subjects))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};
    use crate::{Deferral, defer, promote};

    const PAUSED: &str = "its import is paused";
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

    #[tokio::test]
    async fn postponed_job_runs_once_it_is_released() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;

        postpone(queue.db.write(), user, [subject(1)], PAUSED).await.unwrap();
        promote(&queue.db, NOON + YEAR).await.unwrap();
        assert!(queue.claim(1, NOON + YEAR).await.jobs.is_empty());
        assert_eq!(queue.jobs().await[0].error.as_deref(), Some(PAUSED));

        release_postponed(queue.db.write(), user, [subject(1)], PAUSED, NOON).await.unwrap();
        promote(&queue.db, NOON).await.unwrap();
        let job = queue.claim_one(NOON).await;
        assert_eq!((job.subject, job.error), (subject(1), None));
    }

    #[tokio::test]
    async fn postponed_job_requested_again_is_due() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;
        postpone(queue.db.write(), user, [subject(1)], PAUSED).await.unwrap();

        queue.enqueue(user, subject(1)).await;

        assert_eq!(queue.claim_one(NOON).await.subject, subject(1));
    }

    #[tokio::test]
    async fn postponement_leaves_running_jobs_and_other_users() {
        let queue = TestQueue::new().await;
        let (user, other) = (queue.add_user().await, queue.add_user().await);
        queue.enqueue(user, subject(1)).await;
        queue.claim_one(NOON).await;
        queue.enqueue(other, subject(2)).await;
        queue.enqueue(user, subject(3)).await;
        let before = queue.jobs().await;

        postpone(queue.db.write(), user, [subject(1), subject(2)], PAUSED).await.unwrap();

        assert_eq!(queue.jobs().await, before);
    }

    #[tokio::test]
    async fn release_leaves_jobs_with_other_reasons_and_users() {
        let queue = TestQueue::new().await;
        let (user, other) = (queue.add_user().await, queue.add_user().await);
        queue.enqueue(user, subject(1)).await;
        let job = queue.claim_one(NOON).await;
        let reason = Some("the site is down");
        let deferral = Deferral { counts_attempt: true, reason, delay: Duration::from_secs(60) };
        assert!(defer(queue.db.write(), &job, deferral, NOON).await.unwrap());
        queue.enqueue(other, subject(2)).await;
        postpone(queue.db.write(), other, [subject(2)], PAUSED).await.unwrap();
        let before = queue.jobs().await;

        release_postponed(queue.db.write(), user, [subject(1), subject(2)], PAUSED, NOON).await.unwrap();

        assert_eq!(queue.jobs().await, before);
    }
}
