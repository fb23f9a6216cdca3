//! Which parts of the queue have something to do: columns of a statement that asks for everything that is due.

use database::DirectRow;
use sea_orm::DbErr;

use super::kind::Track;

/// What is due in the queue, whatever the kinds of the jobs are: a claim may find that it can take none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DueJobs {
    /// Whether the time of a deferred job has come, so that [`super::promote`] gives it a queue position.
    pub has_deferred: bool,
    /// Whether a lease has expired, on any track.
    pub has_expired_lease: bool,
    /// Whether a job with a queue position waits on each of [`Track::ALL`].
    has_waiting: [bool; Track::ALL.len()],
}

impl DueJobs {
    /// Number of [`Self::columns`].
    pub const COLUMN_COUNT: usize = 2 + Track::ALL.len();

    /// Returns the columns of a `SELECT` as SQL, of which each looks at the first entry of a range of an index. `$1` is the time in
    /// milliseconds since 1970.
    pub fn columns() -> String {
        // The conditions are spelled as in the partial indexes `job_deferred`, `job_lease` and `job_due`, so that the planners use them.
        let mut conditions = vec![
            "job.state = 'queued' AND job.queue_position IS NULL AND job.run_at <= $1".to_owned(),
            "job.state = 'running' AND job.lease_until < $1".to_owned(),
        ];
        conditions.extend(Track::ALL.map(|track| {
            let number = track.number();
            format!("job.state = 'queued' AND job.queue_position IS NOT NULL AND job.track = {number}")
        }));
        let columns =
            conditions.iter().map(|condition| format!("EXISTS (SELECT 1 FROM job WHERE {condition})"));
        columns.collect::<Vec<_>>().join(", ")
    }

    /// Reads the columns, of which the first one is `first_column` of the row.
    ///
    /// # Errors
    /// [`DbErr`] when the row does not have the columns.
    pub fn from_row(row: &DirectRow<'_>, first_column: usize) -> Result<Self, DbErr> {
        let mut has_waiting = [false; Track::ALL.len()];
        for (column, is_waiting) in (first_column + 2..).zip(&mut has_waiting) {
            *is_waiting = row.get(column)?;
        }
        Ok(Self {
            has_deferred: row.get(first_column)?,
            has_expired_lease: row.get(first_column + 1)?,
            has_waiting,
        })
    }

    /// Returns whether a claim on any track may find jobs.
    pub fn is_any_claimable(&self) -> bool {
        Track::ALL.into_iter().any(|track| self.is_claimable(track))
    }

    /// Returns whether a claim on this track may find jobs.
    pub fn is_claimable(&self, track: Track) -> bool {
        self.has_expired_lease
            || Track::ALL.into_iter().zip(self.has_waiting).any(|(other, waits)| other == track && waits)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::time::Duration;

    use database::{DirectQuery, QueryPlan};
    use sea_orm::{DbBackend, Statement};
    use values::time::Timestamp;

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};
    use crate::{Deferral, JobKind, LEASE_DURATION, Priority, defer, enqueue};

    static DUE: LazyLock<DirectQuery> =
        LazyLock::new(|| DirectQuery::of_sql(|_| format!("SELECT {}", DueJobs::columns())));

    async fn due_at(queue: &TestQueue, now: Timestamp) -> DueJobs {
        let read = |row: &DirectRow<'_>| DueJobs::from_row(row, 0);
        queue.db.direct().query_one(&DUE, [now.millis().into()], read).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn nothing_is_due_in_an_empty_queue() {
        let queue = TestQueue::new().await;

        assert_eq!(due_at(&queue, NOON).await, DueJobs::default());
    }

    #[tokio::test]
    async fn waiting_job_is_due_on_its_track_alone() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue(queue.db.write(), user, JobKind::FetchPage, subject(1), Priority::Backlog, NOON)
            .await
            .unwrap();

        let due = due_at(&queue, NOON).await;

        let tracks: Vec<Track> = Track::ALL.into_iter().filter(|track| due.is_claimable(*track)).collect();
        assert_eq!(tracks, [Track::Web]);
        assert!(due.is_any_claimable() && !due.has_deferred && !due.has_expired_lease, "{due:?}");
    }

    #[tokio::test]
    async fn running_job_is_due_once_its_lease_has_expired() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        queue.claim_one(NOON).await;

        assert_eq!(due_at(&queue, NOON + LEASE_DURATION).await, DueJobs::default());

        let due = due_at(&queue, NOON + LEASE_DURATION + Duration::from_millis(1)).await;
        assert!(due.has_expired_lease && due.is_claimable(Track::Library), "{due:?}");
    }

    #[tokio::test]
    async fn deferred_job_is_due_at_its_time() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        let job = queue.claim_one(NOON).await;
        let delay = Duration::from_secs(60);
        let deferral = Deferral { counts_attempt: true, reason: None, delay };
        assert!(defer(queue.db.write(), &job, deferral, NOON).await.unwrap());

        assert!(!due_at(&queue, NOON + delay - Duration::from_millis(1)).await.has_deferred);

        let due = due_at(&queue, NOON + delay).await;
        assert!(due.has_deferred && !due.is_any_claimable(), "{due:?}");
    }

    #[tokio::test]
    async fn each_column_is_read_from_an_index() {
        let queue = TestQueue::new().await;
        let sql = DUE.sql(DbBackend::Sqlite);
        let statement = Statement::from_sql_and_values(DbBackend::Sqlite, sql, [NOON.millis().into()]);

        let plan = QueryPlan::of(&queue.db, statement).await.unwrap();

        assert!(plan.full_scans().is_empty(), "{plan:#?}");
        for index in ["job_deferred (run_at<?)", "job_lease (lease_until<?)", "_due (track=?)"] {
            assert!(plan.has_step(index), "{plan:#?}");
        }
    }
}
