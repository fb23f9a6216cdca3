//! An import is shown with the name of its file.

use crate::statement::Step;

/// The name, where the file has one.
pub const STEP: Step = Step { name: "m0034_import_file_name", up: UP };

const UP: &str = "ALTER TABLE import ADD COLUMN file_name TEXT";
