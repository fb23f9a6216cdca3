//! Files of other programs, read row by row: what was saved elsewhere, and exports of this service.
//!
//! [`ImportSource::open`] detects the format of a file by its bytes, and reads its rows one after the other. Each format is a file
//! of its own. Only formats that cannot be read otherwise are held whole in memory.

mod annotation;
mod browser;
mod carrel;
mod folder_tree;
mod format;
mod karakeep;
mod lenient;
mod line_reader;
mod linkwarden;
mod netscape;
mod objects;
mod omnivore;
mod onetab;
mod row;
mod source;
mod tables;
mod time_formats;
mod zip_reader;

use serde::{Deserialize, Serialize};

pub use annotation::Annotation;
pub use format::{Format, UnknownFormat};
pub use row::{BookmarkDraft, Note, Row, RowContent};
pub use source::ImportSource;
pub use zip_reader::{EntryReader, ZipReader};

/// The longest content of one row, in bytes. In JSON it may be six times as long.
pub const MAX_CONTENT_BYTES: usize = 16 << 20;

/// Why a file cannot be imported, in words for the user. None of these repeats any of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ImportError {
    /// The format was not recognised.
    #[error("the format of the file was not recognised")]
    UnknownFormat,
    /// The file is not of the format that the user named.
    #[error("the file is not of the format that was named; leave the format out to detect it")]
    WrongFormat,
    /// The format has to be read whole, and the file is too long for that.
    #[error("the file is too large for its format: more than 256 MiB")]
    TooLarge,
    /// An archive that cannot be unpacked, or a list that breaks off before its first row.
    #[error("the file is damaged")]
    Damaged,
    /// The archive unpacks to far more than an honest one.
    #[error("the archive is too large when unpacked")]
    UnpackedTooLarge,
    /// The archive has no such file.
    #[error("a file that the archive lists is missing from it")]
    MissingFile,
}
