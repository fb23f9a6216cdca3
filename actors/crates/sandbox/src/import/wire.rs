//! What the service asks a child that reads a file of another program, and what the child tells. The service asks for some
//! rows at a time, so neither side holds more than that of what may be long.

use parse::bookmarks::{CONTENT, Format, NoImport};
use serde::{Deserialize, Serialize};

/// Rows that are told at once, at most.
pub const ROWS: usize = 100;
/// Bytes after which no further row is added to those that are told at once.
pub const ENOUGH: usize = 4 << 20;
/// The longest body of what a child tells.
pub const LONGEST: usize = ENOUGH + 7 * CONTENT;
/// Bytes of a packed file that are told at once.
pub const PIECE: usize = 1 << 20;

/// What is asked of the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Look at the file, once and first.
    Open {
        /// Which program wrote it, where the person says so.
        format: Option<Format>,
    },
    /// The next rows.
    Rows,
    /// Pass so many rows over: an import that goes on has taken them.
    Pass {
        /// How many.
        rows: u64,
    },
    /// Begin to unpack a file that came in the archive.
    File {
        /// Its name there.
        name: String,
    },
    /// Its next piece.
    Piece,
}

/// What the child tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum Told {
    /// The file can be read.
    Opened {
        /// Which program wrote it.
        format: Format,
        /// Columns of a table that are not read.
        unread_columns: Vec<String>,
    },
    /// Some rows, as JSON in the frame's body; at the end there are none.
    Rows,
    /// That many fewer rows were there to be passed over, or all of them.
    Passed,
    /// The packed file is there.
    File,
    /// A piece of the packed file in the frame's body; at the end it is empty.
    Piece,
    /// It cannot be read.
    Unread {
        /// Why not.
        reason: NoImport,
    },
}
