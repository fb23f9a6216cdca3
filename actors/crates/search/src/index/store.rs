//! Where an index is: in the data folder, or on a Qdrant server.

use std::error::Error;
use std::fmt;

use tracing::error;
use values::cause::error_chain;
use values::id::DataFolderId;
use values::time::Timestamp;

use super::folder::IndexFolder;
use super::index_error::IndexError;
use super::marker::Marker;
use super::opened_index::OpenedIndex;
use super::server::{ServerIndex, ServerStore};

/// The place of an index, and what is needed to open it there.
#[derive(Clone)]
pub enum IndexStore {
    /// The embedded index in the data folder. Each server has its own.
    Folder(IndexFolder),
    /// A collection of a Qdrant server. All servers on the database share it.
    Server(ServerStore),
}

/// Identifies the place of an index in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStoreId {
    /// The data folder with this id.
    Folder(DataFolderId),
    /// The Qdrant server. A database has one index there: another collection has a marker of another generation, so its index is compared
    /// with the database.
    Server,
}

impl fmt::Display for IndexStoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexStoreId::Folder(id) => id.fmt(f),
            IndexStoreId::Server => f.write_str("server"),
        }
    }
}

/// The index with which a server starts.
pub struct InitialIndex {
    /// The place of the index, also for later attempts to open it.
    pub store: IndexStore,
    /// The marker that the database recorded.
    pub recorded: Option<Marker>,
    /// The index; `None` if its disk has no space to open or create one.
    pub opened: Option<OpenedIndex>,
}

impl InitialIndex {
    /// Opens an index as [`IndexStore::open`] does. A disk without space for it does not prevent the start of the server.
    ///
    /// # Errors
    /// The same as [`IndexStore::open`], except [`IndexError::NoSpace`].
    pub async fn open(
        store: IndexStore,
        recorded: Option<Marker>,
        now: Timestamp,
    ) -> Result<Self, IndexError> {
        let opened = match store.open(recorded.clone(), now).await {
            Ok(opened) => Some(opened),
            Err(refused) if matches!(refused, IndexError::NoSpace { .. }) => {
                error!(
                    cause = error_chain(&refused),
                    "the server starts without the passage index: searches are refused until its disk has space"
                );
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Self { store, recorded, opened })
    }
}

impl IndexStore {
    /// Returns the id by which the database knows the place.
    #[must_use]
    pub fn id(&self) -> IndexStoreId {
        match self {
            IndexStore::Folder(folder) => IndexStoreId::Folder(folder.id()),
            IndexStore::Server(_) => IndexStoreId::Server,
        }
    }

    /// Returns which index it is, for messages: its folder, or its collection and server.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            IndexStore::Folder(folder) => format!("the index in {}", folder.path().display()),
            IndexStore::Server(server) => server.description(),
        }
    }

    /// Returns the folder of an embedded index; `None` for an index on a server.
    #[must_use]
    pub fn folder(&self) -> Option<&IndexFolder> {
        match self {
            IndexStore::Folder(folder) => Some(folder),
            IndexStore::Server(_) => None,
        }
    }

    /// Returns the server of the index; `None` for an embedded index.
    #[must_use]
    pub fn server(&self) -> Option<&ServerStore> {
        match self {
            IndexStore::Folder(_) => None,
            IndexStore::Server(server) => Some(server),
        }
    }

    /// Opens the index, or creates it, without blocking. The database recorded the marker `recorded`. A Qdrant server that does not answer
    /// is no error: the index is opened by its first request that succeeds.
    ///
    /// # Errors
    /// Those of [`IndexFolder::open_on_thread`]. For a server [`IndexError::Open`] when it is older than version 1.19, or the collection
    /// belongs to another program, and [`IndexError::Panicked`].
    pub async fn open(&self, recorded: Option<Marker>, now: Timestamp) -> Result<OpenedIndex, IndexError> {
        let server = match self {
            IndexStore::Folder(folder) => return folder.open_on_thread(recorded, now).await,
            IndexStore::Server(server) => server.clone(),
        };
        let open = move || ServerIndex::open_or_postpone(&server, recorded.as_ref());
        tokio::task::spawn_blocking(open).await.map_err(|_| IndexError::Panicked)?
    }

    /// Writes the marker of the index. Blocks.
    ///
    /// # Errors
    /// The error of the disk or of the server.
    pub fn write_marker(&self, marker: &Marker) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self {
            IndexStore::Folder(folder) => marker.write(&folder.path())?,
            IndexStore::Server(server) => server.write_marker(marker)?,
        }
        Ok(())
    }

    /// Records that the process stops, so that an opening in progress does not count as a crash.
    pub fn cancel_opening(&self) {
        if let IndexStore::Folder(folder) = self {
            folder.cancel_opening();
        }
    }
}
