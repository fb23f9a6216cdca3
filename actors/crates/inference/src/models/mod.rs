//! The model store: the catalogue, the folders of models, and their download and import.
//!
//! The folder of a model appears complete or not at all: files are collected and verified in a staging folder, which is renamed at the
//! end. Nothing here opens a model.

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

pub use catalogue::{Catalogue, Model, ModelFile, Package, Piece, Purpose};
pub use convert::ConvertError;
pub use digest::{Digest, InvalidDigest};
pub use download::DownloadError;
pub use import::{ImportError, import};
pub use package::PackageError;
pub use pull::{Progress, PullError, PullSource, SourceError, SourceFailure, pull};
pub use stage::StageError;
pub use store::{ModelStatus, Store, VerifyError};
