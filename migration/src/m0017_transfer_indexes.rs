//! One export of a person is packed at a time, and collections are found by the one that they stand in.

use crate::statement::Step;

/// Two indexes.
pub const STEP: Step = Step { name: "m0017_transfer_indexes", up: UP };

const UP: &str = "
UPDATE export SET state = 'failed', error = 'another one was begun' WHERE state = 'running' AND EXISTS (
    SELECT 1 FROM export AS earlier
    WHERE earlier.user_id = export.user_id AND earlier.state = 'running' AND earlier.id < export.id
);
CREATE UNIQUE INDEX export_running ON export (user_id) WHERE state = 'running';
CREATE INDEX collection_parent ON collection (parent_id)
";
