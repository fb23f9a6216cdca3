//! The names of the files beside an SQLite database.

use std::path::{Path, PathBuf};

/// The suffix of SQLite's write-ahead log: the name of the database with it is that of the log.
pub(super) const LOG_SUFFIX: &str = "-wal";

/// Returns the path of a file whose name is that of the database with a suffix.
pub(super) fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
