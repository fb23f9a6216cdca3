//! The durable queue of background jobs.

use sea_orm::entity::prelude::*;
use values::id::{JobId, UserId};
use values::kind::JobState;
use values::time::Timestamp;

/// A background job: the row records the work, and a lease marks its execution.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    /// Id of the job; the spread of retry delays depends on it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: JobId,
    /// The user for whom it runs.
    pub user_id: UserId,
    /// Name of the kind of work; the `jobs` crate declares the names.
    pub kind: String,
    /// Id of the object of the work, such as a document or an import.
    pub subject: Uuid,
    /// Whether it is queued, under a lease, finished, or given up.
    pub state: JobState,
    /// The track on which it waits; the `jobs` crate declares the numbers.
    pub track: i16,
    /// Lower values run first: work that a user waits for runs before a backlog.
    pub priority: i16,
    /// Virtual start time among the due jobs of the track with this priority, for fairness among users: the lowest runs first.
    /// `None` while the job runs or waits for `run_at`.
    pub queue_position: Option<i64>,
    /// Earliest time of the next attempt.
    pub run_at: Timestamp,
    /// Number of attempts that were begun since the last progress or request.
    pub attempts: i32,
    /// Number of attempts since the last progress during which the process crashed.
    pub crashes: i32,
    /// Progress of a long job, in units that depend on its kind.
    pub progress: i32,
    /// Fencing token: renewed at each claim, so that an attempt that has lost its lease can change nothing.
    pub lease_token: Option<Uuid>,
    /// The data folder of the process that claimed it last: the next process of that folder ends the lease of a dead one.
    pub lease_owner: Option<Uuid>,
    /// End of the lease: after this time a running attempt counts as dead.
    pub lease_until: Option<Timestamp>,
    /// Why the last attempt failed, as a message for the user.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// Time at which it was first requested.
    pub created_at: Timestamp,
    /// Time at which it ended, with or without success.
    pub finished_at: Option<Timestamp>,
}

/// Columns that the database computes from the kind, so no row is written with them.
#[derive(Clone, Copy, Debug, DeriveIden)]
pub enum KindColumn {
    /// Whether the kind is one of those that make documents. The lists of such jobs find them by it, whatever else waits.
    MakesDocument,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the jobs of all users, for the queue.
    pub fn of_every_user() -> Select<Entity> {
        Self::find()
    }
}

impl Model {
    /// Returns a job that is due now and has no position in its track yet.
    pub fn queued(
        user: UserId,
        kind: &str,
        subject: Uuid,
        (track, priority): (i16, i16),
        now: Timestamp,
    ) -> Self {
        Self {
            id: JobId::new(now),
            user_id: user,
            kind: kind.to_owned(),
            subject,
            state: JobState::Queued,
            track,
            priority,
            queue_position: None,
            run_at: now,
            attempts: 0,
            crashes: 0,
            progress: 0,
            lease_token: None,
            lease_owner: None,
            lease_until: None,
            error: None,
            created_at: now,
            finished_at: None,
        }
    }
}
