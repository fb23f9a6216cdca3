//! The file of an import on its way into the store. Never more of it is written than is reserved for it.

use entity::id::UserId;
use storage::blobs::BlobStore;
use tokio_util::bytes::Bytes;

use crate::context::CoreContext;
use errors::Error;
use crate::transfer_quota::{self, TransferKind};
use crate::stored_files::{self, Held, Written};

/// A file that is being written. Dropped before [`ImportFile::finish`] it is left to the clean-up.
pub struct ImportFile<'a> {
    core: &'a CoreContext,
    store: &'a dyn BlobStore,
    user: UserId,
    written: Written,
    reserved: u64,
    length: u64,
}

impl<'a> ImportFile<'a> {
    /// Begins a file of this announced length; 0 when it is not known.
    ///
    /// # Errors
    /// [`Error::TransfersFull`] when it does not fit; those of the store and of the database. Then there is no file.
    pub async fn begin(
        core: &'a CoreContext,
        store: &'a dyn BlobStore,
        user: UserId,
        announced: u64,
    ) -> Result<Self, Error> {
        let held = transfer_quota::hold(core, user, TransferKind::Import, announced).await?;
        let written = Written::of(core, store, held, (announced > 0).then_some(announced)).await?;
        Ok(Self { core, store, user, written, reserved: announced, length: 0 })
    }

    /// Adds bytes at the end; nothing more can be added after an error.
    ///
    /// # Errors
    /// [`Error::TransfersFull`] when the file became longer than announced and does not fit; those of the store and of the
    /// database.
    pub async fn write(&mut self, part: Bytes) -> Result<(), Error> {
        let length = self.length.saturating_add(part.len() as u64);
        if length > self.reserved {
            let (core, file) = (self.core, self.written.id());
            transfer_quota::reserve(core, self.user, file, TransferKind::Import, length).await?;
            self.reserved = length;
        }
        self.length = length;
        self.written.write(part).await
    }

    /// The file is whole and in its place; it is to be given to its import as long as the result lives.
    ///
    /// # Errors
    /// Those of the store and of the database; nothing is left then.
    pub async fn finish(self) -> Result<Held, Error> {
        let Self { core, store, user, written, length, .. } = self;
        let held = written.finish(core, store).await?;
        match transfer_quota::record_bytes(core.db.write(), user, held.id, length).await {
            Ok(()) => Ok(held),
            Err(error) => {
                stored::discard(core, store, held).await;
                Err(error)
            }
        }
    }

    /// Takes back what was written.
    pub async fn abort(self) {
        self.written.abort(self.core, self.store).await;
    }
}
