//! How many more jobs a user may enqueue.

use entity::job::{Column, Entity, KindColumn};
use sea_orm::sea_query::{Expr, ExprTrait, Func, Query, SelectStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QuerySelect, QueryTrait};
use values::id::UserId;
use values::kind::JobState;

use super::MAX_WAITING_JOBS;
use super::inspect::is_pending;
use super::kind::Priority;

/// Returns how many more jobs a user may enqueue at the priority of a backlog: the difference between [`MAX_WAITING_JOBS`] and the number
/// of those that wait, deferred ones included. It reads every waiting job up to that bound, so it is asked once for many jobs.
pub async fn backlog_room(db: &impl ConnectionTrait, user: UserId) -> Result<u64, DbErr> {
    let waiting = match db.query_one(&count_backlog(user)).await? {
        Some(row) => row.try_get::<i64>("", "waiting")?,
        None => 0,
    };
    Ok(MAX_WAITING_JOBS.saturating_sub(u64::try_from(waiting).unwrap_or_default()))
}

/// Counts the waiting jobs of the backlog of a user, deferred ones included, up to [`MAX_WAITING_JOBS`].
fn count_backlog(user: UserId) -> SelectStatement {
    let waiting = Entity::owned_by(user)
        .select_only()
        .column(Column::Id)
        .filter(is_pending())
        .filter(Column::State.eq(JobState::Queued))
        // Both values are listed, because they precede the priority in `job_user_pending`.
        .filter(Expr::col((Entity, KindColumn::MakesDocument)).is_in([false, true]))
        .filter(Column::Priority.eq(Priority::Backlog.number()))
        .limit(MAX_WAITING_JOBS)
        .into_query();
    Query::select()
        .expr_as(Func::count(Expr::cust("*")), "waiting")
        .from_subquery(waiting, "backlog")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sea_orm::DbBackend;

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};
    use crate::{Deferral, JobKind, defer, enqueue, enqueue_all};

    #[tokio::test]
    async fn waiting_jobs_of_the_backlog_take_its_room() {
        let queue = TestQueue::new().await;
        let (user, other, db) = (queue.add_user().await, queue.add_user().await, queue.db.write());
        let subjects = (0..300).map(subject);
        enqueue_all(db, user, JobKind::Index, subjects, Priority::Backlog, NOON).await.unwrap();
        enqueue(db, user, JobKind::FetchPage, subject(1), Priority::Now, NOON).await.unwrap();
        enqueue(db, other, JobKind::Index, subject(500), Priority::Backlog, NOON).await.unwrap();

        assert_eq!(backlog_room(db, user).await.unwrap(), MAX_WAITING_JOBS - 300);
        assert_eq!(backlog_room(db, other).await.unwrap(), MAX_WAITING_JOBS - 1);
    }

    #[tokio::test]
    async fn deferred_job_takes_room_and_running_job_does_not() {
        let queue = TestQueue::new().await;
        let (user, db) = (queue.add_user().await, queue.db.write());
        enqueue(db, user, JobKind::Index, subject(1), Priority::Backlog, NOON).await.unwrap();
        let job = queue.claim_one(NOON).await;
        assert_eq!(backlog_room(db, user).await.unwrap(), MAX_WAITING_JOBS);

        let deferral = Deferral { counts_attempt: true, reason: None, delay: Duration::from_secs(60) };
        assert!(defer(db, &job, deferral, NOON).await.unwrap());

        assert_eq!(backlog_room(db, user).await.unwrap(), MAX_WAITING_JOBS - 1);
    }

    #[tokio::test]
    async fn backlog_of_a_user_is_counted_by_an_index() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;

        let query = DbBackend::Sqlite.build(&count_backlog(user));

        queue.assert_uses_index(query, "job_user_pending (user_id=?").await;
    }
}
