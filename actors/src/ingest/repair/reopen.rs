//! Opens the index again if its folder or its collection was removed or replaced, or if it counts as damaged; opens it at all if its disk
//! had no space at the start.

use std::sync::Arc;
use std::time::Duration;

use errors::{Error, StorageFailure};
use search::index::{AuditReason, EngineFault, IndexError, Marker, PassageIndex};
use tracing::{error, info};

use super::context::RepairContext;
use super::watch::{AuditRequest, Damage, WatchState, has_passed};
use crate::retrieval::{Completeness, IndexProbe, Retrieval};

/// Delay after which an index that could not be opened is tried again.
const REOPEN_RETRY_DELAY: Duration = Duration::from_secs(30);
/// Requests of a day that failed in a way that only damage explains, after which an index counts as damaged.
const MAX_FAILED_REQUESTS: u32 = 3;
/// Shortest time between two indexes that are moved aside because of failed requests: a query that always
/// fails must not keep the index empty.
const MOVE_ASIDE_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Shortest time between two indexes that are moved aside, if the second one cannot be loaded because of damage. It answers nothing, so a
/// new one loses nothing. The time lets a new index be filled, and bounds how often one is written to a disk that damages them all.
const LOAD_FAILED_MOVE_ASIDE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Longest time between two indexes that are moved aside because of failed requests. It doubles while indexes
/// that are moved aside follow each other.
const MAX_MOVE_ASIDE_INTERVAL: Duration = Duration::from_secs(4 * 24 * 3600);

/// Why the index that is searched is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplacementReason {
    /// Its folder was removed or replaced, or its collection was deleted.
    Gone,
    /// Requests failed in a way that only damage explains.
    Damaged,
    /// There is none: its disk had no space for it.
    NotOpened,
}

/// An index that replaces the one that is searched.
struct Replacement {
    index: Arc<dyn PassageIndex>,
    /// The marker that was found in its folder.
    marker: Option<Marker>,
    audit_reason: AuditReason,
}

/// Opens the index again if its folder is gone, it counts as damaged, or it was not opened yet.
pub(super) async fn reopen_if_necessary(ctx: &RepairContext, state: &mut WatchState) -> Result<(), Error> {
    let now = ctx.core.clock.elapsed();
    if !has_passed(state.reopened_at, REOPEN_RETRY_DELAY, now) {
        return Ok(());
    }
    let reason = replacement_reason(state, &ctx.retrieval, now).await;
    // Set before the attempt, so that one that fails is not repeated at every check.
    state.reopened_at = reason.map(|_| now);
    let Some(reason) = reason else { return Ok(()) };
    if reason != ReplacementReason::NotOpened {
        ctx.retrieval.engine().set_completeness(Completeness::Checking);
    }
    let Replacement { index, marker, audit_reason } = match reason {
        ReplacementReason::Gone => replace_removed(ctx, state).await?,
        ReplacementReason::Damaged => replace_damaged(ctx, state).await?,
        ReplacementReason::NotOpened => open_postponed(ctx, state).await?,
    };
    if reason == ReplacementReason::Damaged {
        ctx.retrieval.engine().replace_damaged_index(index);
    } else {
        ctx.retrieval.engine().replace_index(index);
    }
    if ctx.index_watch.is_maintainer() {
        ctx.retrieval.engine().set_completeness(Completeness::Checking);
    }
    state.reopened_at = None;
    state.damage = None;
    state.counted_twice = 0;
    state.audit_request = Some(AuditRequest::new(audit_reason, marker.as_ref(), ctx.core.clock.now()));
    Ok(())
}

async fn replacement_reason(
    state: &WatchState,
    retrieval: &Retrieval,
    now: Duration,
) -> Option<ReplacementReason> {
    if state.damage == Some(Damage::MovedAside) {
        return Some(ReplacementReason::Damaged);
    }
    if !retrieval.engine().has_index() {
        return Some(ReplacementReason::NotOpened);
    }
    if !retrieval.engine().is_in_place() {
        return Some(ReplacementReason::Gone);
    }
    let is_damaged = state.damage == Some(Damage::InPlace) || counts_as_damaged(state, retrieval, now).await;
    is_damaged.then_some(ReplacementReason::Damaged)
}

/// Returns whether the index has failed [`MAX_FAILED_REQUESTS`] requests or more, and the last one was moved aside long enough ago.
async fn counts_as_damaged(state: &WatchState, retrieval: &Retrieval, now: Duration) -> bool {
    if retrieval.engine().damage_failures() < MAX_FAILED_REQUESTS {
        return false;
    }
    has_passed(state.moved_aside_at, state.move_aside_interval, now)
        || (has_passed(state.moved_aside_at, LOAD_FAILED_MOVE_ASIDE_INTERVAL, now)
            && matches!(retrieval.engine().probe().await, Ok(IndexProbe::LoadFailed(EngineFault::Damage))))
}

/// Resumes an index whose files are back in the folder, or opens what is in the folder now.
async fn replace_removed(ctx: &RepairContext, state: &mut WatchState) -> Result<Replacement, Error> {
    // Before its folder is created again, because the index would write into the new one.
    let abandoned = ctx.retrieval.engine().abandon().await?;
    error!(
        "the folder or the collection of the passage index was removed or replaced; the index is opened again"
    );
    let Some(folder) = ctx.index_watch.store.folder() else {
        return open_store(ctx, state, AuditReason::Removed).await.map_err(Error::internal);
    };
    if !state.abandoned.iter().any(|known| Arc::ptr_eq(known, &abandoned)) {
        state.abandoned.push(abandoned);
    }
    if let Some(index) = resume_abandoned(state).await? {
        // The resumed index lacks what was changed while its folder was gone.
        let marker = Marker::read(&folder.path());
        return Ok(Replacement { index, marker, audit_reason: AuditReason::OlderCopy });
    }
    open_store(ctx, state, AuditReason::Removed).await.map_err(Error::internal)
}

/// Resumes the abandoned index whose files are back in the folder, if there is one.
async fn resume_abandoned(state: &WatchState) -> Result<Option<Arc<dyn PassageIndex>>, Error> {
    let abandoned = state.abandoned.clone();
    let resumed =
        tokio::task::spawn_blocking(move || abandoned.into_iter().find(|index| index.resume())).await;
    resumed.map_err(Error::internal)
}

/// Moves an index aside that counts as damaged, and creates a new one.
async fn replace_damaged(ctx: &RepairContext, state: &mut WatchState) -> Result<Replacement, Error> {
    if state.damage != Some(Damage::MovedAside) {
        move_aside(ctx, state).await?;
    }
    open_store(ctx, state, AuditReason::Damaged).await.map_err(Error::internal)
}

/// Moves a damaged index aside. One that cannot be moved stays in use until the next attempt, so that a folder which is removed
/// or replaced meanwhile is recognised as such.
async fn move_aside(ctx: &RepairContext, state: &mut WatchState) -> Result<(), Error> {
    let now = ctx.core.clock.now();
    let Some(folder) = ctx.index_watch.store.folder().cloned() else {
        return Err(Error::internal("an index on a server is never moved aside"));
    };
    state.damage = Some(Damage::InPlace);
    // So that it is not marked as cleanly closed if the server ends before it could be moved.
    state.audit_request = Some(AuditRequest::new(AuditReason::Damaged, None, now));
    // Before its folder is created again, because the index would write into the new one.
    let index = ctx.retrieval.engine().abandon().await?;
    let moved = tokio::task::spawn_blocking(move || {
        let moved = folder.set_aside("it failed requests", now);
        if moved.is_err() {
            index.resume();
        }
        moved
    });
    moved.await.map_err(Error::internal)?.map_err(Error::internal)?;
    state.damage = Some(Damage::MovedAside);
    let moved_at = ctx.core.clock.elapsed();
    state.move_aside_interval = next_interval(state.moved_aside_at, state.move_aside_interval, moved_at);
    state.moved_aside_at = Some(moved_at);
    Ok(())
}

/// Returns how long an index that was just opened instead of a damaged one is not moved aside. The time doubles unless the index
/// before it lasted twice as long as it had to.
fn next_interval(last_moved_at: Option<Duration>, interval: Duration, now: Duration) -> Duration {
    if has_passed(last_moved_at, 2 * interval, now) {
        MOVE_ASIDE_INTERVAL
    } else {
        (2 * interval).min(MAX_MOVE_ASIDE_INTERVAL)
    }
}

/// Opens the index for which its disk had no space before.
async fn open_postponed(ctx: &RepairContext, state: &WatchState) -> Result<Replacement, Error> {
    let replacement = open_store(ctx, state, AuditReason::Missing).await.map_err(postponed_error)?;
    info!("the disk has space for the passage index again: it was opened, and searches are answered");
    Ok(replacement)
}

/// Converts the error of an index that still cannot be opened.
fn postponed_error(error: IndexError) -> Error {
    // The start of the server has reported the lack of space, so it is not logged again every 30 seconds.
    if matches!(error, IndexError::NoSpace { .. }) {
        StorageFailure::NoIndex.into()
    } else {
        Error::internal(error)
    }
}

/// Opens the index that is in the folder or on the server, or creates one, which then is compared with the database for this reason.
async fn open_store(
    ctx: &RepairContext,
    state: &WatchState,
    reason_if_new: AuditReason,
) -> Result<Replacement, IndexError> {
    let store = &ctx.index_watch.store;
    let opened = store.open(state.marker.clone(), ctx.core.clock.now()).await?;
    let audit_reason = match opened.audit_reason {
        Some(AuditReason::Missing) => reason_if_new,
        // A copy that was made while this server ran.
        None => AuditReason::OlderCopy,
        Some(other) => other,
    };
    Ok(Replacement { index: opened.index, marker: opened.found, audit_reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lack_of_space_for_a_postponed_index_was_reported() {
        let folder = || "data/index".into();
        let no_space = IndexError::NoSpace { folder: folder(), source: "9 MiB are free".into() };
        let no_permission = IndexError::Environment { folder: folder(), source: "a cause".into() };

        let refused = postponed_error(no_space);

        assert!(matches!(refused, Error::StorageFailed(StorageFailure::NoIndex)), "{refused:?}");
        assert!(refused.is_reported());
        assert!(!postponed_error(no_permission).is_reported());
    }

    #[test]
    fn interval_doubles_while_damaged_indexes_follow_each_other() {
        let day = MOVE_ASIDE_INTERVAL;

        let first = next_interval(None, Duration::ZERO, day);
        let second = next_interval(Some(day), first, 2 * day);
        let third = next_interval(Some(2 * day), second, 4 * day);
        let fourth = next_interval(Some(4 * day), third, 8 * day);

        assert_eq!([first, second, third, fourth], [day, 2 * day, 4 * day, 4 * day]);
        assert_eq!(next_interval(Some(8 * day), fourth, 16 * day), day);
    }
}
