//! Files that can be read by a path of this machine.

use std::path::{Path, PathBuf};

use disk::ScratchFile;

/// A file that can be read by a path of this machine.
#[derive(Debug)]
pub enum LocalFile {
    /// The file in the store itself. It must not be changed.
    Stored(PathBuf),
    /// A file that is removed when this is dropped.
    Temporary(ScratchFile),
}

impl LocalFile {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        match self {
            LocalFile::Stored(path) => path,
            LocalFile::Temporary(file) => file.path(),
        }
    }
}
