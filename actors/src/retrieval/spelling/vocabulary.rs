//! The words of a user's library, by which misspelt words are corrected. They are read from the database when a query needs them, so that
//! a save costs nothing for them and no word outlives its text for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
use values::id::{BookmarkId, DocumentId, UserId};

use crate::retrieval::metadata::Annotations;

/// Bytes of all vocabularies that are kept. One of a large library takes two megabytes.
const MAX_BYTES: u64 = 16 << 20;
/// Bytes that a vocabulary takes besides its words.
const OVERHEAD_BYTES: usize = 256;
/// Maximum time that a search waits for a vocabulary: as long as it waits for its turn. Then its results are not corrected.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Time after which a vocabulary that is not used makes room, and after which one that is used is read again: another node may have
/// changed the library.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Maximum time for which a vocabulary is used although its library has changed.
const MAX_CHANGED_AGE: Duration = Duration::from_secs(60);
/// Time that a read may take at each change.
const SHORT_READ: Duration = Duration::from_millis(100);
/// A vocabulary whose library has changed is used for this many times the time that its read took beyond a short one, so that one of a
/// large library is not read at each search while pages are saved.
const CHANGED_AGE_FACTOR: u32 = 60;
/// Vocabularies that are read at the same time: it takes a core and many pages of the database.
const MAX_READS: usize = 1;
/// Maximum number of users whose changes are noted.
const MAX_NOTED_USERS: u64 = 100_000;

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
    /// Whether the library of a user has changed since the last read of its vocabulary began.
    changes: Cache<UserId, Arc<AtomicBool>>,
    /// Held while the vocabulary of a user is read.
    locks: KeyedMutex<UserId>,
    reads: FairSemaphore<UserId>,
}

/// A vocabulary, and what decides how long it is used.
struct KeptVocabulary {
    vocabulary: Arc<Vocabulary>,
    /// The newest document of the user when the read began.
    newest: Option<DocumentId>,
    /// Whether the library has changed since the read began.
    has_changed: Arc<AtomicBool>,
    read_at: Instant,
    /// The time for which it is used although the library has changed.
    changed_age: Duration,
}

impl KeptVocabulary {
    fn is_usable(&self, newest: Option<DocumentId>) -> bool {
        let is_current = !self.has_changed.load(Ordering::Relaxed) && self.newest == newest;
        is_current || self.read_at.elapsed() < self.changed_age
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
        // Longer than a vocabulary is kept, whose read began after its change was noted.
        let changes = Cache::builder().max_capacity(MAX_NOTED_USERS).time_to_live(2 * MAX_AGE).build();
        let reads = FairSemaphore::new(MAX_READS, MAX_WAIT);
        Self { kept, changes, locks: KeyedMutex::default(), reads }
    }
}

impl Vocabularies {
    /// Returns the vocabulary of a user: the words of titles, URLs, excerpts, tags, highlights, notes on them and texts of the documents
    /// that the user may read. It is read if it is not kept, and if a document was saved since, which no change of the index has told yet;
    /// this takes time in proportion to the texts. `None` if that takes longer than five seconds: the read goes on, for later searches.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker thread fails.
    pub async fn of_user(
        &self,
        db: &Db,
        workers: &Workers,
        user: UserId,
    ) -> Result<Option<Arc<Vocabulary>>, Error> {
        let (this, db, workers) = (self.clone(), db.clone(), workers.clone());
        let read = tokio::spawn(async move { this.read(&db, &workers, user).await });
        match timeout(MAX_WAIT, read).await {
            Ok(read) => read.map_err(Error::internal)?,
            Err(_) => Ok(None),
        }
    }

    /// Notes that the library of a user has changed. Its vocabulary is read again at the next use, though not within a time that grows with
    /// the duration of a read, at most a minute.
    pub fn forget(&self, user: UserId) {
        if let Some(has_changed) = self.changes.get(&user) {
            has_changed.store(true, Ordering::Relaxed);
        }
    }

    /// Reads a vocabulary, or returns the one that was read meanwhile; `None` if other reads take too long.
    async fn read(&self, db: &Db, workers: &Workers, user: UserId) -> Result<Option<Arc<Vocabulary>>, Error> {
        let Ok(_lock) = timeout(MAX_WAIT, self.locks.lock(user)).await else { return Ok(None) };
        // Before the words: a document that is saved meanwhile makes them be read again.
        let newest = select_newest(user).into_tuple::<DocumentId>().one(db.read()).await?;
        if let Some(kept) = self.usable(user, newest) {
            return Ok(Some(kept));
        }
        let Ok(_permit) = self.reads.acquire(user).await else { return Ok(None) };
        let (began, has_changed) = (Instant::now(), self.begin_read(user));
        let vocabulary = Arc::new(read_vocabulary(db, workers, user).await?);
        self.keep(user, vocabulary.clone(), newest, has_changed, began.elapsed());
        Ok(Some(vocabulary))
    }

    fn usable(&self, user: UserId, newest: Option<DocumentId>) -> Option<Arc<Vocabulary>> {
        self.kept.get(&user).filter(|kept| kept.is_usable(newest)).map(|kept| kept.vocabulary.clone())
    }

    /// Returns what tells whether the library changes from now on.
    fn begin_read(&self, user: UserId) -> Arc<AtomicBool> {
        let has_changed = Arc::new(AtomicBool::new(false));
        self.changes.insert(user, has_changed.clone());
        has_changed
    }

    /// Keeps a vocabulary that took this long to read.
    fn keep(
        &self,
        user: UserId,
        vocabulary: Arc<Vocabulary>,
        newest: Option<DocumentId>,
        has_changed: Arc<AtomicBool>,
        duration: Duration,
    ) {
        let beyond = duration.saturating_sub(SHORT_READ);
        let changed_age = beyond.saturating_mul(CHANGED_AGE_FACTOR).min(MAX_CHANGED_AGE);
        let kept = KeptVocabulary { vocabulary, newest, has_changed, read_at: Instant::now(), changed_age };
        self.kept.insert(user, Arc::new(kept));
    }
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

async fn read_vocabulary(db: &Db, workers: &Workers, user: UserId) -> Result<Vocabulary, Error> {
    let mut builder = VocabularyBuilder::default();
    let mut read_bytes = 0;
    let mut before = None;
    loop {
        let listed = select_documents(user, before).into_model::<ListedDocument>();
        let documents = listed.all(db.read()).await?;
        for batch in batches(&documents) {
            let texts = read_texts(db, user, batch).await?;
            read_bytes += texts.iter().map(String::len).sum::<usize>();
            let add = move || {
                for text in &texts {
                    builder.add(text);
                }
                builder
            };
            builder = workers.run(Lane::Background, add).await?;
            if read_bytes >= MAX_TEXT_BYTES || builder.is_full() {
                return build(workers, builder).await;
            }
        }
        before = documents.last().map(|document| document.id);
        if documents.len() < DOCUMENTS_PER_PAGE {
            return build(workers, builder).await;
        }
    }
}

async fn build(workers: &Workers, builder: VocabularyBuilder) -> Result<Vocabulary, Error> {
    workers.run(Lane::Background, move || builder.build()).await.map_err(Error::from)
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
    use uuid::Uuid;

    use super::*;

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

    #[test]
    fn vocabulary_is_read_again_after_a_change() {
        let (vocabularies, user) = (Vocabularies::default(), UserId(Uuid::nil()));
        let keep = |has_changed, duration| {
            vocabularies.keep(user, Arc::default(), None, has_changed, duration);
            vocabularies.usable(user, None).is_some()
        };

        assert!(keep(vocabularies.begin_read(user), Duration::ZERO));
        vocabularies.forget(user);
        assert!(vocabularies.usable(user, None).is_none());

        let has_changed = vocabularies.begin_read(user);
        vocabularies.forget(user);
        assert!(!keep(has_changed, Duration::ZERO), "the change was during the read");

        let has_changed = vocabularies.begin_read(user);
        vocabularies.forget(user);
        assert!(keep(has_changed, Duration::from_secs(3600)), "the read took too long to repeat it at once");
    }

    #[test]
    fn texts_are_read_in_batches_of_bounded_length() {
        assert_eq!(batch_lengths(&[]), [0_usize; 0]);
        assert_eq!(batch_lengths(&[5_000_000]), [1]);
        assert_eq!(batch_lengths(&[10, 1_500_000, 600_000, 0, 9_000_000, 1]), [2, 2, 1, 1]);
        assert_eq!(batch_lengths(&[1; 250]), [100, 100, 50]);
    }
}
