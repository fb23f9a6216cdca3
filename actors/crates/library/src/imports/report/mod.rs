//! What an import reports: its rows with their names, the rows that were skipped, and the progress of the texts.

mod names;
mod rows;
mod texts;

use entity::import;
use parse::bookmarks::ImportError;

pub use super::rows::faults::unlisted_faults;
pub use names::{load_row_names, shown_name};
pub use rows::{RowQuery, list_rows, list_skipped_rows};
pub use texts::{count_retried_texts, count_texts};

/// Returns whether an import failed because its format was neither declared nor recognized.
pub fn is_format_unknown(import: &import::Model) -> bool {
    import.format.is_none()
        && import.error.as_ref().is_some_and(|error| *error == ImportError::UnknownFormat.to_string())
}

/// Returns the columns of the file's table that are not imported.
pub fn unread_columns(import: &import::Model) -> Vec<String> {
    let columns = import.unread_columns.as_deref();
    columns.and_then(|columns| serde_json::from_str(columns).ok()).unwrap_or_default()
}
