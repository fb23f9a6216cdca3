//! Files of other programs, read row by row: what was saved elsewhere, and exports of this service.
//!
//! [`Source::open`] tells by its bytes which program wrote a file and gives its rows one after the other, each format in a
//! file of its own. It holds whole only those formats that cannot be read otherwise.

mod archive;
mod browser;
mod format;
mod karakeep;
mod lenient;
mod lines;
mod links;
mod linkwarden;
mod mark;
mod moment;
mod objects;
mod omnivore;
mod onetab;
mod own;
mod row;
mod source;
mod tables;
mod tree;

use serde::{Deserialize, Serialize};

pub use archive::{Archive, Unpacked};
pub use format::{Format, UnknownFormat};
pub use mark::Mark;
pub use row::{Found, Note, Row, Save};
pub use source::Source;

/// The longest content of one row, in bytes. In JSON it may be six times as long.
pub const CONTENT: usize = 16 << 20;

/// Why a file is not read, in words for the person. None of them says anything of what the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NoImport {
    /// Nothing that is known.
    #[error("the file is none of the formats that are imported")]
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
