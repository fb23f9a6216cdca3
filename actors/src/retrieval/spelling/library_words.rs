//! Reads the words of a user's library from the database: of all documents, or of those that were added or changed.

use concurrency::{Lane, Workers};
use database::{Db, padded};
use entity::{chunk, document};
use errors::Error;
use sea_orm::{ColumnTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select};
use search::lexical::url_words;
use search::spelling::VocabularyBuilder;
use values::id::{BookmarkId, DocumentId, UserId};

use crate::retrieval::metadata::Annotations;

/// Documents that are listed at a time.
const DOCUMENTS_PER_PAGE: usize = 500;
/// Documents whose texts are read at a time.
const MAX_BATCH_DOCUMENTS: usize = 100;
/// Characters of the texts that are read at a time, if they are of several documents.
const MAX_BATCH_CHARS: i64 = 2_000_000;
/// Maximum number of passages of a document that are read.
const MAX_DOCUMENT_PASSAGES: i32 = 2_000;
/// Bytes of a document besides its text, for an estimate: title, URL and tags.
const METADATA_BYTES: i64 = 100;

/// Reads the words of one user.
pub struct LibraryReader<'a> {
    /// The database that the library is in.
    pub db: &'a Db,
    /// The worker threads on which words are collected.
    pub workers: &'a Workers,
    /// The user.
    pub user: UserId,
}

/// The words of texts of a user.
#[derive(Default)]
pub struct LibraryWords {
    /// The words.
    pub builder: VocabularyBuilder,
    /// Bytes of the texts.
    pub read_bytes: usize,
    /// The oldest document of those that were read in the order of their age.
    pub oldest: Option<DocumentId>,
    /// Whether they are all texts that were to be read.
    pub is_whole: bool,
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

impl LibraryReader<'_> {
    /// Returns the newest document that the user may read.
    pub async fn newest(&self) -> Result<Option<DocumentId>, Error> {
        let newest = document::Entity::visible_to(self.user).order_by_desc(document::Column::Id).limit(1);
        let newest = newest.select_only().column(document::Column::Id).into_tuple::<DocumentId>();
        Ok(newest.one(self.db.read()).await?)
    }

    /// Estimates the bytes of all texts, without reading them.
    pub async fn estimate_bytes(&self) -> Result<usize, Error> {
        let sums = document::Entity::visible_to(self.user)
            .select_only()
            .column_as(document::Column::TotalChars.sum(), "chars")
            .column_as(document::Column::Id.count(), "documents")
            .into_tuple::<(Option<i64>, i64)>();
        let (chars, documents) = sums.one(self.db.read()).await?.unwrap_or_default();
        let bytes = chars.unwrap_or(0).saturating_add(documents.saturating_mul(METADATA_BYTES));
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    /// Reads the words of the newest texts, until they have this many bytes or the vocabulary is full, on threads of this lane. Reads at
    /// most one batch of documents beyond.
    pub async fn read(&self, lane: Lane, max_bytes: usize) -> Result<LibraryWords, Error> {
        self.read_newer(lane, None, max_bytes).await
    }

    /// Reads the words of the documents that are newer than this one, and of those that have changed, until they have this many bytes.
    /// They are not all documents that have changed if another process has changed some.
    pub async fn read_changed(
        &self,
        since: Option<DocumentId>,
        changed: &[DocumentId],
        max_bytes: usize,
    ) -> Result<LibraryWords, Error> {
        let mut words = self.read_newer(Lane::Background, since, max_bytes).await?;
        let is_older = |id: &DocumentId| since.is_some_and(|since| *id <= since);
        let older: Vec<DocumentId> = changed.iter().copied().filter(is_older).collect();
        for ids in older.chunks(MAX_BATCH_DOCUMENTS) {
            let select =
                document::Entity::visible_to(self.user).filter(document::Column::Id.is_in(padded(ids)));
            let documents = self.list(select).await?;
            for batch in batches(&documents) {
                if words.read_bytes >= max_bytes {
                    words.is_whole = false;
                    return Ok(words);
                }
                self.add(Lane::Background, batch, &mut words).await?;
            }
        }
        Ok(words)
    }

    /// Reads the words of the documents that are newer than this one, the newest first.
    async fn read_newer(
        &self,
        lane: Lane,
        since: Option<DocumentId>,
        max_bytes: usize,
    ) -> Result<LibraryWords, Error> {
        let mut words = LibraryWords::default();
        let mut before = None;
        loop {
            let documents = self.list(select_newer(self.user, since, before)).await?;
            let is_last_page = documents.len() < DOCUMENTS_PER_PAGE;
            let mut batches = batches(&documents).into_iter().peekable();
            while let Some(batch) = batches.next() {
                self.add(lane, batch, &mut words).await?;
                words.oldest = batch.last().map(|document| document.id);
                let is_last = is_last_page && batches.peek().is_none();
                if !is_last && (words.read_bytes >= max_bytes || words.builder.is_full()) {
                    return Ok(words);
                }
            }
            before = documents.last().map(|document| document.id);
            if is_last_page {
                words.is_whole = true;
                return Ok(words);
            }
        }
    }

    async fn list(&self, select: Select<document::Entity>) -> Result<Vec<ListedDocument>, Error> {
        let select = select.select_only().columns([
            document::Column::Id,
            document::Column::BookmarkId,
            document::Column::Title,
            document::Column::Url,
            document::Column::Description,
            document::Column::TotalChars,
        ]);
        Ok(select.into_model::<ListedDocument>().all(self.db.read()).await?)
    }

    /// Adds the words of these documents.
    async fn add(
        &self,
        lane: Lane,
        documents: &[ListedDocument],
        words: &mut LibraryWords,
    ) -> Result<(), Error> {
        let texts = self.read_texts(documents).await?;
        words.read_bytes += texts.iter().map(String::len).sum::<usize>();
        let mut builder = std::mem::take(&mut words.builder);
        let add = move || {
            for text in &texts {
                builder.add(text);
            }
            builder
        };
        words.builder = self.workers.run(lane, add).await?;
        Ok(())
    }

    /// Returns what the documents are found by: passages, tags, highlights, titles, words of URLs and excerpts.
    async fn read_texts(&self, documents: &[ListedDocument]) -> Result<Vec<String>, Error> {
        let ids: Vec<DocumentId> = documents.iter().map(|document| document.id).collect();
        let bookmarks = documents.iter().filter_map(|document| document.bookmark_id).collect();
        let passages = select_passages(self.user, &ids).into_tuple::<String>();
        let mut texts: Vec<String> = passages.all(self.db.read()).await?;
        let annotations = Annotations::of_bookmarks(self.db, self.user, bookmarks).await?;
        texts.extend(annotations.into_values().flat_map(Annotations::into_texts));
        texts.extend(documents.iter().map(|document| document.title.clone()));
        let urls = documents.iter().filter_map(|document| document.url.as_deref());
        texts.extend(urls.map(|url| url_words(url).join(" ")));
        texts.extend(documents.iter().filter_map(|document| document.description.clone()));
        Ok(texts)
    }
}

/// Selects the next documents that the user may read, newest first: those before one and after another.
fn select_newer(
    user: UserId,
    since: Option<DocumentId>,
    before: Option<DocumentId>,
) -> Select<document::Entity> {
    let mut select = document::Entity::visible_to(user);
    if let Some(since) = since {
        select = select.filter(document::Column::Id.gt(since));
    }
    if let Some(before) = before {
        select = select.filter(document::Column::Id.lt(before));
    }
    select.order_by_desc(document::Column::Id).limit(u64::try_from(DOCUMENTS_PER_PAGE).ok())
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
    fn texts_are_read_in_batches_of_bounded_length() {
        assert_eq!(batch_lengths(&[]), [0_usize; 0]);
        assert_eq!(batch_lengths(&[5_000_000]), [1]);
        assert_eq!(batch_lengths(&[10, 1_500_000, 600_000, 0, 9_000_000, 1]), [2, 2, 1, 1]);
        assert_eq!(batch_lengths(&[1; 250]), [100, 100, 50]);
    }
}
