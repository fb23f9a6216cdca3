//! The rows of an import are listed in the order of its file.

use crate::statement::Step;

/// The index of rows by line.
pub const STEP: Step = Step { name: "m0023_import_rows_by_line", up: UP };

const UP: &str = "CREATE INDEX import_row_line ON import_row (import_id, line, id)";
