//! Keeps the index whole: an index that is lost, partial, old, foreign or damaged is noticed at the start and while the
//! service runs, and filled again from the database while it serves.
//!
//! Three things tell of it, from cheap to dear. The [marker](crate::adapters::index::marker) says at the start whether the
//! folder is the one that the service left. A count of passages is compared with the database every minute. A
//! [comparison](audit) of every passage runs only after one of these, or a search that failed, raised a
//! [doubt](crate::adapters::index::doubt). It writes down which documents are lost; jobs of the queue put these in again,
//! newest first and behind everything that a user waits for: first by their words, which takes moments, then by their
//! vectors. Until both are restored, search reports `degraded` to the affected users.
//!
//! After a crash nothing is lost: the marker is written only when a comparison has ended, and what it found is in rows.
//!
//! With several services on one database, only the [maintainer] of the index does this: the rows describe its index.

mod audit;
mod maintainer;
mod rows;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use entity::time::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::adapters::index::doubt::is_short;
use crate::adapters::index::marker::FileStamp;
use crate::adapters::index::{Doubt, IndexFolder, Marker, OpenedIndex, PassageIndex};
use crate::app::App;
use crate::clock::Clock;
use crate::db::Db;
use crate::error::Error;
use crate::retrieval::{Completeness, Retrieval};
use crate::state::{self, Fact};

/// How often passages are counted: one sum over an index of the database, and none over the passages.
const COUNT_EVERY: Duration = Duration::from_secs(60);
/// A count raises no doubt again sooner, so that a count that stays wrong for a reason of its own costs little.
const DOUBT_COUNT_EVERY: Duration = Duration::from_secs(600);
/// Counts in a row that must be too low before the index is doubted.
const LOW_COUNTS_OF_DOUBT: u32 = 2;
/// A comparison that failed is begun again after this.
const COMPARISON_RETRY: Duration = Duration::from_secs(60);
/// How often the marker follows the changes of the index.
const MARK_EVERY: Duration = Duration::from_secs(60);
/// A rebuild that does not move for so long is asked for again.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// An index that did not open is tried again.
const REOPEN_EVERY: Duration = Duration::from_secs(30);
/// After so many reads that the index failed to answer it is taken for damaged.
const MAX_FAILED_READS: u32 = 3;
/// How long a graceful shutdown may take to compute the checksums of the files.
const MAX_CHECKSUM_TIME: Duration = Duration::from_secs(3);
/// For failed reads an index is moved aside no sooner again: a query that always fails must not keep it empty.
const SET_ASIDE_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Watches the index of a running service.
pub struct IndexWatch {
    folder: IndexFolder,
    is_maintainer: AtomicBool,
    watched: Mutex<Watched>,
}

/// A doubt, and since when documents are stale because of it.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    doubt: Doubt,
    stale: Option<StalePeriod>,
}

/// What the index was told of within this period counts as lost, whatever it holds.
#[derive(Clone, Copy, Debug)]
struct StalePeriod {
    since: Timestamp,
    /// When the doubt was raised: what was put in afterwards is not stale.
    until: Timestamp,
}

impl Suspicion {
    fn new(doubt: Doubt, found: Option<&Marker>, now: Timestamp) -> Self {
        let stale = doubt.stale_since(found).map(|since| StalePeriod { since, until: now });
        Self { doubt, stale }
    }
}

/// Times are those of the clock's [`Clock::elapsed`], which never goes back.
struct Watched {
    /// The marker that folder and database have; none until both have one.
    marker: Option<Marker>,
    /// Why the index is to be compared with the database; none where it was, or need not be.
    suspicion: Option<Suspicion>,
    marked_at: Duration,
    /// The changes of the index that the marker follows.
    marked_changes: u64,
    counted_at: Duration,
    /// By how much the estimate of passages is too high, as far as is known.
    counted_twice: u64,
    /// Counts in a row that were too low.
    low_counts: u32,
    /// When the last comparison failed.
    comparison_failed_at: Option<Duration>,
    /// When a count raised a doubt.
    doubted_count_at: Option<Duration>,
    set_aside_at: Option<Duration>,
    /// When the index was last tried to be opened anew, where it could not be.
    reopened_at: Option<Duration>,
    /// Documents that were left to be put in, and since when they are as many.
    left: (u64, Duration),
    /// Indexes that were abandoned because their folder was removed. They keep it locked, so an index is used again if its folder
    /// comes back.
    abandoned: Vec<Arc<dyn PassageIndex>>,
}

impl Watched {
    /// Returns how many passages the index holds. If the estimate is implausible, they are counted one by one.
    async fn count_held(
        &mut self,
        retrieval: &Retrieval,
        is_odd: impl Fn(u64) -> bool,
    ) -> Result<u64, Error> {
        let estimate = retrieval.count().await? as u64;
        let held = estimate.saturating_sub(self.counted_twice);
        if !is_odd(held) {
            return Ok(held);
        }
        let exact = retrieval.count_exactly().await? as u64;
        self.counted_twice = estimate.saturating_sub(exact);
        Ok(exact)
    }

    /// Returns the abandoned index whose files are back in the folder, if there is one.
    async fn resume(&self) -> Result<Option<Arc<dyn PassageIndex>>, Error> {
        let abandoned = self.abandoned.clone();
        let resumed =
            tokio::task::spawn_blocking(move || abandoned.into_iter().find(|index| index.resume())).await;
        resumed.map_err(Error::internal)
    }
}

/// Whether a period has passed since then, or there is no such time.
fn has_passed(since: Option<Duration>, period: Duration, now: Duration) -> bool {
    since.is_none_or(|since| now.saturating_sub(since) >= period)
}

impl IndexWatch {
    /// Starts to watch an index that was opened, and to maintain it if no other service does. An empty index of an empty library is
    /// new, and needs no comparison.
    ///
    /// # Errors
    /// The database fails.
    pub async fn begin(
        db: &Db,
        retrieval: &Retrieval,
        opened: OpenedIndex,
        clock: &dyn Clock,
    ) -> Result<Self, Error> {
        let OpenedIndex { folder, index: _, doubt, found, recorded } = opened;
        // The row, not the folder: a folder that is one ahead is written again with the same number, so it never gets further
        // ahead however often the row cannot be written.
        let marker = recorded;
        let start = clock.elapsed();
        let watched = Watched {
            marker,
            suspicion: doubt.map(|doubt| Suspicion::new(doubt, found.as_ref(), clock.now())),
            marked_at: start,
            marked_changes: 0,
            counted_at: start,
            counted_twice: 0,
            low_counts: 0,
            comparison_failed_at: None,
            doubted_count_at: None,
            set_aside_at: None,
            reopened_at: None,
            left: (0, start),
            abandoned: Vec::new(),
        };
        let watch = Self { folder, is_maintainer: AtomicBool::new(false), watched: Mutex::new(watched) };
        watch.begin_maintenance(db, retrieval, clock).await?;
        Ok(watch)
    }

    /// Determines whether the index is complete, from its doubts and a count. From now on the rows describe this index.
    async fn assess(
        &self,
        db: &Db,
        retrieval: &Retrieval,
        watched: &mut Watched,
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        // At the start no job runs yet, so the numbers are equal unless the index is damaged or a job was interrupted.
        let expected = rows::expected_passages(db.read()).await?;
        let held = watched.count_held(retrieval, |held| held != expected).await.ok();
        let has_surplus = watched.suspicion.is_none() && held.is_some_and(|held| held > expected);
        if watched.suspicion.is_none() && held.is_some_and(|held| held != expected) {
            watched.suspicion = Some(Suspicion::new(Doubt::Incomplete, None, clock.now()));
        } else if expected == 0 && held == Some(0) {
            // New, or of a library that is empty: there is nothing to compare.
            watched.marker = watched.marker.take().filter(|_| watched.suspicion.is_none());
            watched.suspicion = None;
        }
        let lost = rows::count_lost(db.read()).await?;
        let known = Completeness::Complete.with_documents_left(lost);
        if let Some(Suspicion { doubt, .. }) = watched.suspicion {
            warn!(held, expected, "the passage index {}: it is compared with the database", doubt.words());
            // A surplus, such as of a job that was interrupted, hides nothing: results are read from the rows.
            retrieval.set_completeness(if has_surplus { known } else { Completeness::Checking });
            return Ok(());
        }
        self.raise_marker(db, watched, clock).await;
        retrieval.set_completeness(known);
        Ok(())
    }

    /// Opens the index anew where its folder is gone or reads of it fail.
    async fn reopen_if_gone(&self, app: &App, watched: &mut Watched) -> Result<(), Error> {
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
        let abandoned = app.retrieval.abandon().await?;
        if is_failing {
            watched.set_aside_at = Some(now);
        } else {
            error!("the folder of the passage index was removed or replaced: it is opened anew");
            if !watched.abandoned.iter().any(|known| Arc::ptr_eq(known, &abandoned)) {
                watched.abandoned.push(abandoned);
            }
        }
        let resumed = if is_failing { None } else { watched.resume().await? };
        let (index, found, doubt) = if let Some(index) = resumed {
            // The changes since are in another index, or lost.
            (index, Marker::read(&self.folder.path()), Doubt::Older)
        } else {
            let opened = self.reopen(watched.marker.clone(), is_failing, app.clock.now()).await?;
            let doubt = match opened.doubt {
                _ if is_failing => Doubt::Damaged,
                Some(Doubt::Missing) => Doubt::Removed,
                // A copy that was made while this service runs.
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

    /// Counts passages where it is time to, and doubts an index that holds too few.
    async fn compare_counts(&self, app: &App, watched: &mut Watched) -> Result<(), Error> {
        let (now, now_at) = (app.clock.elapsed(), app.clock.now());
        if !has_passed(Some(watched.counted_at), COUNT_EVERY, now)
            || !has_passed(watched.doubted_count_at, DOUBT_COUNT_EVERY, now)
        {
            return Ok(());
        }
        // On both sides of the count, for passages come and go meanwhile.
        let before = rows::expected_passages(app.db.read()).await?;
        let held = watched.count_held(&app.retrieval, |held| is_short(held, before)).await?;
        let expected = before.min(rows::expected_passages(app.db.read()).await?);
        watched.low_counts = if is_short(held, expected) { watched.low_counts + 1 } else { 0 };
        // One low count may have met a text that was just becoming shorter.
        if watched.low_counts >= LOW_COUNTS_OF_DOUBT {
            watched.low_counts = 0;
            warn!(held, expected, "the passage index {}", Doubt::Incomplete.words());
            watched.doubted_count_at = Some(now);
            watched.suspicion = Some(Suspicion::new(Doubt::Incomplete, None, now_at));
            app.retrieval.set_completeness(Completeness::Checking);
        }
        // After a first low count the next check counts again.
        if watched.low_counts == 0 {
            watched.counted_at = now;
        }
        Ok(())
    }

    /// Compares the index with the database. What it finds is being mended when this returns.
    async fn compare_passages(
        &self,
        app: &App,
        watched: &mut Watched,
        suspicion: Suspicion,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let findings = audit::compare(app, suspicion.stale).await?;
        watched.suspicion = None;
        if suspicion.doubt != Doubt::Incomplete {
            // Another generation: whatever else bears the old one is not this index.
            watched.marker = None;
        }
        self.raise_marker(&app.db, watched, &*app.clock).await;
        let lost = rows::count_lost(app.db.read()).await?;
        app.retrieval.set_completeness(Completeness::Complete.with_documents_left(lost));
        info!(
            documents_lost = findings.documents_lost,
            passages_removed = findings.passages_removed,
            duration_ms = begun.elapsed().as_millis(),
            "compared the passage index with the database"
        );
        Ok(())
    }

    /// Tells how far a rebuild is, and asks again for what no job stands for.
    async fn follow_rebuild(&self, app: &App, watched: &mut Watched) -> Result<(), Error> {
        let before = app.retrieval.completeness();
        if !matches!(before, Completeness::Rebuilding { .. }) {
            return Ok(());
        }
        let now = app.clock.elapsed();
        let lost = rows::count_lost(app.db.read()).await?;
        app.retrieval.set_completeness(before.with_documents_left(lost));
        if lost == 0 {
            info!("the passage index holds every document again");
        } else if lost != watched.left.0 {
            watched.left = (lost, now);
        } else if has_passed(Some(watched.left.1), STUCK_AFTER, now) {
            watched.left.1 = now;
            rows::ask_for_lost(&app.db, app.retrieval.model().is_some(), app.clock.now()).await?;
            app.ingest.wake();
        }
        Ok(())
    }

    /// Raises the marker where the index has changed since it was raised last.
    async fn follow_changes(&self, app: &App, watched: &mut Watched) {
        let changes = app.retrieval.changes();
        let is_behind = watched.marker.is_none() || changes != watched.marked_changes;
        let is_due = has_passed(Some(watched.marked_at), MARK_EVERY, app.clock.elapsed());
        let may_raise = is_behind && is_due && watched.suspicion.is_none();
        if may_raise && self.raise_marker(&app.db, watched, &*app.clock).await {
            watched.marked_changes = changes;
        }
    }

    /// Raises the marker in folder and database, or makes a first one; whether it could. Where it cannot, as on a full disk, the next start
    /// compares the index with the database.
    async fn raise_marker(&self, db: &Db, watched: &mut Watched, clock: &dyn Clock) -> bool {
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
        Ok(state::write(db.write(), Fact::IndexMarker(self.folder.id()), row).await?)
    }

    /// Marks the index as left in order: the next start tells from its files whether they were changed since.
    async fn mark_closed(&self, app: &App, watched: &Watched) -> Result<(), Error> {
        let Some(marker) = watched.marker.as_ref().filter(|_| watched.suspicion.is_none()) else {
            return Ok(());
        };
        if !app.retrieval.is_in_place() {
            return Ok(());
        }
        app.retrieval.commit().await?;
        app.retrieval.abandon().await?;
        let folder = self.folder.path();
        let files = tokio::task::spawn_blocking(move || FileStamp::all(&folder, MAX_CHECKSUM_TIME)).await;
        let files = files.map_err(Error::internal)?.map_err(Error::internal)?;
        let left = Marker { files: Some(files), ..marker.next(app.clock.now()) };
        self.write_marker(&app.db, &left).await
    }
}

/// Checks and repairs the index if this service maintains it: reopens it, counts, compares and follows a rebuild, each when
/// necessary. Called every two seconds.
///
/// # Errors
/// The database or the index fails; the next check goes on.
pub async fn check_index(app: &App) -> Result<(), Error> {
    let watch = &app.index_watch;
    let mut watched = watch.watched.lock().await;
    if !watch.maintain(&app.db, &app.retrieval, &mut watched, &*app.clock).await? {
        return Ok(());
    }
    watch.reopen_if_gone(app, &mut watched).await?;
    if watched.suspicion.is_none() {
        watch.compare_counts(app, &mut watched).await?;
    }
    let now = app.clock.elapsed();
    if let Some(suspicion) = watched.suspicion
        && has_passed(watched.comparison_failed_at, COMPARISON_RETRY, now)
    {
        let compared = watch.compare_passages(app, &mut watched, suspicion).await;
        watched.comparison_failed_at = compared.is_err().then_some(now);
        compared?;
    }
    watch.follow_rebuild(app, &mut watched).await?;
    watch.follow_changes(app, &mut watched).await;
    Ok(())
}

/// Closes the index at the end of the service, once nothing is written to it any more.
pub async fn close_index(app: &App) {
    // If a comparison or an opening is in progress, the next start finds the index as after a crash.
    app.index_watch.folder.cancel_opening();
    let Ok(watched) = app.index_watch.watched.try_lock() else { return };
    if !app.index_watch.is_maintainer() {
        return;
    }
    if let Err(error) = app.index_watch.mark_closed(app, &watched).await {
        warn!(cause = error.chain(), "could not mark the passage index as left in order");
    }
}

/// What can be told of the index of a data folder from outside of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Why it is to be compared with the database; none where it is the one that the service left, or has open.
    pub doubt: Option<Doubt>,
    /// How many passages it is to hold.
    pub expected_passages: u64,
    /// How many documents it lost and has not got back.
    pub lost_documents: u64,
}

/// Looks at the index of a data folder without opening it.
///
/// # Errors
/// The database fails.
pub async fn inspect(db: &Db, data_dir: &Path) -> Result<Inspection, Error> {
    let id = IndexFolder::read_id(data_dir);
    // The row before the folder: a service that runs raises the marker of the folder first.
    let recorded = match id {
        Some(id) => state::read(db.read(), Fact::IndexMarker(id)).await?,
        None => None,
    };
    let recorded = recorded.as_deref().and_then(Marker::from_row);
    let maintainer = state::read(db.read(), Fact::IndexMaintainer).await?;
    let is_elsewhere = maintainer.is_some() && maintainer != id.map(|id| id.to_string());
    let (_, doubt) = IndexFolder::examine(&IndexFolder::path_in(data_dir), recorded.as_ref());
    let doubt = doubt.or(is_elsewhere.then_some(Doubt::Elsewhere));
    Ok(Inspection {
        doubt,
        expected_passages: rows::expected_passages(db.read()).await?,
        lost_documents: rows::count_lost(db.read()).await?,
    })
}
