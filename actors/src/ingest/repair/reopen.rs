//! Opens the index anew where its folder was removed or replaced, or where it fails to answer reads.

use std::sync::Arc;
use std::time::Duration;

use entity::time::Timestamp;
use tracing::error;

use super::watch::{IndexWatch, Suspicion, Watched, has_passed};
use crate::adapters::index::{Doubt, Marker, OpenedIndex, PassageIndex};
use crate::app::App;
use crate::error::Error;
use crate::retrieval::Completeness;

/// An index that did not open is tried again.
const REOPEN_EVERY: Duration = Duration::from_secs(30);
/// After so many reads that the index failed to answer it is taken for damaged.
const MAX_FAILED_READS: u32 = 3;
/// For failed reads an index is moved aside no sooner again: a query that always fails must not keep it empty.
const SET_ASIDE_EVERY: Duration = Duration::from_secs(24 * 3600);

impl Watched {
    /// Takes the index up again whose files are back in the folder, if there is one.
    async fn resume(&self) -> Result<Option<Arc<dyn PassageIndex>>, Error> {
        let given_up = self.given_up.clone();
        let resumed =
            tokio::task::spawn_blocking(move || given_up.into_iter().find(|index| index.resume())).await;
        resumed.map_err(Error::internal)
    }
}

impl IndexWatch {
    /// Opens the index anew where its folder is gone or reads of it fail.
    pub(super) async fn reopen_if_gone(&self, app: &App, watched: &mut Watched) -> Result<(), Error> {
        let now = app.clock.elapsed();
        if !has_passed(watched.reopened_at, REOPEN_EVERY, now) {
            return Ok(());
        }
        let is_gone = !app.retrieval.is_in_place();
        let may_set_aside = has_passed(watched.set_aside_at, SET_ASIDE_EVERY, now);
        let is_failing = !is_gone && may_set_aside && app.retrieval.failures() >= MAX_FAILED_READS;
        if !is_gone && !is_failing {
            return Ok(());
        }
        watched.reopened_at = Some(now);
        app.retrieval.set_completeness(Completeness::Checking);
        // Before its folder is made anew: what it still writes would go there.
        let given_up = app.retrieval.abandon().await?;
        if is_failing {
            watched.set_aside_at = Some(now);
        } else {
            error!("the folder of the passage index was removed or replaced: it is opened anew");
            if !watched.given_up.iter().any(|known| Arc::ptr_eq(known, &given_up)) {
                watched.given_up.push(given_up);
            }
        }
        let resumed = if is_failing { None } else { watched.resume().await? };
        let (index, found, doubt) = if let Some(index) = resumed {
            // What was changed meanwhile is in another index, or nowhere.
            (index, Marker::read(&self.folder.path()), Doubt::Older)
        } else {
            let opened = self.reopen(watched.marker.clone(), is_failing, app.clock.now()).await?;
            let doubt = match opened.doubt {
                _ if is_failing => Doubt::Damaged,
                Some(Doubt::Missing) => Doubt::Removed,
                // A copy that was made within this run.
                None => Doubt::Older,
                Some(other) => other,
            };
            (opened.index, opened.found, doubt)
        };
        app.retrieval.replace_index(index);
        watched.reopened_at = None;
        watched.counted_twice = 0;
        watched.suspicion = Some(Suspicion::new(doubt, found.as_ref(), app.clock.now()));
        Ok(())
    }

    async fn reopen(
        &self,
        recorded: Option<Marker>,
        is_damaged: bool,
        now: Timestamp,
    ) -> Result<OpenedIndex, Error> {
        if is_damaged {
            let folder = self.folder.clone();
            let moved =
                tokio::task::spawn_blocking(move || folder.set_aside("it failed to answer reads", now));
            moved.await.map_err(Error::internal)?.map_err(Error::internal)?;
        }
        self.folder.open_on_thread(recorded, now).await.map_err(Error::internal)
    }
}
