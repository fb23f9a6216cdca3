//! Requests to a child that reads a file of another program, and its responses. The server requests some rows at a time,
//! so neither side holds more than that in memory.

use parse::bookmarks::{Format, ImportError, MAX_CONTENT_BYTES};
use serde::{Deserialize, Serialize};

/// The maximum number of rows in one response.
pub const MAX_ROWS: usize = 500;
/// The maximum number of rows that one request skips. Their bytes are not bounded, as those of a response are.
pub const MAX_SKIPPED_ROWS: u64 = 100;
/// Bytes after which no further row is added to a response.
pub const TARGET_BATCH_BYTES: usize = 4 << 20;
/// The maximum length of the body of a response, in bytes.
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
    Rows {
        /// The maximum number of rows; the response has at most [`MAX_ROWS`].
        max: usize,
    },
    /// Skip rows that an earlier run of the import has taken.
    Skip {
        /// The number of rows to skip. The server requests at most [`MAX_SKIPPED_ROWS`] at a time.
        rows: u64,
    },
    /// Begin to unpack a file of the archive.
    OpenFile {
        /// The path of the file in the archive.
        name: String,
    },
    /// Return the next piece of that file.
    Piece,
}

/// A response of the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum ImportResponse {
    /// The file was opened and its format is known.
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
    /// The archive has the file; its pieces can be requested.
    FileOpened,
    /// A piece of the packed file in the frame's body; empty at its end.
    Piece,
    /// The request cannot be answered from this file.
    Failed {
        /// The cause, which contains nothing of the file.
        reason: ImportError,
    },
}
