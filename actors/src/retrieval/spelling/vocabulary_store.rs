//! Owns the vocabularies that are kept: each in memory for as long as it is used, and that of a large library in a file too.
//!
//! The memory is bounded; what leaves it is read from the file again, or made again. A file that is damaged,
//! cannot be read or could not be written is logged and counts as missing: the words are read from the texts again.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use concurrency::{Lane, Workers};
use database::{Db, padded};
use entity::user;
use errors::Error;
use moka::sync::Cache;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use tracing::warn;
use values::id::UserId;
use values::time::Timestamp;

use super::kept_vocabulary::{KeptVocabulary, LibraryState, MAX_AGE, MAX_UNASKED_AGE};
use super::vocabulary_files::{StoredVocabulary, VocabularyFiles};

/// Bytes of all vocabularies that are kept in memory. One of a large library takes a few megabytes, eleven at most.
const MAX_BYTES: u64 = 16 << 20;
/// Bytes that a vocabulary takes besides its words.
const OVERHEAD_BYTES: usize = 256;
/// Users that are looked for in the database at a time.
const USERS_PER_QUERY: usize = 100;

/// The vocabularies that are kept. Clones share them.
#[derive(Clone)]
pub struct VocabularyStore {
    workers: Workers,
    files: VocabularyFiles,
    in_memory: Cache<UserId, Arc<KeptVocabulary>>,
    /// When the files of removed users were last removed.
    swept_at: Arc<Mutex<Option<Timestamp>>>,
}

impl VocabularyStore {
    /// Keeps vocabularies in memory and in these files.
    pub fn new(workers: Workers, files: VocabularyFiles) -> Self {
        let in_memory = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, kept: &Arc<KeptVocabulary>| {
                let words_bytes = kept.stored.vocabulary.size_bytes();
                u32::try_from(words_bytes + OVERHEAD_BYTES).unwrap_or(u32::MAX)
            })
            .time_to_idle(MAX_AGE)
            .build();
        Self { workers, files, in_memory, swept_at: Arc::default() }
    }

    /// Returns the vocabulary of a user that is in memory.
    pub fn in_memory(&self, user: UserId) -> Option<Arc<KeptVocabulary>> {
        self.in_memory.get(&user)
    }

    /// Returns the vocabulary of a user that is in memory or in a file, which a thread of this lane reads. `changes` counts the changes of the
    /// library.
    ///
    /// # Errors
    /// [`Error::Internal`] when the worker thread fails.
    pub async fn find(
        &self,
        user: UserId,
        lane: Lane,
        changes: Arc<AtomicU64>,
    ) -> Result<Option<Arc<KeptVocabulary>>, Error> {
        if let Some(kept) = self.in_memory(user) {
            return Ok(Some(kept));
        }
        let files = self.files.clone();
        let Some(stored) = self.workers.run(lane, move || files.read(user)).await? else { return Ok(None) };
        let state = LibraryState { newest: stored.newest, changes, changes_before: None };
        let kept = Arc::new(KeptVocabulary { stored, state, is_small: false });
        // Unless a newer one was kept while the file was read.
        Ok(Some(self.in_memory.entry(user).or_insert(kept).into_value()))
    }

    /// Keeps a vocabulary in memory.
    pub fn keep_in_memory(&self, user: UserId, kept: KeptVocabulary) {
        self.in_memory.insert(user, Arc::new(kept));
    }

    /// Keeps a vocabulary in memory and, if it is that of a large library, in a file; that of a small one has none.
    ///
    /// # Errors
    /// [`Error::Internal`] when a file cannot be removed, or the worker thread fails.
    pub async fn keep(&self, user: UserId, kept: KeptVocabulary) -> Result<(), Error> {
        if kept.is_small {
            self.remove_file(user).await?;
        } else {
            self.write_file(user, kept.stored.clone()).await?;
        }
        self.keep_in_memory(user, kept);
        Ok(())
    }

    /// Removes the vocabulary of a user.
    ///
    /// # Errors
    /// [`Error::Internal`] when the file cannot be removed, or the worker thread fails.
    pub async fn remove(&self, user: UserId) -> Result<(), Error> {
        self.in_memory.invalidate(&user);
        self.remove_file(user).await
    }

    /// Removes the file of a user, if there is one.
    ///
    /// # Errors
    /// [`Error::Internal`] when it cannot be removed, or the worker thread fails.
    pub async fn remove_file(&self, user: UserId) -> Result<(), Error> {
        let files = self.files.clone();
        self.workers.run(Lane::Background, move || files.remove(user)).await?.map_err(Error::internal)
    }

    /// A write that fails costs another read of the texts after a restart.
    async fn write_file(&self, user: UserId, stored: StoredVocabulary) -> Result<(), Error> {
        let files = self.files.clone();
        if let Err(error) = self.workers.run(Lane::Background, move || files.write(user, &stored)).await? {
            warn!(%error, "the words of a library could not be written to their file");
        }
        Ok(())
    }

    /// Removes the files of users whose accounts another node has removed; once a day.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker thread fails, or when a file cannot be removed.
    pub async fn remove_files_of_removed_users(&self, db: &Db, now: Timestamp) -> Result<(), Error> {
        if !self.begin_sweep(now) {
            return Ok(());
        }
        let files = self.files.clone();
        let users = self.workers.run(Lane::Background, move || files.users()).await?;
        for part in users.chunks(USERS_PER_QUERY) {
            let known = user::Entity::find().filter(user::Column::Id.is_in(padded(part)));
            let known = known.select_only().column(user::Column::Id).into_tuple::<UserId>();
            let known = known.all(db.read()).await?;
            for removed in part.iter().filter(|user| !known.contains(user)) {
                self.remove_file(*removed).await?;
            }
        }
        Ok(())
    }

    /// Returns whether a day has passed since the last sweep, and notes that one begins then.
    fn begin_sweep(&self, now: Timestamp) -> bool {
        let mut swept_at = self.swept_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = swept_at.is_none_or(|last| now.since(last) >= MAX_UNASKED_AGE);
        if is_due {
            *swept_at = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
impl VocabularyStore {
    /// Returns the files, for tests that look at them.
    pub fn files(&self) -> &VocabularyFiles {
        &self.files
    }
}
