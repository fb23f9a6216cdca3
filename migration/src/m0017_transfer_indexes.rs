//! One export of a person is packed at a time, collections are found by the one that they stand in, and imports whose
//! taking back broke off are told from those whose rows are still to come.

use crate::statement::Step;

/// Indexes, and the rows that they and the newer states need.
pub const STEP: Step = Step { name: "m0017_transfer_indexes", up: UP };

const UP: &str = "
UPDATE export SET state = 'failed', error = 'another one was begun', finished_at = created_at WHERE state = 'running' AND EXISTS (
    SELECT 1 FROM export AS earlier
    WHERE earlier.user_id = export.user_id AND earlier.state = 'running' AND earlier.id < export.id
);
CREATE UNIQUE INDEX export_running ON export (user_id) WHERE state = 'running';
CREATE INDEX collection_parent ON collection (parent_id);
UPDATE import SET state = 'half_undone' WHERE state = 'failed' AND EXISTS (
    SELECT 1 FROM import_row
    WHERE import_row.import_id = import.id AND import_row.outcome = 'created' AND import_row.made_id IS NULL
);
UPDATE import SET finished_at = NULL WHERE state = 'running'
";
