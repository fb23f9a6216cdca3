//! The server that holds an index: how the index is opened, and its marker, which is in the metadata of the collection. So the marker is
//! lost with the collection, and comes back with a snapshot of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::collection::{self, CollectionSettings};
use super::connection::{PROBE_DEADLINE, ServerConnection, WRITE_DEADLINE};
use crate::index::audit_reason::{AuditReason, compare_markers};
use crate::index::index_error::IndexError;
use crate::index::marker::Marker;
use crate::index::vector_model::{VectorModel, VectorModels};

/// The key of the marker in the metadata of the collection.
const MARKER_KEY: &str = "carrel_index";
/// Time after which a server is asked again that answers, and cannot hold the index.
const UNUSABLE_RETRY_AFTER: Duration = Duration::from_secs(10);

/// The server of an index, and the collection there.
#[derive(Clone)]
pub struct ServerSettings {
    /// URL of the server, with `http` or `https`. Without a port it is that of gRPC, 6334.
    pub url: String,
    /// The key, sent as `api-key`; `None` if the server needs none.
    pub key: Option<String>,
    /// Longest time that a search waits for the server.
    pub search_deadline: Duration,
    /// Id of the database whose index it is. A collection belongs to one.
    pub owner: String,
    /// The collection.
    pub collection: CollectionSettings,
}

/// The server that holds an index. Clones, and the indexes that are opened on it, share one connection.
#[derive(Clone)]
pub struct ServerStore(Arc<StoreState>);

struct StoreState {
    connection: ServerConnection,
    settings: ServerSettings,
    models: VectorModels,
    /// Whether the version of the server and the collection were checked. Not while the server was never reached.
    is_prepared: AtomicBool,
    /// Whether the last request found no collection.
    is_gone: AtomicBool,
}

/// What a server says of itself and of the collection, without changing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerReport {
    /// The estimated number of passages in the collection; `None` if there is no collection yet.
    pub passages: Option<u64>,
}

impl ServerStore {
    /// Prepares the connection to a server. It sends no request yet.
    ///
    /// # Errors
    /// [`IndexError::Open`] when the URL is not valid, or no thread can be started.
    pub fn new(settings: ServerSettings, models: VectorModels) -> Result<Self, IndexError> {
        let connection = ServerConnection::new(&settings.url, settings.key.as_deref())?;
        let (is_prepared, is_gone) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self(Arc::new(StoreState { connection, settings, models, is_prepared, is_gone })))
    }

    /// Returns the name of the collection and the URL of the server, for messages.
    #[must_use]
    pub fn description(&self) -> String {
        format!("the collection {} of the Qdrant server {}", self.collection(), self.0.settings.url)
    }

    /// Checks the version of the server, and opens the collection, or creates it if the server has none. Adds a vector for each model that
    /// is new to the collection. Blocks.
    ///
    /// # Errors
    /// [`IndexError::Open`] when the server is older than version 1.19, or the collection belongs to another program or another database;
    /// [`IndexError::Unreachable`] when the server does not answer, or refuses the key.
    pub(super) fn open(&self) -> Result<(), IndexError> {
        self.0.is_prepared.store(false, Ordering::Relaxed);
        self.prepare()
    }

    /// Opens the collection as [`Self::open`] does, unless that was done before.
    fn prepare(&self) -> Result<(), IndexError> {
        let StoreState { connection, settings, models, is_prepared, is_gone } = &*self.0;
        if is_prepared.load(Ordering::Relaxed) {
            return Ok(());
        }
        collection::require_version(connection)?;
        collection::prepare(connection, &settings.collection, &settings.owner, &models.list())?;
        is_gone.store(false, Ordering::Relaxed);
        is_prepared.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Prepares the collection before a request if no earlier one did. A server that cannot hold the index counts as one that does not
    /// answer: an operator may replace it at any time.
    pub(super) fn ensure_prepared(&self) -> Result<(), IndexError> {
        let prepared = self.prepare();
        if let Err(IndexError::Open(source)) = prepared {
            return Err(IndexError::Unreachable { retry_after: UNUSABLE_RETRY_AFTER, source });
        }
        prepared
    }

    /// Reads the marker of the collection; `None` if it has none, because it is new. Blocks for some seconds at most.
    ///
    /// # Errors
    /// [`IndexError::Unreachable`]; [`IndexError::Blocked`] when the collection was deleted, and [`IndexError::Engine`] when the server
    /// refuses the request.
    pub fn read_marker(&self) -> Result<Option<Marker>, IndexError> {
        self.ensure_prepared()?;
        let info = collection::read_info(&self.0.connection, self.collection(), PROBE_DEADLINE);
        let info = info.map_err(|error| {
            if error.is_not_found() {
                self.note_gone(true);
            }
            error.into_index_error("read the marker of", self.0.connection.wait())
        })?;
        self.note_gone(false);
        let metadata = info.config.map(|config| config.metadata).unwrap_or_default();
        Ok(collection::metadata_text(&metadata, MARKER_KEY).and_then(Marker::from_row))
    }

    /// Writes the marker of the collection. Blocks for some seconds at most.
    ///
    /// # Errors
    /// The same as [`Self::read_marker`].
    pub fn write_marker(&self, marker: &Marker) -> Result<(), IndexError> {
        self.ensure_prepared()?;
        let row = marker.to_row().map_err(|cause| IndexError::Open(Box::new(cause)))?;
        let connection = &self.0.connection;
        let written = collection::write_metadata(connection, self.collection(), MARKER_KEY, &row);
        written.map_err(|error| error.into_index_error("write the marker of", connection.wait()))
    }

    /// Asks the server for its version and for the collection, without changing anything. Blocks for some seconds at most.
    ///
    /// # Errors
    /// [`IndexError::Open`] when the server is older than version 1.19; [`IndexError::Unreachable`] when it does not answer, or refuses the
    /// key; [`IndexError::Engine`] when it refuses the request.
    pub fn inspect(&self) -> Result<ServerReport, IndexError> {
        let connection = &self.0.connection;
        collection::require_version(connection)?;
        match collection::read_info(connection, self.collection(), PROBE_DEADLINE) {
            Ok(info) => Ok(ServerReport { passages: Some(info.points_count.unwrap_or(0)) }),
            Err(error) if error.is_not_found() => Ok(ServerReport { passages: None }),
            Err(error) => Err(error.into_index_error("read", connection.wait())),
        }
    }

    /// Deletes the collection, with all passages of all users. For an index that was made to be measured. Blocks for half a minute at most.
    ///
    /// # Errors
    /// [`IndexError::Unreachable`] when the server does not answer, or refuses the key; [`IndexError::Engine`] when it refuses the request.
    pub fn delete_collection(&self) -> Result<(), IndexError> {
        let (connection, name) = (&self.0.connection, self.collection().to_owned());
        let deleted =
            connection.call(WRITE_DEADLINE, |client| async move { client.delete_collection(name).await });
        deleted.map(|_| ()).map_err(|error| error.into_index_error("delete", connection.wait()))
    }

    /// Returns how long the server is not asked, because its last requests failed. Zero if it is asked now.
    #[must_use]
    pub fn suspension(&self) -> Duration {
        self.0.connection.wait()
    }

    /// Adds the vector of a model to the collection if that lacks it. Blocks.
    ///
    /// # Errors
    /// [`IndexError::Open`] when the collection has vectors of another length with its name; [`IndexError::Unreachable`].
    pub(super) fn add_model(&self, model: &VectorModel) -> Result<(), IndexError> {
        self.ensure_prepared()?;
        let StoreState { connection, settings, models, .. } = &*self.0;
        collection::add_model(connection, &settings.collection, model)?;
        models.add(model.clone());
        Ok(())
    }

    pub(super) fn connection(&self) -> &ServerConnection {
        &self.0.connection
    }

    pub(super) fn settings(&self) -> &ServerSettings {
        &self.0.settings
    }

    pub(super) fn models(&self) -> &VectorModels {
        &self.0.models
    }

    pub(super) fn collection(&self) -> &str {
        &self.0.settings.collection.name
    }

    /// Notes whether the last request found no collection.
    pub(super) fn note_gone(&self, is_gone: bool) {
        self.0.is_gone.store(is_gone, Ordering::Relaxed);
    }

    pub(super) fn is_gone(&self) -> bool {
        self.0.is_gone.load(Ordering::Relaxed)
    }
}

/// Compares the marker of a collection with the one that the database recorded, as [`compare_markers`] does. A collection that lost its
/// marker was deleted and created again.
#[must_use]
pub fn compare_server_markers(found: Option<&Marker>, recorded: Option<&Marker>) -> Option<AuditReason> {
    if found.is_none() && recorded.is_some() {
        return Some(AuditReason::Missing);
    }
    compare_markers(found, recorded)
}
