//! Faulty rows of an import beyond the first ten thousand are counted by reason, and a run of faults stops it.

use crate::statement::Step;

/// The counts, and the length of the current run.
pub const STEP: Step = Step { name: "m0030_import_faults", up: UP };

const UP: &str = "
ALTER TABLE import ADD COLUMN unlisted_faults TEXT;
ALTER TABLE import ADD COLUMN faults_in_a_row INTEGER NOT NULL DEFAULT 0
";
