//! The room that is left in the user's queue of documents. An import waits while there is none.

use std::time::Duration;

use entity::import;
use jobs::JobError;
use sea_orm::ConnectionTrait;

/// The reason that an import shows while the user's queue of documents is full.
const QUEUE_FULL: &str = "waiting until fewer documents are in the queue";
/// Time after which a job that waits for the queue of documents is tried again.
const QUEUE_RETRY_DELAY: Duration = Duration::from_secs(60);
/// The places in the queue that are reserved for each row. A row takes up to two, for its page and its note; the others are left to
/// other imports of the user.
const PLACES_PER_ROW: u64 = 4;

/// The number of rows that may be applied before the queue is counted again. A count reads the whole queue, so it is not made for each
/// batch.
#[derive(Debug, Default)]
pub struct QueueRoom {
    rows: u64,
}

impl QueueRoom {
    /// Refuses to apply more rows while the user's queue of documents is full. A dry run adds none to it.
    ///
    /// # Errors
    /// [`JobError::Blocked`] while the queue is full.
    pub async fn require(
        &mut self,
        db: &impl ConnectionTrait,
        import: &import::Model,
    ) -> Result<(), JobError> {
        if import.is_dry_run || self.rows > 0 {
            return Ok(());
        }
        self.rows = rows_of(jobs::backlog_room(db, import.user_id).await?);
        if self.rows > 0 {
            return Ok(());
        }
        Err(JobError::Blocked { reason: QUEUE_FULL, after: QUEUE_RETRY_DELAY })
    }

    /// Records that a batch of this many rows was applied.
    pub fn take(&mut self, rows: usize) {
        self.rows = self.rows.saturating_sub(rows as u64);
    }
}

/// Returns the rows for which this many places suffice; at least one if there is a place.
fn rows_of(places: u64) -> u64 {
    (places / PLACES_PER_ROW).max(u64::from(places > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_free_place_is_room_for_a_row() {
        assert_eq!([0, 1, 3, 4, 100_000].map(rows_of), [0, 1, 1, 1, 25_000]);
    }
}
