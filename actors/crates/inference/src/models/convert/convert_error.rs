//! Why a model was not converted.

use std::io;

/// Why a model was not converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A file cannot be read or written.
    #[error("could not convert the model")]
    Io(#[from] io::Error),
    /// A file does not have the expected format. Names the part.
    #[error("could not convert the model: {0} is not as expected")]
    Format(&'static str),
}
