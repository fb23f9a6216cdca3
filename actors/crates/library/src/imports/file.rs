//! Writes the file of an import to the store. Never more bytes are written than are reserved in the user's quota.

use storage::blobs::BlobStore;
use tokio_util::bytes::Bytes;
use values::id::UserId;

use crate::context::CoreContext;
use crate::stored_files::{self, FileLease, FileWriter};
use crate::transfer_quota::{self, TransferKind};
use errors::Error;

/// A file that is being written. If it is dropped before [`ImportFile::finish`], the clean-up of the store deletes it.
pub struct ImportFile<'a> {
    core: &'a CoreContext,
    store: &'a dyn BlobStore,
    user: UserId,
    writer: FileWriter,
    reserved: u64,
    length: u64,
}

impl<'a> ImportFile<'a> {
    /// Begins a file of this announced length in bytes; 0 when it is not known.
    ///
    /// # Errors
    /// [`Error::TransfersFull`] when it does not fit into the user's quota; those of the store and of the database.
    /// Then there is no file.
    pub async fn begin(
        core: &'a CoreContext,
        store: &'a dyn BlobStore,
        user: UserId,
        announced: u64,
    ) -> Result<Self, Error> {
        let lease = transfer_quota::lease(core, user, TransferKind::Import, announced).await?;
        let writer =
            FileWriter::begin_leased(core, store, lease, (announced > 0).then_some(announced)).await?;
        Ok(Self { core, store, user, writer, reserved: announced, length: 0 })
    }

    /// Appends bytes. Nothing more can be appended after an error.
    ///
    /// # Errors
    /// [`Error::TransfersFull`] when the file became longer than announced and does not fit; those of the
    /// store and of the database.
    pub async fn write(&mut self, part: Bytes) -> Result<(), Error> {
        let length = self.length.saturating_add(part.len() as u64);
        // Before the bytes are written. If this process dies, the row says at least as much as the store holds.
        if length > self.reserved {
            let (core, file) = (self.core, self.writer.id());
            transfer_quota::reserve(core, self.user, file, TransferKind::Import, length).await?;
            self.reserved = length;
        }
        self.length = length;
        self.writer.write(part).await
    }

    /// Finishes the file. It must be attached to its import before the result is dropped.
    ///
    /// # Errors
    /// [`Error`] when the store or the database fails; the file is deleted then.
    pub async fn finish(self) -> Result<FileLease, Error> {
        let Self { core, store, user, writer, length, .. } = self;
        let lease = writer.finish(core, store).await?;
        // A file that is shorter than announced frees the rest of what was reserved for it.
        match transfer_quota::record_bytes(core.db.write(), user, lease.id, length).await {
            Ok(()) => Ok(lease),
            Err(error) => {
                stored_files::discard(core, store, lease).await;
                Err(error)
            }
        }
    }

    /// Deletes what was written so far, and frees what was reserved for it.
    pub async fn abort(self) {
        self.writer.abort(self.core, self.store).await;
    }
}
