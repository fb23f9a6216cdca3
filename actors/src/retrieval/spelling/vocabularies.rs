//! The words of the libraries of users, by which misspelt words are corrected.
//!
//! A small library is read when a query needs its words. Those of a large one are kept in a file ([`VocabularyStore`]): changes of documents
//! add their words in the background ([`VocabularyUpdates`]), a restart keeps them, and all texts are read again after some time, so that no
//! word outlives its text for long. A query uses what is kept, and beside it the words of the newest texts, of which it reads a bounded part.
//! It waits a bounded time for words that neither has: of all texts if nothing is kept yet, and of older documents that have just changed.

use std::sync::Arc;
use std::time::Duration;

use concurrency::{FairSemaphore, KeyedMutex, Lane, Workers};
use database::Db;
use errors::Error;
use library::clock::Clock;
use moka::sync::Cache;
use search::spelling::Vocabulary;
use tokio::time::{Instant, timeout};
use values::id::{DocumentId, UserId};

use super::kept_vocabulary::{KeptVocabulary, UpdateCause};
use super::vocabulary_files::VocabularyFiles;
use super::vocabulary_store::VocabularyStore;
use super::vocabulary_updates::{MAX_NEWEST_BYTES, VocabularyUpdates};

/// Maximum time that a search waits for words: as long as it waits for its turn. Then its results are not corrected.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Maximum time that a search waits until all texts of a large library are read, if none of its words are kept, or until the words of
/// older documents that have changed are added.
const MAX_UPDATE_WAIT: Duration = Duration::from_secs(2);
/// Reads of the newest texts at the same time: each takes a core and many pages of the database.
const MAX_SHORT_READS: usize = 2;
/// Users whose last read is kept for the queries that wait for it.
const MAX_LAST_READS: u64 = 64;

/// The words of a library.
#[derive(Clone, Default)]
pub struct UserVocabularies {
    /// The words, in one vocabulary or in several.
    pub vocabularies: Vec<Arc<Vocabulary>>,
    /// Whether all of them could be read in time.
    pub is_whole: bool,
}

/// What a query has read.
#[derive(Clone)]
struct LastRead {
    /// When the read began. It has the words of everything that was saved before.
    began: Instant,
    words: UserVocabularies,
}

/// The vocabularies of users. Clones share them.
#[derive(Clone)]
pub struct Vocabularies {
    updates: VocabularyUpdates,
    /// Held while a query reads the newest texts of a user: others of the user wait for what it reads.
    reads: KeyedMutex<UserId>,
    /// The last read of a user, for as long as a query may wait for it.
    last_reads: Cache<UserId, LastRead>,
    short_reads: FairSemaphore<UserId>,
    max_update_wait: Duration,
}

impl Vocabularies {
    /// Reads words from the database, and keeps those of large libraries in files.
    pub fn new(db: Db, workers: Workers, clock: Arc<dyn Clock>, files: VocabularyFiles) -> Self {
        let store = VocabularyStore::new(workers.clone(), files);
        Self {
            updates: VocabularyUpdates::new(db, workers, clock, store),
            reads: KeyedMutex::default(),
            last_reads: Cache::builder().max_capacity(MAX_LAST_READS).time_to_live(MAX_WAIT).build(),
            short_reads: FairSemaphore::new(MAX_SHORT_READS, MAX_WAIT),
            max_update_wait: MAX_UPDATE_WAIT,
        }
    }

    /// Returns the words of titles, URLs, excerpts, tags, highlights, notes on them and texts of the documents that the user may read. If the
    /// library has changed since they were read, the words of its newest texts are read, and those of all texts, if there are more, are
    /// the former ones while they are brought up to date in the background; at most two seconds are waited for them if they were never
    /// read, or if older documents have changed since. There are none if the newest texts cannot be read within five seconds.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker thread fails.
    pub async fn of_user(&self, user: UserId) -> Result<UserVocabularies, Error> {
        timeout(MAX_WAIT, self.find(user, Instant::now()))
            .await
            .unwrap_or_else(|_| Ok(UserVocabularies::default()))
    }

    /// Notes that documents of a user have changed ([`VocabularyUpdates::note_change`]).
    pub fn note_change(&self, user: UserId, documents: impl IntoIterator<Item = DocumentId>) {
        self.updates.note_change(user, documents);
    }

    /// Notes that documents of a user were removed ([`VocabularyUpdates::note_removal`]).
    pub fn note_removal(&self, user: UserId) {
        self.updates.note_removal(user);
    }

    /// Removes the vocabulary of a user, whose rows were removed before.
    ///
    /// # Errors
    /// [`Error::Internal`] when the file cannot be removed.
    pub async fn delete_user(&self, user: UserId) -> Result<(), Error> {
        self.last_reads.invalidate(&user);
        self.updates.delete_user(user).await
    }

    /// Returns the words of everything that was saved before the query was `asked_at`. Queries that wait for each other while the library
    /// changes share a read that began after they were asked.
    async fn find(&self, user: UserId, asked_at: Instant) -> Result<UserVocabularies, Error> {
        let _lock = self.reads.lock(user).await;
        if let Some(last) = self.last_reads.get(&user).filter(|last| last.began >= asked_at) {
            return Ok(last.words);
        }
        let began = Instant::now();
        let words = self.read(user).await?;
        self.last_reads.insert(user, LastRead { began, words: words.clone() });
        Ok(words)
    }

    /// Reads the words. Call it with the lock of the user.
    async fn read(&self, user: UserId) -> Result<UserVocabularies, Error> {
        // Before the words: a document that is saved meanwhile makes them be read again.
        let state = self.updates.state(user).await?;
        let kept = self.updates.kept_of(user, Lane::Foreground).await?;
        if let Some(current) = kept.as_ref().filter(|kept| kept.is_current(&state)) {
            if self.updates.is_due(&current.stored, UpdateCause::Asked) {
                self.updates.begin(user);
            }
            let vocabularies = vec![current.stored.vocabulary.clone()];
            return Ok(UserVocabularies { vocabularies, is_whole: true });
        }
        let former = kept.as_ref().map(|kept| kept.stored.vocabulary.clone());
        let Ok(permit) = self.short_reads.acquire(user).await else {
            return Ok(UserVocabularies { vocabularies: former.into_iter().collect(), is_whole: false });
        };
        let newest = self.updates.reader(user).read(Lane::Foreground, MAX_NEWEST_BYTES).await?;
        let oldest_read = newest.oldest;
        let vocabulary = self.updates.build(Lane::Foreground, newest.builder).await?;
        drop(permit);
        if newest.is_whole {
            let stored = self.updates.stored(vocabulary.clone(), state.newest, Duration::ZERO);
            self.updates.store.keep_in_memory(user, KeptVocabulary { stored, state, is_small: true });
            return Ok(UserVocabularies { vocabularies: vec![vocabulary], is_whole: true });
        }
        // Documents were added between the former newest one and those that were read now, or older ones have changed.
        let has_gap = |kept: Arc<KeptVocabulary>| kept.is_small || kept.stored.newest < oldest_read;
        let lacks_words = kept.is_none_or(has_gap) || self.updates.pending.has_before(user, oldest_read);
        let mut update = self.updates.begin(user);
        let is_updated = lacks_words && timeout(self.max_update_wait, update.changed()).await.is_ok();
        let updated = self.updates.store.in_memory(user).filter(|_| is_updated);
        let updated = updated.map(|kept| kept.stored.vocabulary.clone());
        let is_whole = !lacks_words || updated.is_some();
        Ok(UserVocabularies {
            vocabularies: [vocabulary].into_iter().chain(updated.or(former)).collect(),
            is_whole,
        })
    }
}

#[cfg(test)]
mod tests;
