//! The words of a user's library, by which misspelt words are corrected. They are read from the database when a query needs them, so that
//! a save costs nothing for them and no word outlives its text for long.
//!
//! A query waits for a bounded read alone, of the newest texts: all of a small library, and what was just saved to a large one. The words
//! of all texts of a large library are read in the background, and are used from then on beside the newest ones.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use concurrency::{FairSemaphore, KeyedMutex, Lane, Workers};
use database::{Db, padded};
use entity::{chunk, document};
use errors::Error;
use moka::sync::Cache;
use sea_orm::{ColumnTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select};
use search::lexical::url_words;
use search::spelling::{Vocabulary, VocabularyBuilder};
use tokio::time::timeout;
use tracing::warn;
use values::id::{BookmarkId, DocumentId, UserId};

use crate::retrieval::metadata::Annotations;

/// Bytes of all vocabularies that are kept. One of a large library takes two megabytes.
const MAX_BYTES: u64 = 16 << 20;
/// Bytes that a vocabulary takes besides its words.
const OVERHEAD_BYTES: usize = 256;
/// Maximum time that a search waits for the words of the newest texts: as long as it waits for its turn. Then its results are not corrected.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Time after which a vocabulary that is not used makes room, and after which one that is used is read again: another node may have
/// changed the library.
const MAX_AGE: Duration = Duration::from_secs(600);
/// A vocabulary of all texts whose library has changed is read again after this many times the time that its read took, so that all reads
/// take less than two hundredths of a core.
const CHANGED_AGE_FACTOR: u32 = 60;
/// Reads of the newest texts at the same time: each takes a core and many pages of the database.
const MAX_SHORT_READS: usize = 2;
/// Reads of all texts at the same time.
const MAX_LONG_READS: usize = 1;
/// Maximum number of users whose changes are counted.
const MAX_NOTED_USERS: u64 = 100_000;

/// Bytes of the newest texts after which a query waits for no more of them. It reads at most one batch of documents beyond.
const MAX_NEWEST_BYTES: usize = 1 << 20;
/// Maximum number of bytes of texts that are read for a vocabulary, those of the newest documents first.
const MAX_TEXT_BYTES: usize = 64 << 20;
/// Documents that are listed at a time.
const DOCUMENTS_PER_PAGE: usize = 500;
/// Documents whose texts are read at a time.
const MAX_BATCH_DOCUMENTS: usize = 100;
/// Characters of the texts that are read at a time, if they are of several documents.
const MAX_BATCH_CHARS: i64 = 2_000_000;
/// Maximum number of passages of a document that are read.
const MAX_DOCUMENT_PASSAGES: i32 = 2_000;

/// The vocabularies of users that were lately read. Clones share them.
#[derive(Clone)]
pub struct Vocabularies {
    kept: Cache<UserId, Arc<KeptVocabulary>>,
    /// The number of changes of the library of a user that were noted.
    changes: Cache<UserId, Arc<AtomicU64>>,
    /// Held while a query reads the newest texts of a user: others of the user wait for what it reads.
    locks: KeyedMutex<UserId>,
    short_reads: FairSemaphore<UserId>,
    long_reads: FairSemaphore<UserId>,
    /// The users all of whose texts are read now, or wait for it.
    reading: Arc<Mutex<HashSet<UserId>>>,
}

/// A vocabulary of all texts of a user, and what decides how long it is used.
struct KeptVocabulary {
    vocabulary: Arc<Vocabulary>,
    state: LibraryState,
    read_at: Instant,
    /// The time after which it is read again if the library has changed.
    changed_age: Duration,
}

/// The state of a library when a read of its words began.
#[derive(Clone)]
struct LibraryState {
    /// The newest document of the user.
    newest: Option<DocumentId>,
    /// The changes that were noted, and their number then.
    changes: Arc<AtomicU64>,
    changes_before: u64,
}

impl KeptVocabulary {
    /// Returns whether the library has not changed since the read began.
    fn is_current(&self, newest: Option<DocumentId>) -> bool {
        let LibraryState { newest: newest_then, changes, changes_before } = &self.state;
        changes.load(Ordering::Relaxed) == *changes_before && *newest_then == newest
    }
}

impl Default for Vocabularies {
    fn default() -> Self {
        let kept = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, kept: &Arc<KeptVocabulary>| {
                u32::try_from(kept.vocabulary.size_bytes() + OVERHEAD_BYTES).unwrap_or(u32::MAX)
            })
            .time_to_live(MAX_AGE)
            .build();
        // Longer than a vocabulary is kept, which refers to it.
        let changes = Cache::builder().max_capacity(MAX_NOTED_USERS).time_to_idle(2 * MAX_AGE).build();
        Self {
            kept,
            changes,
            locks: KeyedMutex::default(),
            short_reads: FairSemaphore::new(MAX_SHORT_READS, MAX_WAIT),
            long_reads: FairSemaphore::new(MAX_LONG_READS, MAX_AGE),
            reading: Arc::default(),
        }
    }
}

impl Vocabularies {
    /// Returns the words of titles, URLs, excerpts, tags, highlights, notes on them and texts of the documents that the user may read. If the
    /// library has changed since they were read, the words of its newest texts are read, and those of all texts, if there are more, are the
    /// former ones while they are read again in the background; before the first such read there are none. Empty if the newest texts cannot
    /// be read within five seconds.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker thread fails.
    pub async fn of_user(
        &self,
        db: &Db,
        workers: &Workers,
        user: UserId,
    ) -> Result<Vec<Arc<Vocabulary>>, Error> {
        match timeout(MAX_WAIT, self.find(db, workers, user)).await {
            Ok(found) => found,
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Notes that the library of a user has changed.
    pub fn forget(&self, user: UserId) {
        if let Some(changes) = self.changes.get(&user) {
            changes.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn find(&self, db: &Db, workers: &Workers, user: UserId) -> Result<Vec<Arc<Vocabulary>>, Error> {
        let _lock = self.locks.lock(user).await;
        // Before the words: a document that is saved meanwhile makes them be read again.
        let state = self.state(db, user).await?;
        let kept = self.kept.get(&user);
        if let Some(current) = kept.as_ref().filter(|kept| kept.is_current(state.newest)) {
            return Ok(vec![current.vocabulary.clone()]);
        }
        let newest = {
            let Ok(_permit) = self.short_reads.acquire(user).await else { return Ok(Vec::new()) };
            let began = Instant::now();
            let newest = read_vocabulary(db, (workers, Lane::Foreground), user, MAX_NEWEST_BYTES).await?;
            if newest.is_whole {
                self.keep(user, newest.vocabulary.clone(), state, began.elapsed());
                return Ok(vec![newest.vocabulary]);
            }
            newest.vocabulary
        };
        if kept.as_ref().is_none_or(|kept| kept.read_at.elapsed() >= kept.changed_age) {
            self.begin_long_read(db, workers, user);
        }
        let former = kept.map(|kept| kept.vocabulary.clone());
        Ok([newest].into_iter().chain(former).collect())
    }

    /// Reads the words of all texts of a user in the background, unless that is done already.
    fn begin_long_read(&self, db: &Db, workers: &Workers, user: UserId) {
        if !self.reading().insert(user) {
            return;
        }
        let (this, db, workers) = (self.clone(), db.clone(), workers.clone());
        tokio::spawn(async move {
            // A drop of the task ends the reading too.
            let _reading = Reading { vocabularies: &this, user };
            if let Err(error) = this.read_all(&db, &workers, user).await {
                warn!(cause = error.chain(), "the words of a library could not be read");
            }
        });
    }

    async fn read_all(&self, db: &Db, workers: &Workers, user: UserId) -> Result<(), Error> {
        // A query asks for it again.
        let Ok(_permit) = self.long_reads.acquire(user).await else { return Ok(()) };
        let (began, state) = (Instant::now(), self.state(db, user).await?);
        let all = read_vocabulary(db, (workers, Lane::Background), user, MAX_TEXT_BYTES).await?;
        self.keep(user, all.vocabulary, state, began.elapsed());
        Ok(())
    }

    /// Returns the state of the library before a read.
    async fn state(&self, db: &Db, user: UserId) -> Result<LibraryState, Error> {
        let changes = self.changes.get_with(user, Arc::default);
        let changes_before = changes.load(Ordering::Relaxed);
        let newest = select_newest(user).into_tuple::<DocumentId>().one(db.read()).await?;
        Ok(LibraryState { newest, changes, changes_before })
    }

    /// Keeps a vocabulary that took this long to read.
    fn keep(&self, user: UserId, vocabulary: Arc<Vocabulary>, state: LibraryState, duration: Duration) {
        let changed_age = duration.saturating_mul(CHANGED_AGE_FACTOR);
        let kept = KeptVocabulary { vocabulary, state, read_at: Instant::now(), changed_age };
        self.kept.insert(user, Arc::new(kept));
    }

    fn reading(&self) -> MutexGuard<'_, HashSet<UserId>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read of all texts of a user. Its drop lets the next one begin.
struct Reading<'a> {
    vocabularies: &'a Vocabularies,
    user: UserId,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.vocabularies.reading().remove(&self.user);
    }
}

/// The words of the newest texts of a user.
struct ReadVocabulary {
    vocabulary: Arc<Vocabulary>,
    /// Whether they are all texts.
    is_whole: bool,
}

/// A document whose words are read.
#[derive(FromQueryResult)]
struct ListedDocument {
    id: DocumentId,
    bookmark_id: Option<BookmarkId>,
    title: String,
    url: Option<String>,
    description: Option<String>,
    total_chars: i32,
}

/// Reads the words of the newest texts, until they have this many bytes, on worker threads of this lane.
async fn read_vocabulary(
    db: &Db,
    (workers, lane): (&Workers, Lane),
    user: UserId,
    max_bytes: usize,
) -> Result<ReadVocabulary, Error> {
    let mut builder = VocabularyBuilder::default();
    let mut read_bytes = 0;
    let mut before = None;
    loop {
        let listed = select_documents(user, before).into_model::<ListedDocument>();
        let documents = listed.all(db.read()).await?;
        let is_last_page = documents.len() < DOCUMENTS_PER_PAGE;
        let mut batches = batches(&documents).into_iter().peekable();
        while let Some(batch) = batches.next() {
            let texts = read_texts(db, user, batch).await?;
            read_bytes += texts.iter().map(String::len).sum::<usize>();
            let add = move || {
                for text in &texts {
                    builder.add(text);
                }
                builder
            };
            builder = workers.run(lane, add).await?;
            let is_whole = is_last_page && batches.peek().is_none();
            if !is_whole && (read_bytes >= max_bytes || builder.is_full()) {
                return build((workers, lane), builder, false).await;
            }
        }
        before = documents.last().map(|document| document.id);
        if is_last_page {
            return build((workers, lane), builder, true).await;
        }
    }
}

async fn build(
    (workers, lane): (&Workers, Lane),
    builder: VocabularyBuilder,
    is_whole: bool,
) -> Result<ReadVocabulary, Error> {
    let vocabulary = Arc::new(workers.run(lane, move || builder.build()).await?);
    Ok(ReadVocabulary { vocabulary, is_whole })
}

/// Selects the id of the newest document that the user may read.
fn select_newest(user: UserId) -> Select<document::Entity> {
    let newest = document::Entity::visible_to(user).order_by_desc(document::Column::Id).limit(1);
    newest.select_only().column(document::Column::Id)
}

/// Selects the next documents that the user may read, newest first, after this one.
fn select_documents(user: UserId, before: Option<DocumentId>) -> Select<document::Entity> {
    let mut select = document::Entity::visible_to(user);
    if let Some(before) = before {
        select = select.filter(document::Column::Id.lt(before));
    }
    select
        .order_by_desc(document::Column::Id)
        .limit(u64::try_from(DOCUMENTS_PER_PAGE).ok())
        .select_only()
        .columns([
            document::Column::Id,
            document::Column::BookmarkId,
            document::Column::Title,
            document::Column::Url,
            document::Column::Description,
            document::Column::TotalChars,
        ])
}

/// Divides documents into those whose texts are read together.
fn batches(documents: &[ListedDocument]) -> Vec<&[ListedDocument]> {
    let mut batches = Vec::new();
    let (mut start, mut chars) = (0, 0);
    for (at, document) in documents.iter().enumerate() {
        let length = i64::from(document.total_chars);
        let is_full = at - start >= MAX_BATCH_DOCUMENTS || chars + length > MAX_BATCH_CHARS;
        if at > start && is_full {
            batches.extend(documents.get(start..at));
            (start, chars) = (at, 0);
        }
        chars += length;
    }
    batches.extend(documents.get(start..).filter(|rest| !rest.is_empty()));
    batches
}

/// Returns what the documents are found by: passages, tags, highlights, titles, words of URLs and excerpts.
async fn read_texts(db: &Db, user: UserId, documents: &[ListedDocument]) -> Result<Vec<String>, Error> {
    let ids: Vec<DocumentId> = documents.iter().map(|document| document.id).collect();
    let bookmarks = documents.iter().filter_map(|document| document.bookmark_id).collect();
    let mut texts: Vec<String> = select_passages(user, &ids).into_tuple().all(db.read()).await?;
    let annotations = Annotations::of_bookmarks(db, user, bookmarks).await?;
    texts.extend(annotations.into_values().flat_map(Annotations::into_texts));
    texts.extend(documents.iter().map(|document| document.title.clone()));
    let urls = documents.iter().filter_map(|document| document.url.as_deref());
    texts.extend(urls.map(|url| url_words(url).join(" ")));
    texts.extend(documents.iter().filter_map(|document| document.description.clone()));
    Ok(texts)
}

fn select_passages(user: UserId, documents: &[DocumentId]) -> Select<chunk::Entity> {
    chunk::Entity::owned_by(user)
        .filter(chunk::Column::DocumentId.is_in(padded(documents)))
        .filter(chunk::Column::Ordinal.lt(MAX_DOCUMENT_PASSAGES))
        .select_only()
        .column(chunk::Column::Text)
}

#[cfg(test)]
mod tests {
    use database::insert_all;
    use search::spelling::nearest_word;
    use uuid::Uuid;
    use values::id::ChunkId;
    use values::kind::ContentType;
    use values::time::Timestamp;

    use super::*;
    use crate::retrieval::test_library::{NOON, add_user, open_database};

    fn document(total_chars: i32) -> ListedDocument {
        ListedDocument {
            id: DocumentId(Uuid::nil()),
            bookmark_id: None,
            title: String::new(),
            url: None,
            description: None,
            total_chars,
        }
    }

    fn batch_lengths(lengths: &[i32]) -> Vec<usize> {
        let documents: Vec<ListedDocument> = lengths.iter().map(|length| document(*length)).collect();
        batches(&documents).into_iter().map(<[ListedDocument]>::len).collect()
    }

    #[tokio::test]
    async fn kept_vocabulary_is_current_until_the_library_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (db, user) = (open_database(&folder).await, UserId(Uuid::nil()));
        let vocabularies = Vocabularies::default();
        let is_current = || vocabularies.kept.get(&user).is_some_and(|kept| kept.is_current(None));

        let state = vocabularies.state(&db, user).await.unwrap();
        vocabularies.keep(user, Arc::default(), state, Duration::ZERO);
        assert!(is_current());
        assert!(!vocabularies.kept.get(&user).unwrap().is_current(Some(DocumentId(Uuid::nil()))));
        vocabularies.forget(user);
        assert!(!is_current());

        let state = vocabularies.state(&db, user).await.unwrap();
        vocabularies.forget(user);
        vocabularies.keep(user, Arc::default(), state, Duration::ZERO);
        assert!(!is_current(), "the change was during the read");
    }

    /// Adds a document of ten kilobytes for each word, the last one being the newest.
    async fn add_texts<'a>(db: &Db, owner: UserId, first: i64, words: impl Iterator<Item = &'a str>) {
        let (mut documents, mut chunks) = (Vec::new(), Vec::new());
        for (number, word) in (first..).zip(words) {
            let now = Timestamp::from_millis(NOON.millis() + number);
            let document = document::Model::pending(owner, ContentType::Article, String::new(), now);
            chunks.push(chunk::Model {
                id: ChunkId::new(now),
                document_id: document.id,
                user_id: owner,
                version: 1,
                ordinal: 0,
                start_offset: 0,
                end_offset: 10_000,
                page: None,
                start_seconds: None,
                end_seconds: None,
                text: format!("{word} {}", "water ".repeat(1_800)),
            });
            documents.push(document);
        }
        insert_all::<document::Entity>(db.write(), documents, None).await.unwrap();
        insert_all::<chunk::Entity>(db.write(), chunks, None).await.unwrap();
    }

    #[tokio::test]
    async fn query_waits_for_the_newest_texts_alone() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, workers) = (add_user(&db).await, Workers::new(2));
        let vocabularies = Vocabularies::default();
        let nearest = async |words: &[&str]| -> Vec<Option<String>> {
            let found = vocabularies.of_user(&db, &workers, owner).await.unwrap();
            let nearest =
                |word: &&str| nearest_word(found.iter().map(Arc::as_ref), word, |_| true).map(str::to_owned);
            words.iter().map(nearest).collect()
        };
        let some = |word: &str| Some(word.to_owned());
        // The first is not among the newest texts of a megabyte.
        let middle = std::iter::repeat_n("reed", 150);
        add_texts(&db, owner, 0, std::iter::once("heron").chain(middle).chain(["egret"])).await;

        assert_eq!(nearest(&["egrett", "herron"]).await, [some("egret"), None]);
        while vocabularies.kept.get(&owner).is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(nearest(&["egrett", "herron"]).await, [some("egret"), some("heron")]);

        add_texts(&db, owner, 1_000, ["avocet"].into_iter()).await;
        assert_eq!(nearest(&["avocett", "herron"]).await, [some("avocet"), some("heron")]);
    }

    #[tokio::test]
    async fn all_words_of_a_small_library_are_read_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, workers) = (add_user(&db).await, Workers::new(2));
        let vocabularies = Vocabularies::default();
        add_texts(&db, owner, 0, ["heron", "egret"].into_iter()).await;

        for _ in 0..2 {
            let found = vocabularies.of_user(&db, &workers, owner).await.unwrap();
            assert_eq!(found.len(), 1);
            let words = || found.iter().map(Arc::as_ref);
            assert_eq!(nearest_word(words(), "herron", |_| true), Some("heron"));
            assert!(vocabularies.kept.get(&owner).is_some() && vocabularies.reading().is_empty());
        }
    }

    #[test]
    fn texts_are_read_in_batches_of_bounded_length() {
        assert_eq!(batch_lengths(&[]), [0_usize; 0]);
        assert_eq!(batch_lengths(&[5_000_000]), [1]);
        assert_eq!(batch_lengths(&[10, 1_500_000, 600_000, 0, 9_000_000, 1]), [2, 2, 1, 1]);
        assert_eq!(batch_lengths(&[1; 250]), [100, 100, 50]);
    }
}
