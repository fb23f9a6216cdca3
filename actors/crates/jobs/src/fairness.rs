//! Fairness among users: due jobs run in the order of their queue positions, and the jobs of one user have successive positions.
//!
//! This is start-time fair queueing (Goyal, Vin, Cheng 1996) with jobs of equal size; a queue position is the virtual start time.
//! A new job gets the position after the last waiting job of its user, but never one before the smallest position that waits. So
//! users with waiting jobs alternate, however many jobs one of them has, and a user without waiting jobs is served next. Jobs that
//! serve all followers of a feed count as the jobs of one more user, whichever follower they are stored with. Positions compare
//! within a track and a priority. Other queues of callers, such as `concurrency::FairQueue`, take accounts in rotation and forget them;
//! these positions are a column of the jobs, so that they survive a restart and hold among processes.

use database::Db;
use entity::job::{Column, Entity};
use sea_orm::sea_query::{Expr, LockBehavior, LockType, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};
use values::id::UserId;
use values::kind::JobState;
use values::time::Timestamp;

use super::inspect::{is_deferred, is_due};
use super::kind::{JobKind, has_known_kind};

/// The names of the kinds that serve all followers of a feed, as SQL: exactly as in the partial index `job_shared_due`, so that the
/// planners use it.
const SHARED_KINDS_SQL: &str = "('fetch_feed', 'subscribe')";
/// Maximum number of jobs to which one call of [`promote`] gives a queue position.
const MAX_PROMOTED_JOBS: u64 = 200;

/// Returns the queue position of the next job of a user and kind.
pub(crate) async fn next_position(
    db: &impl ConnectionTrait,
    user: UserId,
    kind: &str,
    (track, priority): (i16, i16),
) -> Result<i64, DbErr> {
    let last = match JobKind::named(kind).is_some_and(JobKind::serves_all_followers) {
        true => last_shared_position(track, priority),
        false => last_position_of_user(user, track, priority),
    };
    // Both positions are read from an end of an index, so the cost does not grow with the number of waiting jobs.
    let positions = Query::select()
        .expr_as(smallest_position(track, priority).limit(1).into_query(), "smallest")
        .expr_as(last.limit(1).into_query(), "last")
        .take();
    let row = db.query_one(&positions).await?;
    let position = |name: &str| match &row {
        Some(row) => row.try_get::<Option<i64>>("", name),
        None => Ok(None),
    };
    let after_last = position("last")?.map_or(0, |position| position.saturating_add(1));
    Ok(after_last.max(position("smallest")?.unwrap_or(0)))
}

/// Selects the positions of the due jobs, the smallest first.
fn smallest_position(track: i16, priority: i16) -> Select<Entity> {
    // Jobs of unknown kinds may wait for long. Their positions would hold the smallest one back, and every user that comes later would
    // be served before those that have waited.
    positions(Entity::of_every_user(), track, priority)
        .filter(has_known_kind())
        .order_by_asc(Column::QueuePosition)
}

/// Selects the positions of the due jobs of a user, the last first, without those that serve all followers of a feed.
fn last_position_of_user(user: UserId, track: i16, priority: i16) -> Select<Entity> {
    positions(Entity::owned_by(user), track, priority)
        .filter(has_known_kind())
        .filter(Expr::cust(format!("kind NOT IN {SHARED_KINDS_SQL}")))
        .order_by_desc(Column::QueuePosition)
}

/// Selects the positions of the due jobs that serve all followers of a feed, the last first.
fn last_shared_position(track: i16, priority: i16) -> Select<Entity> {
    positions(Entity::of_every_user(), track, priority)
        .filter(Expr::cust(format!("kind IN {SHARED_KINDS_SQL}")))
        .order_by_desc(Column::QueuePosition)
}

/// Selects the positions of those of these jobs that are due, of a track and a priority.
fn positions(jobs: Select<Entity>, track: i16, priority: i16) -> Select<Entity> {
    jobs.select_only()
        .column(Column::QueuePosition)
        .filter(is_due())
        .filter(Column::Track.eq(track))
        .filter(Column::Priority.eq(priority))
}

/// Gives a queue position to deferred jobs whose time has come.
pub async fn promote(db: &Db, now: Timestamp) -> Result<(), DbErr> {
    let due = Entity::of_every_user()
        .filter(is_deferred())
        .filter(Column::RunAt.lte(now))
        .order_by_asc(Column::RunAt)
        .limit(MAX_PROMOTED_JOBS);
    // A read first, because most of the time no job is due and a transaction would take the lock of the database.
    if due.clone().one(db.read()).await?.is_none() {
        return Ok(());
    }
    let txn = db.begin().await?;
    // It locks jobs of many users, so it never waits for a lock: a job that is locked gets its position at the next call.
    let due = due.lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    for job in due.all(&txn).await? {
        let position = next_position(&txn, job.user_id, &job.kind, (job.track, job.priority)).await?;
        Entity::update_owned(job.user_id)
            .col_expr(Column::QueuePosition, Expr::value(position))
            // A request or a claim may have changed the row since it was read.
            .filter(Column::Id.eq(job.id))
            .filter(Column::State.eq(JobState::Queued))
            .filter(Column::QueuePosition.is_null())
            .filter(Column::RunAt.lte(now))
            .exec(&txn)
            .await?;
    }
    txn.commit().await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use entity::job::Model;
    use sea_orm::{DbBackend, Statement};

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};
    use crate::{Deferral, Priority, defer, enqueue_all};

    async fn enqueue_jobs(queue: &TestQueue, user: UserId, subjects: std::ops::Range<u128>) {
        let subjects = subjects.map(subject);
        enqueue_all(queue.db.write(), user, JobKind::Index, subjects, Priority::Now, NOON).await.unwrap();
    }

    async fn claimed_users(queue: &TestQueue, free: u64) -> Vec<UserId> {
        queue.claim(free, NOON).await.jobs.iter().map(|job| job.row.user_id).collect()
    }

    #[tokio::test]
    async fn users_with_waiting_jobs_alternate() {
        let queue = TestQueue::new().await;
        let (many, few) = (queue.add_user().await, queue.add_user().await);
        enqueue_jobs(&queue, many, 0..20).await;
        enqueue_jobs(&queue, few, 20..22).await;

        let users = claimed_users(&queue, 6).await;

        let of_few: Vec<bool> = users.chunks(2).map(|pair| pair.contains(&few)).collect();
        assert_eq!(of_few, [true, true, false]);
        assert_eq!(users.iter().filter(|user| **user == many).count(), 4);
    }

    #[tokio::test]
    async fn user_without_waiting_jobs_is_served_next() {
        let queue = TestQueue::new().await;
        let (many, late) = (queue.add_user().await, queue.add_user().await);
        enqueue_jobs(&queue, many, 0..20).await;
        assert_eq!(claimed_users(&queue, 5).await, [many; 5]);
        enqueue_jobs(&queue, late, 20..22).await;

        let users = claimed_users(&queue, 4).await;

        assert_eq!(users.iter().filter(|user| **user == late).count(), 2, "{users:?}");
    }

    #[tokio::test]
    async fn jobs_of_feeds_count_as_those_of_one_more_user() {
        let queue = TestQueue::new().await;
        let (one, other) = (queue.add_user().await, queue.add_user().await);
        let kind = JobKind::FetchFeed;
        for (user, number) in [(one, 1), (other, 2)] {
            let subjects = [subject(number)];
            enqueue_all(queue.db.write(), user, kind, subjects, Priority::Now, NOON).await.unwrap();
        }

        let place = (kind.track().number(), Priority::Now.number());
        let next = next_position(queue.db.read(), one, kind.name(), place).await.unwrap();
        let next_of_page =
            next_position(queue.db.read(), one, JobKind::FetchPage.name(), place).await.unwrap();

        assert_eq!((next, next_of_page), (2, 0));
    }

    #[tokio::test]
    async fn kinds_of_the_shared_index_are_those_that_serve_all() {
        let queue = TestQueue::new().await;
        let shared = JobKind::ALL.into_iter().filter(|kind| kind.serves_all_followers());
        let names: Vec<String> = shared.map(|kind| format!("'{}'", kind.name())).collect();

        let index = "SELECT sql FROM sqlite_master WHERE name = 'job_shared_due'";
        let statement = Statement::from_string(DbBackend::Sqlite, index);
        let row = queue.db.read().query_one_raw(statement).await.unwrap().unwrap();

        assert_eq!(SHARED_KINDS_SQL, format!("({})", names.join(", ")));
        let sql: String = row.try_get("", "sql").unwrap();
        assert!(sql.contains(&format!("kind IN {SHARED_KINDS_SQL}")), "{sql}");
    }

    #[tokio::test]
    async fn queue_positions_are_read_from_an_end_of_an_index() {
        let queue = TestQueue::new().await;
        let user = UserId::new(NOON);

        let queries = [
            ("job_due (track=? AND priority=?", smallest_position(0, 10)),
            ("job_user_due (track=? AND priority=? AND user_id=?", last_position_of_user(user, 0, 10)),
            ("job_shared_due (track=? AND priority=?", last_shared_position(0, 10)),
        ];

        for (index, query) in queries {
            queue.assert_uses_index(query.limit(1).build(DbBackend::Sqlite), index).await;
        }
    }

    #[tokio::test]
    async fn positions_of_unknown_kinds_do_not_count() {
        let queue = TestQueue::new().await;
        let (many, late) = (queue.add_user().await, queue.add_user().await);
        for (number, position) in [(1, 0), (2, 90)] {
            let unknown = queue.unknown(late, subject(number));
            queue.insert(&Model { queue_position: Some(position), ..unknown }).await;
        }
        enqueue_jobs(&queue, many, 10..13).await;
        assert_eq!(claimed_users(&queue, 2).await, [many; 2]);

        let place = (JobKind::Index.track().number(), Priority::Now.number());
        let next = next_position(queue.db.read(), late, JobKind::Index.name(), place).await.unwrap();

        assert_eq!(next, 2);
    }

    #[tokio::test]
    async fn deferred_job_gets_a_position_when_it_is_due() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        let job = queue.claim_one(NOON).await;
        let delay = Duration::from_secs(60);
        let deferral = Deferral { counts_attempt: true, reason: None, delay };
        assert!(defer(queue.db.write(), &job, deferral, NOON).await.unwrap());

        let early = NOON + Duration::from_secs(59);
        promote(&queue.db, early).await.unwrap();
        assert!(queue.claim(1, early).await.jobs.is_empty());

        promote(&queue.db, NOON + delay).await.unwrap();
        assert_eq!(queue.claim_one(NOON + delay).await.id, job.id);
    }
}
