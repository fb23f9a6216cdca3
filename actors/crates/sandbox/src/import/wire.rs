//! Requests to a child that reads a file of another program, and its responses. The service requests some rows at a time,
//! so neither side holds more than that in memory.

use parse::bookmarks::{Format, ImportError, MAX_CONTENT_BYTES};
use serde::{Deserialize, Serialize};

/// The most rows of one response.
pub const MAX_ROWS: usize = 100;
/// Bytes after which no further row is added to a response.
pub const TARGET_BATCH_BYTES: usize = 4 << 20;
/// The longest body of a response.
pub const MAX_BODY_BYTES: usize = TARGET_BATCH_BYTES + 7 * MAX_CONTENT_BYTES;
/// Bytes of a packed file in one response.
pub const PIECE_BYTES: usize = 1 << 20;

/// A request to the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum ImportRequest {
    /// Open the file; sent once, before all others.
    Open {
        /// The program that wrote it, if the user named one.
        format: Option<Format>,
    },
    /// Return the next rows.
    Rows,
    /// Skip rows that an earlier run of the import has taken.
    Skip {
        /// The number of rows.
        rows: u64,
    },
    /// Begin to unpack a file of the archive.
    OpenFile {
        /// Its name in the archive.
        name: String,
    },
    /// Return the next piece of that file.
    Piece,
}

/// A response of the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum ImportResponse {
    /// The file can be read.
    Opened {
        /// The program that wrote it.
        format: Format,
        /// Columns of a table that are not read.
        unread_columns: Vec<String>,
    },
    /// Some rows, as JSON in the frame's body; none at the end.
    Rows,
    /// The rows were skipped, or all that were left of them.
    Skipped,
    /// The packed file exists.
    FileOpened,
    /// A piece of the packed file in the frame's body; empty at its end.
    Piece,
    /// The file cannot be read.
    Failed {
        /// The cause.
        reason: ImportError,
    },
}
