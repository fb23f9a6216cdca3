//! Durable background work: a row is the intent, a lease is the doing (architecture.md, section 8).

use crate::id::{JobId, UserId};
use crate::kind::JobState;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// Durable background work: a row is the intent, a lease is the doing (architecture.md, section 8).
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    /// The job.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: JobId,
    /// For whom it runs.
    pub user_id: UserId,
    /// What is to be done; the worker knows the names.
    pub kind: String,
    /// What it is done to: a document, an import.
    pub subject: Uuid,
    /// Where it stands.
    pub state: JobState,
    /// The track on which it waits; the queue knows the numbers.
    pub track: i16,
    /// Lower runs first: what a person waits for comes before a backlog.
    pub priority: i16,
    /// Its place among what waits on the track with this priority; none while it runs, or waits for its time.
    pub turn: Option<i64>,
    /// Not before then.
    pub run_at: Timestamp,
    /// How often it was begun.
    pub attempts: i32,
    /// How often the process died that worked on it, since it got further last.
    pub deaths: i32,
    /// How far a long job has come, in parts that its work knows.
    pub done: i32,
    /// The fencing token: another one at each claim, so that a try which lost its lease changes nothing more.
    pub lease_token: Option<Uuid>,
    /// The data folder whose process claimed it last: that folder's next process ends the lease of a dead one.
    pub lease_owner: Option<Uuid>,
    /// A running try is taken for dead after this.
    pub lease_until: Option<Timestamp>,
    /// Why the last try failed, in words for the person.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended, well or badly.
    pub finished_at: Option<Timestamp>,
}

crate::owned::owned_table!();

impl Model {
    /// A job that waits from now on, without a turn as yet.
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
            turn: None,
            run_at: now,
            attempts: 0,
            deaths: 0,
            done: 0,
            lease_token: None,
            lease_owner: None,
            lease_until: None,
            error: None,
            created_at: now,
            finished_at: None,
        }
    }
}
