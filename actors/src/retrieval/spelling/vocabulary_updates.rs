//! Brings the vocabularies that are kept up to date, in the background.
//!
//! Changes of documents are noted in memory until their words are added to the vocabulary of a large library. One update of a user runs at a
//! time. It takes the changes that are noted and, if it fails, notes them again and is repeated. A restart loses them: then the words of
//! older documents that had changed are found after the next read of all texts, which the first query begins that is older than its age.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use concurrency::{FairSemaphore, KeyedMutex, Lane, Workers};
use database::Db;
use errors::Error;
use library::clock::Clock;
use moka::sync::Cache;
use search::spelling::{Vocabulary, VocabularyBuilder};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::warn;
use values::id::{DocumentId, UserId};

use super::kept_vocabulary::{KeptVocabulary, LibraryState, MAX_AGE, MAX_UNASKED_AGE, UpdateCause};
use super::library_words::LibraryReader;
use super::pending_changes::{ChangedDocuments, PendingChanges};
use super::vocabulary_files::StoredVocabulary;
use super::vocabulary_store::VocabularyStore;

/// Time after which the words of changed documents are added, so that those of many changes are added together. After a failure they are
/// tried again, each time after twice as long, at most [`MAX_AGE`].
const UPDATE_DELAY: Duration = Duration::from_secs(30);
/// Time after which all texts are read again because documents were removed, so that many removals cost one read.
const REMOVAL_DELAY: Duration = Duration::from_secs(3600);
/// All texts are read again at the earliest after this many times the time that their read took, so that the reads that queries ask for
/// take less than two hundredths of a core.
const REREAD_FACTOR: u32 = 60;
/// Reads of all or of changed texts at the same time.
const MAX_LONG_READS: usize = 1;
/// Maximum number of users whose changes are counted.
const MAX_NOTED_USERS: u64 = 100_000;

/// Bytes of the newest texts after which a query waits for no more of them. A library of fewer bytes is small.
pub const MAX_NEWEST_BYTES: usize = 1 << 20;
/// Maximum number of bytes of texts that are read for a vocabulary, those of the newest documents first.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// Updates the vocabularies of users. Clones share their state.
#[derive(Clone)]
pub struct VocabularyUpdates {
    db: Db,
    workers: Workers,
    clock: Arc<dyn Clock>,
    pub(super) store: VocabularyStore,
    /// The number of changes of the library of a user that were noted.
    changes: Cache<UserId, Arc<AtomicU64>>,
    /// The documents whose words are to be added. A task waits for each user who has some.
    pub(super) pending: PendingChanges,
    /// The users of whom documents were removed. Nothing else is noted of them here.
    removals: PendingChanges,
    /// Held while the vocabulary of a user is replaced or removed.
    pub(super) locks: KeyedMutex<UserId>,
    long_reads: FairSemaphore<UserId>,
    /// The updates that queries have asked for. The sender of each is dropped at its end.
    running: Arc<Mutex<HashMap<UserId, watch::Receiver<()>>>>,
}

impl VocabularyUpdates {
    /// Reads words from this database.
    pub fn new(db: Db, workers: Workers, clock: Arc<dyn Clock>, store: VocabularyStore) -> Self {
        // Longer than a vocabulary is kept, which refers to it.
        let changes = Cache::builder().max_capacity(MAX_NOTED_USERS).time_to_idle(2 * MAX_AGE).build();
        Self {
            db,
            workers,
            clock,
            store,
            changes,
            pending: PendingChanges::default(),
            removals: PendingChanges::default(),
            locks: KeyedMutex::default(),
            long_reads: FairSemaphore::new(MAX_LONG_READS, MAX_AGE),
            running: Arc::default(),
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
                let mut delay = UPDATE_DELAY;
                sleep(delay).await;
                while !this.update_or_warn(user, UpdateCause::Changed).await {
                    delay = delay.saturating_mul(2).min(MAX_AGE);
                    sleep(delay).await;
                }
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
        let _lock = self.locks.lock(user).await;
        self.pending.take(user);
        self.store.remove(user).await
    }

    /// Begins an update in the background that a query asks for, unless one runs already, and then reads all texts again if that is due.
    /// Returns a receiver whose sender is dropped when the vocabulary is up to date.
    pub fn begin(&self, user: UserId) -> watch::Receiver<()> {
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
            let running = RunningUpdate { updates: &this, user, _sender: sender };
            this.update_or_warn(user, UpdateCause::Asked).await;
            drop(running);
            this.reread_or_warn(user, UpdateCause::Asked).await;
        });
        end
    }

    /// Returns whether the update succeeded.
    async fn update_or_warn(&self, user: UserId, cause: UpdateCause) -> bool {
        let updated = self.update(user, cause).await;
        if let Err(error) = &updated {
            warn!(cause = error.chain(), "the words of a library could not be read; they are read later");
        }
        updated.is_ok()
    }

    async fn reread_or_warn(&self, user: UserId, cause: UpdateCause) {
        if let Err(error) = self.reread_if_due(user, cause).await {
            warn!(cause = error.chain(), "the words of a library could not be read again");
        }
    }

    /// Adds the words of changed and new documents to the vocabulary of a large library. If that fails, the changes are noted as before.
    ///
    /// # Errors
    /// [`Error::Busy`] when too many updates wait; [`Error::Internal`] when the database, a file or the worker thread fails.
    pub(super) async fn update(&self, user: UserId, cause: UpdateCause) -> Result<(), Error> {
        let _permit = self.long_reads.acquire(user).await?;
        let _lock = self.locks.lock(user).await;
        // Before the changes are taken: one that is noted in between is read too, and makes the words be read once more.
        let state = self.state(user).await?;
        let changed = self.pending.take(user);
        if changed.is_none() && cause == UpdateCause::Changed {
            // Another update has taken the changes.
            return Ok(());
        }
        let none = ChangedDocuments::default();
        let updated = self.replace(user, cause, state, changed.as_ref().unwrap_or(&none)).await;
        // The task that waits for them, which began when the first was noted, finds them again: it runs, or waits for this update.
        if let Some(changed) = changed.filter(|_| updated.is_err()) {
            self.pending.restore(user, changed);
        }
        updated
    }

    /// Replaces the vocabulary of a large library by one with the words of changed and new documents. Reads all texts instead if there is none,
    /// or if too many have changed.
    async fn replace(
        &self,
        user: UserId,
        cause: UpdateCause,
        state: LibraryState,
        changed: &ChangedDocuments,
    ) -> Result<(), Error> {
        if state.newest.is_none() {
            return self.store.remove(user).await;
        }
        let Some(former) = self.large_of(user).await? else {
            let is_needed =
                cause == UpdateCause::Asked || self.reader(user).estimate_bytes().await? >= MAX_NEWEST_BYTES;
            return if is_needed { self.read_all(user, state).await } else { Ok(()) };
        };
        if changed.is_cut {
            return self.read_all(user, state).await;
        }
        self.add_changed(user, &former.stored, state, changed).await
    }

    /// Reads all texts of a large library again if its vocabulary is old enough. Only that leaves out removed words, and finds what another
    /// process has changed in older documents.
    pub(super) async fn reread_if_due(&self, user: UserId, cause: UpdateCause) -> Result<(), Error> {
        let Ok(_permit) = self.long_reads.acquire(user).await else { return Ok(()) };
        let _lock = self.locks.lock(user).await;
        let state = self.state(user).await?;
        if state.newest.is_none() {
            return self.store.remove(user).await;
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
        self.store.keep(user, KeptVocabulary { stored, state, is_small }).await?;
        self.store.remove_files_of_removed_users(&self.db, self.clock.now()).await
    }

    async fn add_changed(
        &self,
        user: UserId,
        former: &StoredVocabulary,
        state: LibraryState,
        changed: &ChangedDocuments,
    ) -> Result<(), Error> {
        let mut stored = StoredVocabulary { newest: state.newest, ..former.clone() };
        if changed.documents.is_empty() && former.newest == state.newest {
            self.store.keep_in_memory(user, KeptVocabulary { stored, state, is_small: false });
            return Ok(());
        }
        let documents: Vec<DocumentId> = changed.documents.iter().copied().collect();
        let words = self.reader(user).read_changed(former.newest, &documents, MAX_TEXT_BYTES).await?;
        let (mut builder, former) = (words.builder, former.vocabulary.clone());
        let add = move || {
            builder.add_vocabulary(&former);
            Arc::new(builder.build())
        };
        stored.vocabulary = self.workers.run(Lane::Background, add).await?;
        self.store.keep(user, KeptVocabulary { stored, state, is_small: false }).await
    }

    /// Returns the reader of the words of a user.
    pub fn reader(&self, user: UserId) -> LibraryReader<'_> {
        LibraryReader { db: &self.db, workers: &self.workers, user }
    }

    /// Returns the vocabulary of the texts that were added, made on a thread of this lane.
    ///
    /// # Errors
    /// [`Error::Internal`] when the worker thread fails.
    pub async fn build(&self, lane: Lane, builder: VocabularyBuilder) -> Result<Arc<Vocabulary>, Error> {
        Ok(Arc::new(self.workers.run(lane, move || builder.build()).await?))
    }

    /// Returns a vocabulary that took this long to read, and was read now.
    pub fn stored(
        &self,
        vocabulary: Arc<Vocabulary>,
        newest: Option<DocumentId>,
        duration: Duration,
    ) -> StoredVocabulary {
        let reread_after = duration.saturating_mul(REREAD_FACTOR).min(MAX_UNASKED_AGE);
        StoredVocabulary { vocabulary, newest, read_at: self.clock.now(), reread_after }
    }

    /// Returns whether all texts are to be read again.
    pub fn is_due(&self, stored: &StoredVocabulary, cause: UpdateCause) -> bool {
        self.clock.now().since(stored.read_at) >= cause.max_age(stored)
    }

    /// Returns the state of the library before a read.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub async fn state(&self, user: UserId) -> Result<LibraryState, Error> {
        let changes = self.changes_of(user);
        let changes_before = Some(changes.load(Ordering::Relaxed));
        let newest = self.reader(user).newest().await?;
        Ok(LibraryState { newest, changes, changes_before })
    }

    /// Returns the vocabulary of a user that is kept. Reads a file on a thread of this lane.
    ///
    /// # Errors
    /// [`Error::Internal`] when the worker thread fails.
    pub async fn kept_of(&self, user: UserId, lane: Lane) -> Result<Option<Arc<KeptVocabulary>>, Error> {
        self.store.find(user, lane, self.changes_of(user)).await
    }

    fn changes_of(&self, user: UserId) -> Arc<AtomicU64> {
        self.changes.get_with(user, Arc::default)
    }

    /// Returns the kept vocabulary of a large library. Removes the file of one that is small now.
    async fn large_of(&self, user: UserId) -> Result<Option<Arc<KeptVocabulary>>, Error> {
        let kept = self.kept_of(user, Lane::Background).await?;
        if kept.as_ref().is_some_and(|kept| kept.is_small) {
            self.store.remove_file(user).await?;
        }
        Ok(kept.filter(|kept| !kept.is_small))
    }

    pub(super) fn running(&self) -> MutexGuard<'_, HashMap<UserId, watch::Receiver<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An update that a query has asked for. Its drop lets the next one begin, and then wakes the queries that wait for it.
struct RunningUpdate<'a> {
    updates: &'a VocabularyUpdates,
    user: UserId,
    _sender: watch::Sender<()>,
}

impl Drop for RunningUpdate<'_> {
    fn drop(&mut self) {
        self.updates.running().remove(&self.user);
    }
}
