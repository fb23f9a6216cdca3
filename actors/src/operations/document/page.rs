//! Loads a page of a document in one statement, so that all of it is of one moment: the row with its bookmark, the user's tags, highlights
//! and note as JSON, and the passages that overlap the page, unless its text is in the cache.

use database::{Db, DirectRow};
use schemars::JsonSchema;
use sea_orm::DbErr;
use serde::Serialize;
use serde::de::DeserializeOwned;
use text::Window;
use values::id::{BookmarkId, DocumentId, EntryId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::time::Timestamp;

use super::page_query::PageQueries;
use crate::document_page_cache::{
    DocumentPageCache, PageKey, PageRange, PageSelector, PageText, TextVersion,
};

/// Characters that are loaded past the end of the page, because a grapheme cluster may cross it. Passages never split a cluster.
const GRAPHEME_MARGIN_CHARS: i64 = 64;

/// A highlight of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentHighlight {
    /// The highlighted words, as in the text.
    pub text: String,
    /// The user's note on the highlight; null without one.
    pub note: Option<String>,
}

/// A page of a document that the caller may read.
pub struct DocumentPage {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Its URL; `None` for uploads and notes.
    pub url: Option<String>,
    /// Its title.
    pub title: String,
    /// The kind of source from which the text was extracted.
    pub content_type: ContentType,
    /// Names of the authors, if the source states them.
    pub author: Option<String>,
    /// The bookmark whose text this is, or on which the note was written.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text this is.
    pub entry_id: Option<EntryId>,
    /// When its bookmark was saved; without one, when the document was created.
    pub saved_at: Timestamp,
    /// Whether the text is being processed, is readable, or could not be extracted.
    pub status: DocumentStatus,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Length of the whole text in Unicode scalar values.
    pub total_chars: i32,
    /// Text of the page.
    pub text: PageText,
    /// The user's tags, sorted by name.
    pub tags: Vec<String>,
    /// The user's notes on the bookmark, as Markdown; empty without notes.
    pub notes: String,
    /// The user's highlights, in the order of the text.
    pub highlights: Vec<DocumentHighlight>,
}

/// Reads a page of a document; `None` if the user has no such document. The row is read in any case, the text only if the cache
/// does not have the page of its version.
pub async fn read_page(
    db: &Db,
    cache: &DocumentPageCache,
    user: UserId,
    selector: PageSelector,
    range: PageRange,
) -> Result<Option<DocumentPage>, DbErr> {
    let (queries, key) = PageQueries::select(&selector);
    let page_key = PageKey { user, selector, range };
    if let Some((version, text)) = cache.get(&page_key) {
        let read = |row: &DirectRow<'_>| {
            let is_current = text_version(row)? == version;
            is_current.then(|| decode_row(row, text.clone())).transpose()
        };
        match db.direct().query_one(&queries.row, [user.into(), key.clone()], read).await? {
            // The document has another text, or the bookmark another document.
            Some(None) => {}
            Some(page @ Some(_)) => return Ok(page),
            None => return Ok(None),
        }
    }
    let values = [user.into(), key, range.offset.into(), end_of(range).into()];
    let read = |row: &DirectRow<'_>| Ok((text_version(row)?, decode_row(row, decode_text(row, range)?)?));
    let found = db.direct().query_one(&queries.row_with_text, values, read).await?;
    Ok(found.map(|(version, page)| {
        cache.insert(page_key, version, page.text.clone());
        page
    }))
}

/// Returns the offset before which a passage must begin to be needed for the page.
fn end_of(range: PageRange) -> i64 {
    range.offset.saturating_add(i64::from(range.max_chars)).saturating_add(GRAPHEME_MARGIN_CHARS)
}

/// Reads the columns of the row in the order in which the statements select them.
fn decode_row(row: &DirectRow<'_>, text: PageText) -> Result<DocumentPage, DbErr> {
    let (created_at, saved_at): (Timestamp, Option<Timestamp>) = (row.get(7)?, row.get(12)?);
    Ok(DocumentPage {
        document_id: row.get(0)?,
        url: row.get(1)?,
        title: row.get(2)?,
        content_type: row.get(3)?,
        author: row.get(4)?,
        bookmark_id: row.get(5)?,
        entry_id: row.get(6)?,
        saved_at: saved_at.unwrap_or(created_at),
        status: row.get(8)?,
        error: row.get(9)?,
        total_chars: row.get(10)?,
        text,
        tags: sorted_tags(row, 13)?,
        highlights: sorted_highlights(row, 14)?,
        notes: row.get::<Option<String>>(15)?.unwrap_or_default(),
    })
}

fn text_version(row: &DirectRow<'_>) -> Result<TextVersion, DbErr> {
    Ok(TextVersion { document: row.get(0)?, version: row.get(11)?, total_chars: row.get(10)? })
}

fn decode_text(row: &DirectRow<'_>, range: PageRange) -> Result<PageText, DbErr> {
    let (first_offset, passages): (Option<i32>, Option<String>) = (row.get(16)?, row.get(17)?);
    let (text, next_offset) = cut_page(first_offset, passages.unwrap_or_default(), row.get(10)?, range);
    PageText::new(&text, next_offset).map_err(|cause| DbErr::Json(cause.to_string()))
}

/// Cuts the page out of the loaded passages, which begin at `first_offset`. Returns its text and the offset of the next page.
fn cut_page(
    first_offset: Option<i32>,
    mut passages: String,
    total_chars: i32,
    range: PageRange,
) -> (String, Option<usize>) {
    let offset = first_offset.and_then(|first| usize::try_from(first).ok()).unwrap_or(0);
    let from = usize::try_from(range.offset).unwrap_or(usize::MAX);
    let window = Window { text: &passages, offset, total_chars: usize::try_from(total_chars).unwrap_or(0) };
    let page = window.page(from, range.max_chars as usize);
    let (bytes, next_offset) = (page.text.len(), page.next_offset);
    if from != offset {
        return (page.text.to_owned(), next_offset);
    }
    // The page begins with the passages, as the first one of each document does: it is cut off in place, not copied.
    passages.truncate(bytes);
    (passages, next_offset)
}

/// Sorts here, because the collation of PostgreSQL may order names in another way.
fn sorted_tags(row: &DirectRow<'_>, column: usize) -> Result<Vec<String>, DbErr> {
    let mut tags: Vec<String> = json_array(row, column)?;
    tags.sort_unstable();
    Ok(tags)
}

fn sorted_highlights(row: &DirectRow<'_>, column: usize) -> Result<Vec<DocumentHighlight>, DbErr> {
    let mut highlights: Vec<(i32, String, Option<String>)> = json_array(row, column)?;
    highlights.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(highlights.into_iter().map(|(_, text, note)| DocumentHighlight { text, note }).collect())
}

/// Reads a JSON array that the database made; empty for NULL.
fn json_array<T: DeserializeOwned>(row: &DirectRow<'_>, column: usize) -> Result<Vec<T>, DbErr> {
    let Some(json) = row.get::<Option<String>>(column)? else { return Ok(Vec::new()) };
    // The error of the parser quotes the value.
    serde_json::from_str(&json).map_err(|_| DbErr::Json(format!("column {column} is not the expected array")))
}

#[cfg(test)]
mod tests {
    use database::insert_all;
    use entity::{chunk, document, user};
    use values::id::ChunkId;
    use values::plan::Plan;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);
    const RANGE: PageRange = PageRange { offset: 0, max_chars: 100 };

    /// Stores a document whose text is one passage, and returns its owner and its id.
    async fn store_document(db: &Db, text: &str) -> (UserId, DocumentId) {
        let owner = UserId::new(NOW);
        let account =
            user::Model::new(owner, "heron@reader.example".to_owned(), String::new(), Plan::Pro, NOW);
        insert_all::<user::Entity>(db.write(), [account], None).await.unwrap();
        let total_chars = i32::try_from(text.chars().count()).unwrap();
        let document = document::Model {
            version: 1,
            total_chars,
            ..document::Model::pending(owner, ContentType::Article, "Birds".to_owned(), NOW)
        };
        let id = document.id;
        let passage = chunk::Model {
            id: ChunkId::new(NOW),
            document_id: id,
            user_id: owner,
            version: 1,
            ordinal: 0,
            start_offset: 0,
            end_offset: total_chars,
            page: None,
            start_seconds: None,
            end_seconds: None,
            text: text.to_owned(),
        };
        insert_all::<document::Entity>(db.write(), [document], None).await.unwrap();
        insert_all::<chunk::Entity>(db.write(), [passage], None).await.unwrap();
        (owner, id)
    }

    #[tokio::test]
    async fn page_read_again_is_read_without_its_passages() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let mut db = Db::open(&url).await.unwrap();
        let (owner, document) = store_document(&db, "A heron \"fishes\".").await;
        let (cache, sent) = (DocumentPageCache::default(), db.record_statements());

        for reads_passages in [true, false] {
            let selector = PageSelector::Document(document);
            let page = read_page(&db, &cache, owner, selector, RANGE).await.unwrap().unwrap();

            assert_eq!(serde_json::to_string(&page.text).unwrap(), r#""A heron \"fishes\".""#);
            let statements: Vec<String> = sent.take().into_iter().map(|statement| statement.sql).collect();
            assert_eq!(statements.len(), 1, "{statements:#?}");
            assert_eq!(statements[0].contains("\"chunk\""), reads_passages, "{statements:#?}");
        }
    }

    #[test]
    fn page_is_the_same_text_wherever_its_passages_begin() {
        let (text, range) = ("äöü e\u{301} x", |offset, max_chars| PageRange { offset, max_chars });

        let cut = |first, passages: &str, range| cut_page(first, passages.to_owned(), 8, range);

        assert_eq!(cut(Some(0), text, range(0, 5)), ("äöü ".to_owned(), Some(4)));
        assert_eq!(cut(Some(0), text, range(1, 3)), ("öü ".to_owned(), Some(4)));
        assert_eq!(cut(Some(3), " e\u{301} x", range(3, 20)), (" e\u{301} x".to_owned(), None));
        assert_eq!(cut(None, "", range(9, 5)), (String::new(), None));
        assert_eq!(cut(None, "", range(0, 5)), (String::new(), None));
    }
}
