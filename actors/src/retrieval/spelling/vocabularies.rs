//! The words of the libraries of users, by which misspelt words are corrected.
//!
//! A small library is read when a query needs its words. Those of a large one are kept in a file: changes of documents add their words in
//! the background, a restart keeps them, and all texts are read again after some time, so that no word outlives its text for long. A query
//! uses what is kept, and beside it the words of the newest texts, of which it reads a bounded part. It waits a bounded time for words that
//! neither has: of all texts if nothing is kept yet, and of older documents that have just changed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use concurrency::{FairSemaphore, KeyedMutex, Lane, Workers};
use database::{Db, padded};
use entity::user;
use errors::Error;
use library::clock::Clock;
use moka::sync::Cache;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use search::spelling::{Vocabulary, VocabularyBuilder};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::warn;
use values::id::{DocumentId, UserId};
use values::time::Timestamp;

use super::kept_vocabulary::{KeptVocabulary, LibraryState, MAX_AGE, MAX_UNASKED_AGE, UpdateCause};
use super::library_words::LibraryReader;
use super::pending_changes::{ChangedDocuments, PendingChanges};
use super::vocabulary_files::{StoredVocabulary, VocabularyFiles};

/// Bytes of all vocabularies that are kept in memory. One of a large library takes a few megabytes, eleven at most.
const MAX_BYTES: u64 = 16 << 20;
/// Bytes that a vocabulary takes besides its words.
const OVERHEAD_BYTES: usize = 256;
/// Maximum time that a search waits for words: as long as it waits for its turn. Then its results are not corrected.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Maximum time that a search waits until all texts of a large library are read, if none of its words are kept, or until the words of
/// older documents that have changed are added.
const MAX_UPDATE_WAIT: Duration = Duration::from_secs(2);
/// Time after which the words of changed documents are added, so that those of many changes are added together.
const UPDATE_DELAY: Duration = Duration::from_secs(30);
/// Time after which all texts are read again because documents were removed, so that many removals cost one read.
const REMOVAL_DELAY: Duration = Duration::from_secs(3600);
/// All texts are read again at the earliest after this many times the time that their read took, so that the reads that queries ask for
/// take less than two hundredths of a core.
const REREAD_FACTOR: u32 = 60;
/// Reads of the newest texts at the same time: each takes a core and many pages of the database.
const MAX_SHORT_READS: usize = 2;
/// Reads of all or of changed texts at the same time.
const MAX_LONG_READS: usize = 1;
/// Maximum number of users whose changes are counted.
const MAX_NOTED_USERS: u64 = 100_000;
/// Users that are looked for in the database at a time.
const USERS_PER_QUERY: usize = 100;

/// Bytes of the newest texts after which a query waits for no more of them. A library of fewer bytes is small.
const MAX_NEWEST_BYTES: usize = 1 << 20;
/// Maximum number of bytes of texts that are read for a vocabulary, those of the newest documents first.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// The vocabularies of users. Clones share them.
#[derive(Clone)]
pub struct Vocabularies {
    db: Db,
    workers: Workers,
    clock: Arc<dyn Clock>,
    files: VocabularyFiles,
    kept: Cache<UserId, Arc<KeptVocabulary>>,
    /// The number of changes of the library of a user that were noted.
    changes: Cache<UserId, Arc<AtomicU64>>,
    pending: PendingChanges,
    /// The users of whom documents were removed. Nothing else is noted of them here.
    removals: PendingChanges,
    /// Held while a query reads the newest texts of a user: others of the user wait for what it reads.
    reads: KeyedMutex<UserId>,
    /// Held while the vocabulary of a user is replaced or removed.
    updates: KeyedMutex<UserId>,
    short_reads: FairSemaphore<UserId>,
    long_reads: FairSemaphore<UserId>,
    /// The updates that queries have asked for. The sender of each is dropped at its end.
    running: Arc<Mutex<HashMap<UserId, watch::Receiver<()>>>>,
    /// When the files of removed users were last removed.
    swept_at: Arc<Mutex<Option<Timestamp>>>,
    max_update_wait: Duration,
}

impl Vocabularies {
    /// Reads words from the database, and keeps those of large libraries in files.
    pub fn new(db: Db, workers: Workers, clock: Arc<dyn Clock>, files: VocabularyFiles) -> Self {
        let kept = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, kept: &Arc<KeptVocabulary>| {
                let words_bytes = kept.stored.vocabulary.size_bytes();
                u32::try_from(words_bytes + OVERHEAD_BYTES).unwrap_or(u32::MAX)
            })
            .time_to_idle(MAX_AGE)
            .build();
        // Longer than a vocabulary is kept, which refers to it.
        let changes = Cache::builder().max_capacity(MAX_NOTED_USERS).time_to_idle(2 * MAX_AGE).build();
        Self {
            db,
            workers,
            clock,
            files,
            kept,
            changes,
            pending: PendingChanges::default(),
            removals: PendingChanges::default(),
            reads: KeyedMutex::default(),
            updates: KeyedMutex::default(),
            short_reads: FairSemaphore::new(MAX_SHORT_READS, MAX_WAIT),
            long_reads: FairSemaphore::new(MAX_LONG_READS, MAX_AGE),
            running: Arc::default(),
            swept_at: Arc::default(),
            max_update_wait: MAX_UPDATE_WAIT,
        }
    }

    /// Returns the words of titles, URLs, excerpts, tags, highlights, notes on them and texts of the documents that the user may read. If the
    /// library has changed since they were read, the words of its newest texts are read, and those of all texts, if there are more, are
    /// the former ones while they are brought up to date in the background; at most two seconds are waited for them if they were never
    /// read, or if older documents have changed since. Empty if the newest texts cannot be read within five seconds.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker thread fails.
    pub async fn of_user(&self, user: UserId) -> Result<Vec<Arc<Vocabulary>>, Error> {
        match timeout(MAX_WAIT, self.find(user)).await {
            Ok(found) => found,
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Notes that documents of a user have changed: their words are added to the vocabulary in the background. To be called within a
    /// runtime.
    pub fn note_change(&self, user: UserId, documents: impl IntoIterator<Item = DocumentId>) {
        let is_first = self.pending.add(user, documents);
        self.count_change(user);
        if is_first {
            let this = self.clone();
            tokio::spawn(async move {
                sleep(UPDATE_DELAY).await;
                this.update_or_warn(user, UpdateCause::Changed).await;
                this.reread_or_warn(user, UpdateCause::Changed).await;
            });
        }
    }

    /// Notes that documents of a user were removed: all texts of a large library are read again in the background. To be called within a
    /// runtime.
    pub fn note_removal(&self, user: UserId) {
        let is_first = self.removals.add(user, []);
        self.count_change(user);
        if is_first {
            let this = self.clone();
            tokio::spawn(async move {
                sleep(REMOVAL_DELAY).await;
                this.removals.take(user);
                this.reread_or_warn(user, UpdateCause::Removed).await;
            });
        }
    }

    fn count_change(&self, user: UserId) {
        if let Some(changes) = self.changes.get(&user) {
            changes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes the vocabulary of a user, whose rows were removed before.
    ///
    /// # Errors
    /// [`Error::Internal`] when the file cannot be removed.
    pub async fn delete_user(&self, user: UserId) -> Result<(), Error> {
        let _lock = self.updates.lock(user).await;
        self.pending.take(user);
        self.remove(user).await
    }

    async fn find(&self, user: UserId) -> Result<Vec<Arc<Vocabulary>>, Error> {
        let _lock = self.reads.lock(user).await;
        // Before the words: a document that is saved meanwhile makes them be read again.
        let state = self.state(user).await?;
        let kept = self.kept_of(user, Lane::Foreground).await?;
        if let Some(current) = kept.as_ref().filter(|kept| kept.is_current(&state)) {
            if self.is_due(&current.stored, UpdateCause::Asked) {
                self.begin_update(user);
            }
            return Ok(vec![current.stored.vocabulary.clone()]);
        }
        let former = kept.as_ref().map(|kept| kept.stored.vocabulary.clone());
        let Ok(permit) = self.short_reads.acquire(user).await else {
            return Ok(former.into_iter().collect());
        };
        let newest = self.reader(user).read(Lane::Foreground, MAX_NEWEST_BYTES).await?;
        let oldest_read = newest.oldest;
        let vocabulary = self.build(Lane::Foreground, newest.builder).await?;
        drop(permit);
        if newest.is_whole {
            let stored = self.stored(vocabulary.clone(), state.newest, Duration::ZERO);
            self.keep(user, KeptVocabulary { stored, state, is_small: true });
            return Ok(vec![vocabulary]);
        }
        // Documents were added between the former newest one and those that were read now, or older ones have changed.
        let has_gap = |kept: Arc<KeptVocabulary>| kept.is_small || kept.stored.newest < oldest_read;
        let lacks_words = kept.is_none_or(has_gap) || self.pending.has_before(user, oldest_read);
        let mut update = self.begin_update(user);
        let is_read = lacks_words && timeout(self.max_update_wait, update.changed()).await.is_ok();
        let read = self.kept.get(&user).filter(|_| is_read).map(|kept| kept.stored.vocabulary.clone());
        Ok([vocabulary].into_iter().chain(read.or(former)).collect())
    }

    /// Brings the vocabulary of a user up to date in the background, and then reads all texts again if it is due. Returns a receiver whose
    /// sender is dropped when it is up to date, also of an update that runs already.
    fn begin_update(&self, user: UserId) -> watch::Receiver<()> {
        let mut running = self.running();
        if let Some(end) = running.get(&user) {
            return end.clone();
        }
        let (sender, end) = watch::channel(());
        running.insert(user, end.clone());
        drop(running);
        let this = self.clone();
        tokio::spawn(async move {
            // A drop of the task ends the update too.
            let running = RunningUpdate { vocabularies: &this, user, _sender: sender };
            this.update_or_warn(user, UpdateCause::Asked).await;
            drop(running);
            this.reread_or_warn(user, UpdateCause::Asked).await;
        });
        end
    }

    async fn update_or_warn(&self, user: UserId, cause: UpdateCause) {
        if let Err(error) = self.update(user, cause).await {
            warn!(cause = error.chain(), "the words of a library could not be read");
        }
    }

    async fn reread_or_warn(&self, user: UserId, cause: UpdateCause) {
        if let Err(error) = self.reread_if_due(user, cause).await {
            warn!(cause = error.chain(), "the words of a library could not be read again");
        }
    }

    /// Adds the words of changed and new documents to the vocabulary of a large library. Reads all texts instead if there is none, or if too
    /// many have changed.
    async fn update(&self, user: UserId, cause: UpdateCause) -> Result<(), Error> {
        let permit = self.long_reads.acquire(user).await;
        let _lock = self.updates.lock(user).await;
        // Before the changes are taken: one that is noted in between is read too, and makes the words be read once more.
        let state = self.state(user).await?;
        let changed = self.pending.take(user);
        // Too many wait: a query asks for it again, and so does the next change. Or another update has taken the changes.
        if permit.is_err() || (changed.is_none() && cause == UpdateCause::Changed) {
            return Ok(());
        }
        if state.newest.is_none() {
            return self.remove(user).await;
        }
        let Some(former) = self.large_of(user).await? else {
            let is_needed =
                cause == UpdateCause::Asked || self.reader(user).estimate_bytes().await? >= MAX_NEWEST_BYTES;
            return if is_needed { self.read_all(user, state).await } else { Ok(()) };
        };
        let changed = changed.unwrap_or_default();
        if changed.is_cut {
            return self.read_all(user, state).await;
        }
        self.add_changed(user, &former.stored, state, changed).await
    }

    /// Reads all texts of a large library again if its vocabulary is old enough. Only that leaves out removed words, and finds what another
    /// process has changed in older documents.
    async fn reread_if_due(&self, user: UserId, cause: UpdateCause) -> Result<(), Error> {
        let Ok(_permit) = self.long_reads.acquire(user).await else { return Ok(()) };
        let _lock = self.updates.lock(user).await;
        let state = self.state(user).await?;
        if state.newest.is_none() {
            return self.remove(user).await;
        }
        let kept = self.large_of(user).await?;
        let is_due = kept.is_some_and(|kept| self.is_due(&kept.stored, cause));
        if is_due { self.read_all(user, state).await } else { Ok(()) }
    }

    async fn read_all(&self, user: UserId, state: LibraryState) -> Result<(), Error> {
        let (began, read_at) = (Instant::now(), self.clock.now());
        let words = self.reader(user).read(Lane::Background, MAX_TEXT_BYTES).await?;
        let is_small = words.is_whole && words.read_bytes < MAX_NEWEST_BYTES;
        let vocabulary = self.build(Lane::Background, words.builder).await?;
        let stored = StoredVocabulary { read_at, ..self.stored(vocabulary, state.newest, began.elapsed()) };
        if is_small {
            self.remove_file(user).await?;
        } else {
            self.write_file(user, stored.clone()).await?;
        }
        self.keep(user, KeptVocabulary { stored, state, is_small });
        self.remove_files_of_removed_users().await
    }

    async fn add_changed(
        &self,
        user: UserId,
        former: &StoredVocabulary,
        state: LibraryState,
        changed: ChangedDocuments,
    ) -> Result<(), Error> {
        let mut stored = StoredVocabulary { newest: state.newest, ..former.clone() };
        if !changed.documents.is_empty() || former.newest != state.newest {
            let documents: Vec<DocumentId> = changed.documents.into_iter().collect();
            let reader = self.reader(user);
            let words = reader.read_changed(former.newest, &documents, MAX_TEXT_BYTES).await?;
            let (mut builder, former) = (words.builder, former.vocabulary.clone());
            let add = move || {
                builder.add_vocabulary(&former);
                Arc::new(builder.build())
            };
            stored.vocabulary = self.workers.run(Lane::Background, add).await?;
            self.write_file(user, stored.clone()).await?;
        }
        self.keep(user, KeptVocabulary { stored, state, is_small: false });
        Ok(())
    }

    fn reader(&self, user: UserId) -> LibraryReader<'_> {
        LibraryReader { db: &self.db, workers: &self.workers, user }
    }

    async fn build(&self, lane: Lane, builder: VocabularyBuilder) -> Result<Arc<Vocabulary>, Error> {
        Ok(Arc::new(self.workers.run(lane, move || builder.build()).await?))
    }

    /// Returns a vocabulary that took this long to read, and was read now.
    fn stored(
        &self,
        vocabulary: Arc<Vocabulary>,
        newest: Option<DocumentId>,
        duration: Duration,
    ) -> StoredVocabulary {
        let reread_after = duration.saturating_mul(REREAD_FACTOR).min(MAX_UNASKED_AGE);
        StoredVocabulary { vocabulary, newest, read_at: self.clock.now(), reread_after }
    }

    /// Returns whether all texts are to be read again.
    fn is_due(&self, stored: &StoredVocabulary, cause: UpdateCause) -> bool {
        self.clock.now().since(stored.read_at) >= cause.max_age(stored)
    }

    /// Returns the state of the library before a read.
    async fn state(&self, user: UserId) -> Result<LibraryState, Error> {
        let changes = self.changes.get_with(user, Arc::default);
        let changes_before = Some(changes.load(Ordering::Relaxed));
        let newest = self.reader(user).newest().await?;
        Ok(LibraryState { newest, changes, changes_before })
    }

    /// Returns the vocabulary of a user that is in memory or in a file. Reads a file on a thread of this lane.
    async fn kept_of(&self, user: UserId, lane: Lane) -> Result<Option<Arc<KeptVocabulary>>, Error> {
        if let Some(kept) = self.kept.get(&user) {
            return Ok(Some(kept));
        }
        let files = self.files.clone();
        let Some(stored) = self.workers.run(lane, move || files.read(user)).await? else {
            return Ok(None);
        };
        let changes = self.changes.get_with(user, Arc::default);
        let state = LibraryState { newest: stored.newest, changes, changes_before: None };
        let kept = Arc::new(KeptVocabulary { stored, state, is_small: false });
        self.kept.insert(user, kept.clone());
        Ok(Some(kept))
    }

    /// Returns the kept vocabulary of a large library. Removes the file of one that is small now.
    async fn large_of(&self, user: UserId) -> Result<Option<Arc<KeptVocabulary>>, Error> {
        let kept = self.kept_of(user, Lane::Background).await?;
        if kept.as_ref().is_some_and(|kept| kept.is_small) {
            self.remove_file(user).await?;
        }
        Ok(kept.filter(|kept| !kept.is_small))
    }

    fn keep(&self, user: UserId, kept: KeptVocabulary) {
        self.kept.insert(user, Arc::new(kept));
    }

    /// Keeps a vocabulary in the file of its user. A write that fails costs another read after a restart.
    async fn write_file(&self, user: UserId, stored: StoredVocabulary) -> Result<(), Error> {
        let files = self.files.clone();
        if let Err(error) = self.workers.run(Lane::Background, move || files.write(user, &stored)).await? {
            warn!(%error, "the words of a library could not be written to their file");
        }
        Ok(())
    }

    async fn remove_file(&self, user: UserId) -> Result<(), Error> {
        let files = self.files.clone();
        self.workers.run(Lane::Background, move || files.remove(user)).await?.map_err(Error::internal)
    }

    async fn remove(&self, user: UserId) -> Result<(), Error> {
        self.kept.invalidate(&user);
        self.remove_file(user).await
    }

    /// Removes the files of users whose accounts another node has removed; once a day.
    async fn remove_files_of_removed_users(&self) -> Result<(), Error> {
        if !self.begin_sweep() {
            return Ok(());
        }
        let files = self.files.clone();
        let users = self.workers.run(Lane::Background, move || files.users()).await?;
        for part in users.chunks(USERS_PER_QUERY) {
            let known = user::Entity::find().filter(user::Column::Id.is_in(padded(part)));
            let known = known.select_only().column(user::Column::Id).into_tuple::<UserId>();
            let known = known.all(self.db.read()).await?;
            for removed in part.iter().filter(|user| !known.contains(user)) {
                self.remove_file(*removed).await?;
            }
        }
        Ok(())
    }

    /// Returns whether a day has passed since the last sweep, and notes that one begins then.
    fn begin_sweep(&self) -> bool {
        let now = self.clock.now();
        let mut swept_at = self.swept_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = swept_at.is_none_or(|last| now.since(last) >= MAX_UNASKED_AGE);
        if is_due {
            *swept_at = Some(now);
        }
        is_due
    }

    fn running(&self) -> MutexGuard<'_, HashMap<UserId, watch::Receiver<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An update that a query has asked for. Its drop lets the next one begin, and then wakes the queries that wait for it.
struct RunningUpdate<'a> {
    vocabularies: &'a Vocabularies,
    user: UserId,
    _sender: watch::Sender<()>,
}

impl Drop for RunningUpdate<'_> {
    fn drop(&mut self) {
        self.vocabularies.running().remove(&self.user);
    }
}

#[cfg(test)]
mod tests;
