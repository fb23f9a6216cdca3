//! The model store: which models there are, where they lie, and how they get there.
//!
//! A model is a folder that appears whole or not at all: files are gathered and checked beside it, and the folder
//! is renamed into place at the end. Nothing here opens a model or needs one.

mod catalogue;
mod convert;
mod digest;
mod download;
mod import;
mod package;
mod pull;
mod stage;
mod store;
mod unpack;

#[cfg(test)]
mod tests;

use std::error::Error;

pub use catalogue::{Catalogue, Model, ModelFile, Package, Piece, Purpose};
pub use convert::ConvertError;
pub use digest::{Digest, NotADigest};
pub use download::DownloadError;
pub use import::{ImportError, import};
pub use package::PackageError;
pub use pull::{Progress, PullError, Refusal, Source, SourceError, pull};
pub use stage::StageError;
pub use store::{Broken, ModelStatus, Store};

/// An error with its causes, as one line for a person.
fn reasons(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        line.push_str(": ");
        line.push_str(&deeper.to_string());
        cause = deeper.source();
    }
    line
}
