//! Which file or folder is at a path: what is removed and made again, or put in its place, has another identity.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The device of a file or folder, and its number (inode) there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

// A file system reuses the number of an inode only when its file is removed and closed, so no other file has the identity of one that is
// open.
impl From<&Metadata> for FileIdentity {
    fn from(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}
