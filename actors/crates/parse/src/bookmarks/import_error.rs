//! Why a file cannot be imported.

use serde::{Deserialize, Serialize};

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
    #[error("the file is too large for its format: more than 256 MiB; split it into smaller ones")]
    TooLarge,
    /// An archive that cannot be unpacked, or a list that breaks off before its first row.
    #[error("the file is damaged; export it again, and import the new file")]
    Damaged,
    /// The archive unpacks to far more than an honest one.
    #[error("the archive is too large when unpacked; split it into smaller ones")]
    UnpackedTooLarge,
    /// The archive has no such file.
    #[error("a file that the archive lists is missing from it; export the archive again")]
    MissingFile,
}
