//! Whether a user may enqueue more jobs at [`Priority::Now`]: fewer than [`MAX_WAITING_JOBS`] of them wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use entity::job::{Column, Entity};
use sea_orm::sea_query::{Alias, Expr, Func, Query, SelectStatement};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, QueryTrait};
use values::id::UserId;

use super::MAX_WAITING_JOBS;
use super::inspect::is_due;
use super::kind::{Priority, Track};

/// How long a count of waiting jobs is used.
const MAX_COUNT_AGE: Duration = Duration::from_millis(250);
/// Maximum number of jobs that are enqueued after one count.
const MAX_JOBS_PER_COUNT: u64 = 1_000;
/// Number of users from which on counts that are too old are removed.
const MAX_COUNTED_USERS: usize = 1_024;

/// Selects the number of jobs of a user that are due at [`Priority::Now`], at most [`MAX_WAITING_JOBS`]. Its time grows with that number:
/// see [`RecentCounts`].
pub fn count_waiting(user: UserId) -> SelectStatement {
    let waiting = Entity::owned_by(user)
        .select_only()
        // A column that the index of these jobs has.
        .column(Column::Track)
        .filter(is_due())
        // All tracks are listed, because `job_user_due` begins with the track.
        .filter(Column::Track.is_in(Track::ALL.map(Track::number)))
        .filter(Column::Priority.eq(Priority::Now.number()))
        .limit(MAX_WAITING_JOBS)
        .into_query();
    Query::select()
        .expr(Func::count(Expr::col(Column::Track)))
        .from_subquery(waiting, Alias::new("waiting_job"))
        .to_owned()
}

/// The jobs that users may enqueue at [`Priority::Now`] by the last counts of those that wait. A count reads all of them, so saves in quick
/// succession share one. Jobs that others enqueue meanwhile, such as another process, are noticed by the next count. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct RecentCounts(Arc<Mutex<HashMap<UserId, RecentCount>>>);

#[derive(Debug)]
struct RecentCount {
    at: Instant,
    /// Number of jobs that may be enqueued without another count.
    allowed_jobs: u64,
}

impl RecentCount {
    fn is_recent(&self) -> bool {
        self.at.elapsed() < MAX_COUNT_AGE
    }
}

impl RecentCounts {
    /// Takes one of the jobs that a user may enqueue without another count. Returns `false` if there is none.
    pub fn try_take(&self, user: UserId) -> bool {
        match self.lock().get_mut(&user) {
            Some(count) if count.is_recent() && count.allowed_jobs > 0 => {
                count.allowed_jobs -= 1;
                true
            }
            _ => false,
        }
    }

    /// Records a number of waiting jobs ([`count_waiting`]). Returns whether the user may enqueue one more.
    pub fn record(&self, user: UserId, waiting: u64) -> bool {
        let room = MAX_WAITING_JOBS.saturating_sub(waiting);
        // Half of the room, because other requests enqueue jobs too: close to the bound each one counts.
        let allowed_jobs = (room / 2).min(MAX_JOBS_PER_COUNT);
        let mut counts = self.lock();
        if counts.len() >= MAX_COUNTED_USERS {
            counts.retain(|_, count| count.is_recent());
        }
        counts.insert(user, RecentCount { at: Instant::now(), allowed_jobs });
        room > 0
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserId, RecentCount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{ConnectionTrait, DbBackend};

    use super::*;
    use crate::enqueue;
    use crate::kind::JobKind;
    use crate::test_queue::{NOON, TestQueue, subject};

    #[tokio::test]
    async fn due_jobs_of_all_tracks_are_counted_by_an_index() {
        let queue = TestQueue::new().await;
        let (user, other) = (queue.add_user().await, queue.add_user().await);
        queue.enqueue(user, subject(1)).await;
        queue.enqueue(other, subject(2)).await;
        let db = queue.db.write();
        enqueue(db, user, JobKind::FetchPage, subject(3), Priority::Now, NOON).await.unwrap();
        enqueue(db, user, JobKind::Index, subject(4), Priority::Backlog, NOON).await.unwrap();

        let row = db.query_one(&count_waiting(user)).await.unwrap().unwrap();
        let statement = DbBackend::Sqlite.build(&count_waiting(user));
        let plan = QueryPlan::of(&queue.db, statement).await.unwrap();

        assert_eq!(row.try_get_by_index::<i64>(0).unwrap(), 2);
        assert!(plan.has_step("job_user_due (track=? AND priority=? AND user_id=?"), "{plan:#?}");
    }

    #[test]
    fn each_job_is_counted_close_to_the_bound() {
        let (counts, user) = (RecentCounts::default(), UserId::new(NOON));
        assert!(!counts.try_take(user), "nothing is known of the user");

        assert!(counts.record(user, MAX_WAITING_JOBS - 4));
        assert_eq!([(); 3].map(|()| counts.try_take(user)), [true, true, false]);
        assert!(counts.record(user, MAX_WAITING_JOBS - 1));
        assert!(!counts.try_take(user));
        assert!(!counts.record(user, MAX_WAITING_JOBS) && !counts.try_take(user));
    }

    #[test]
    fn old_counts_are_not_used_and_not_kept() {
        let counts = RecentCounts::default();
        for _ in 0..MAX_COUNTED_USERS {
            counts.record(UserId::new(NOON), 0);
        }
        for count in counts.lock().values_mut() {
            count.at -= MAX_COUNT_AGE;
        }
        let known = counts.lock().keys().copied().next().unwrap();
        assert!(!counts.try_take(known));

        let user = UserId::new(NOON);
        assert!(counts.record(user, 0) && counts.clone().try_take(user));

        assert_eq!(counts.lock().len(), 1);
    }
}
