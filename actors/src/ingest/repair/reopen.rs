//! Opens the index anew where its folder was removed or replaced, or where it fails to answer reads.

use std::sync::Arc;
use std::time::Duration;

use search::index::{AuditReason, Marker, PassageIndex};
use tracing::error;

use super::watch::{Damage, IndexWatch, Suspicion, Watched, has_passed};
use crate::ingest::context::IngestContext;
use errors::Error;
use crate::retrieval::{Completeness, Retrieval};

/// An index that did not open is tried again.
const REOPEN_EVERY: Duration = Duration::from_secs(30);
/// After so many reads that the index failed to answer it is taken for damaged.
const MAX_FAILED_READS: u32 = 3;
/// For failed reads an index is moved aside no sooner again: a query that always fails must not keep it empty.
const SET_ASIDE_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Why the index that is searched is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Its folder was removed or replaced.
    Gone,
    /// It failed to answer reads.
    Damaged,
}

/// An index that takes the place of the one that is searched.
struct Replacement {
    index: Arc<dyn PassageIndex>,
    /// The marker that was found in its folder.
    found: Option<Marker>,
    audit_reason: AuditReason,
}

impl Watched {
    fn reason_to_reopen(&self, retrieval: &Retrieval, now: Duration) -> Option<Reason> {
        if self.damage == Some(Damage::MovedAside) {
            return Some(Reason::Damaged);
        }
        if !retrieval.is_in_place() {
            return Some(Reason::Gone);
        }
        let may_set_aside = has_passed(self.set_aside_at, SET_ASIDE_EVERY, now);
        let is_failing = may_set_aside && retrieval.failures() >= MAX_FAILED_READS;
        (is_failing || self.damage == Some(Damage::InPlace)).then_some(Reason::Damaged)
    }

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
    pub(super) async fn reopen_if_gone(&self, ctx: &IngestContext, watched: &mut Watched) -> Result<(), Error> {
        let now = ctx.core.clock.elapsed();
        if !has_passed(watched.reopened_at, REOPEN_EVERY, now) {
            return Ok(());
        }
        let reason = watched.reason_to_reopen(&ctx.retrieval, now);
        watched.reopened_at = reason.map(|_| now);
        let Some(reason) = reason else { return Ok(()) };
        ctx.retrieval.set_completeness(Completeness::Checking);
        let Replacement { index, found, audit_reason } = match reason {
            Reason::Gone => self.replace_gone(ctx, watched).await?,
            Reason::Damaged => self.replace_damaged(ctx, watched).await?,
        };
        ctx.retrieval.replace_index(index);
        watched.reopened_at = None;
        watched.damage = None;
        watched.counted_twice = 0;
        watched.suspicion = Some(Suspicion::new(audit_reason, found.as_ref(), ctx.core.clock.now()));
        Ok(())
    }

    /// Takes an index up again whose files are back in the folder, or opens what is there now.
    async fn replace_gone(&self, ctx: &IngestContext, watched: &mut Watched) -> Result<Replacement, Error> {
        // Before its folder is made anew: what it still writes would go there.
        let given_up = ctx.retrieval.abandon().await?;
        error!("the folder of the passage index was removed or replaced: it is opened anew");
        if !watched.given_up.iter().any(|known| Arc::ptr_eq(known, &given_up)) {
            watched.given_up.push(given_up);
        }
        if let Some(index) = watched.resume().await? {
            // What was changed meanwhile is in another index, or nowhere.
            let found = Marker::read(&self.folder.path());
            return Ok(Replacement { index, found, audit_reason: AuditReason::OlderCopy });
        }
        self.open_anew(ctx, watched, AuditReason::Removed).await
    }

    /// Moves an index aside that fails to answer, and makes a new one.
    async fn replace_damaged(&self, ctx: &IngestContext, watched: &mut Watched) -> Result<Replacement, Error> {
        if watched.damage != Some(Damage::MovedAside) {
            self.set_aside(ctx, watched).await?;
        }
        self.open_anew(ctx, watched, AuditReason::Damaged).await
    }

    /// Moves a damaged index aside. One that cannot be moved stays in use until the next try, so that a folder which is removed
    /// or replaced meanwhile is seen as such.
    async fn set_aside(&self, ctx: &IngestContext, watched: &mut Watched) -> Result<(), Error> {
        let now = ctx.core.clock.now();
        watched.damage = Some(Damage::InPlace);
        // It is not marked as left in order, should the service end before it could be moved.
        watched.suspicion = Some(Suspicion::new(AuditReason::Damaged, None, now));
        // Before its folder is made anew: what it still writes would go there.
        let index = ctx.retrieval.abandon().await?;
        let folder = self.folder.clone();
        let moved = tokio::task::spawn_blocking(move || {
            let moved = folder.set_aside("it failed to answer reads", now);
            if moved.is_err() {
                index.resume();
            }
            moved
        });
        moved.await.map_err(Error::internal)?.map_err(Error::internal)?;
        watched.damage = Some(Damage::MovedAside);
        watched.set_aside_at = Some(ctx.core.clock.elapsed());
        Ok(())
    }

    /// Opens the index that is in the folder, or makes one, which then is compared with the database for this reason.
    async fn open_anew(
        &self,
        ctx: &IngestContext,
        watched: &Watched,
        reason_if_new: AuditReason,
    ) -> Result<Replacement, Error> {
        let opened = self.folder.open_on_thread(watched.marker.clone(), ctx.core.clock.now()).await;
        let opened = opened.map_err(Error::internal)?;
        let audit_reason = match opened.audit_reason {
            Some(AuditReason::Missing) => reason_if_new,
            // A copy that was made within this run.
            None => AuditReason::OlderCopy,
            Some(other) => other,
        };
        Ok(Replacement { index: opened.index, found: opened.found, audit_reason })
    }
}
