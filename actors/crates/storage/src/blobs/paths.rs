//! The paths of files in a store.

use values::id::{FileId, UploadId};

/// Returns the path of a file in the store: its id, in a folder named by the last two digits of the id, so that no folder grows large.
pub fn blob_path(id: FileId) -> String {
    // The last byte of a UUIDv7 is random. Its first bytes are a time, so all new files would share a folder.
    let [.., last] = *id.0.as_bytes();
    format!("{last:02x}/{id}")
}

/// Returns the path to which a client sends the bytes of an upload. They are copied from there once they have arrived.
pub fn incoming_path(id: UploadId) -> String {
    format!("incoming/{id}")
}
