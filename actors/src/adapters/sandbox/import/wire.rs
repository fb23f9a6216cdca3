//! What the service asks a child that reads a file of another program, and what the child tells. The service asks for some
//! rows at a time, so neither side holds more than that of what may be long.

use serde::{Deserialize, Serialize};

use super::format::Format;

/// Rows that are told at once, at most.
pub const ROWS: usize = 100;
/// Bytes after which no further row is added to those that are told at once.
pub const ENOUGH: usize = 4 << 20;
/// The longest content of one row, in bytes. In JSON it may be six times as long.
pub const CONTENT: usize = 16 << 20;
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

/// Why a file is not read, in words for the person. None of them says anything of what the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NoImport {
    /// Nothing that is known.
    #[error("the format of the file was not recognised")]
    Unknown,
    /// Not what the person said.
    #[error("the file is not of the format that was named")]
    Other,
    /// A file that has to be read whole, and is too long for that.
    #[error("the file is too large for its format: more than 256 MiB")]
    TooLarge,
    /// An archive that cannot be unpacked, a list that breaks off before its first row.
    #[error("the file is damaged")]
    Damaged,
    /// An archive that unpacks to far more than an honest one.
    #[error("the archive is too large when unpacked")]
    Bomb,
    /// The archive has no such file.
    #[error("the archive lacks a file that it names")]
    Missing,
}
