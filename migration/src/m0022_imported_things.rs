//! Things that imports made are found by their ids: whoever takes an import back asks who else relies on them.

use crate::statement::Step;

/// The index of what rows of imports became.
pub const STEP: Step = Step { name: "m0022_imported_things", up: UP };

const UP: &str = "CREATE INDEX import_row_made ON import_row (made_id) WHERE made_id IS NOT NULL";
