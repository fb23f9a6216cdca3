//! Raises the marker of the index as the index changes, and marks an index that is left in order.

use std::time::Duration;

use database::Db;
use search::index::Marker;
use search::index::marker::FileStamp;
use tracing::warn;

use super::watch::{IndexWatch, Watched, has_passed};
use crate::ingest::context::IngestContext;
use library::clock::Clock;
use errors::Error;
use crate::service_state::{self, ServiceStateKey};

/// How often the marker follows the changes of the index.
const MARK_EVERY: Duration = Duration::from_secs(60);
/// How long an orderly stop reads files for their checksums.
const MAX_CHECKSUM_TIME: Duration = Duration::from_secs(3);

impl IndexWatch {
    /// Raises the marker where the index has changed since it was raised last.
    pub(super) async fn follow_changes(&self, ctx: &IngestContext, watched: &mut Watched) {
        let changes = ctx.retrieval.changes();
        let is_behind = watched.marker.is_none() || changes != watched.marked_changes;
        let is_due = has_passed(Some(watched.marked_at), MARK_EVERY, ctx.core.clock.elapsed());
        let may_raise = is_behind && is_due && watched.suspicion.is_none();
        if may_raise && self.raise_marker(&ctx.core.db, watched, &*ctx.core.clock).await {
            watched.marked_changes = changes;
        }
    }

    /// Raises the marker in folder and database, or makes a first one; whether it could. Where it cannot, as on a full disk, the next start
    /// compares the index with the database.
    pub(super) async fn raise_marker(&self, db: &Db, watched: &mut Watched, clock: &dyn Clock) -> bool {
        let now = clock.now();
        let marker = watched.marker.as_ref().map_or_else(|| Marker::first(now), |marker| marker.next(now));
        watched.marked_at = clock.elapsed();
        match self.write_marker(db, &marker).await {
            Ok(()) => {
                watched.marker = Some(marker);
                true
            }
            Err(error) => {
                warn!(cause = error.chain(), "could not mark the passage index");
                false
            }
        }
    }

    /// Into the folder first: a process that ends in between leaves a folder that is one ahead.
    async fn write_marker(&self, db: &Db, marker: &Marker) -> Result<(), Error> {
        let (path, written) = (self.folder.path(), marker.clone());
        let written = tokio::task::spawn_blocking(move || written.write(&path));
        written.await.map_err(Error::internal)?.map_err(Error::internal)?;
        let row = marker.to_row().map_err(Error::internal)?;
        Ok(service_state::write(db.write(), ServiceStateKey::IndexMarker(self.folder.id()), row).await?)
    }

    /// Marks the index as left in order: the next start tells from its files whether they were changed since.
    pub(super) async fn mark_closed(&self, ctx: &IngestContext, watched: &Watched) -> Result<(), Error> {
        let Some(marker) = watched.marker.as_ref().filter(|_| watched.suspicion.is_none()) else {
            return Ok(());
        };
        if !ctx.retrieval.is_in_place() {
            return Ok(());
        }
        ctx.retrieval.commit().await?;
        ctx.retrieval.abandon().await?;
        let folder = self.folder.path();
        let files = tokio::task::spawn_blocking(move || FileStamp::all(&folder, MAX_CHECKSUM_TIME)).await;
        let files = files.map_err(Error::internal)?.map_err(Error::internal)?;
        let left = Marker { files: Some(files), ..marker.next(ctx.core.clock.now()) };
        self.write_marker(&ctx.core.db, &left).await
    }
}
