//! Reads the text of a document in pages (spec.md: GET /documents/:id, get_document).

mod page;

use entity::{bookmark, document};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, QueryTrait, Select};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, EntryId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::scope::Scope;
use values::time::Timestamp;
use web::PageUrl;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use page::ReadableDocument;
use validation::{Integer, request};

pub use page::DocumentHighlight;

/// The field `offset`: where a page begins, in Unicode scalar values. Past the end of the text it is valid, and the page is empty.
pub type PageOffset = Integer<0, { i64::MAX }>;
/// The field `maxChars`: how long a page may be, in Unicode scalar values (spec.md: Limits, rule 6).
pub type PageChars = Integer<1, 20_000>;
const DEFAULT_PAGE_CHARS: u32 = 12_000;
/// Characters of a page that count as one call of an assistant (spec.md: Limits, rule 3).
const CHARS_PER_CALL: u32 = 12_000;

/// The identification of a document in a request.
#[derive(Debug)]
pub enum DocumentRef {
    /// The id of the document itself.
    Document(DocumentId),
    /// The id of its bookmark; selects the saved text, not the note on the bookmark.
    Bookmark(BookmarkId),
    /// The URL that was saved, in any spelling that is normalised to the same URL.
    Url(String),
}

/// Reads a page of a document.
#[derive(Debug)]
pub struct ReadDocument {
    /// Which document is read, by one of its names.
    pub document: DocumentRef,
    /// Offset of the page in characters.
    pub offset: i64,
    /// Maximum length of the page in characters; `None` means 12,000.
    pub max_chars: Option<u32>,
}

request! {
    /// A page of the text of a document.
    pub struct ReadDocumentRequest {
        /// Offset of the page in characters: the `nextOffset` of the page before. Default 0.
        pub offset?: PageOffset,
        /// Maximum length of the page in characters. Default 12000.
        pub max_chars?: PageChars,
    }
}

impl FromRequest for ReadDocument {
    type Request = ReadDocumentRequest;

    fn from_request(target: &Target, request: ReadDocumentRequest) -> Result<Self, Error> {
        let document = DocumentRef::Document(target.id(0)?);
        Ok(Self::page_of(document, request.offset, request.max_chars))
    }
}

impl ReadDocument {
    /// Makes the operation for a page of this document from the fields `offset` and `maxChars`.
    pub fn page_of(document: DocumentRef, offset: Option<PageOffset>, max_chars: Option<PageChars>) -> Self {
        Self {
            document,
            offset: offset.map_or(0, Integer::into_inner),
            max_chars: max_chars.and_then(Integer::convert),
        }
    }

    async fn find(&self, core: &CoreContext, user: UserId) -> Result<ReadableDocument, Error> {
        let query = match &self.document {
            DocumentRef::Document(id) => document::Entity::one_visible_to(user, *id),
            DocumentRef::Bookmark(id) => text_of(user, bookmark::Entity::one_visible_to(user, *id)),
            DocumentRef::Url(url) => {
                // Like a malformed id in a path: what cannot be saved is not found (contract.md, section 1).
                let key = PageUrl::parse(url).map_err(|_| Error::not_found())?.key();
                let saved =
                    bookmark::Entity::visible_to(user).filter(bookmark::Column::NormalizedUrl.eq(key));
                text_of(user, saved)
            }
        };
        ReadableDocument::find(query, core.db.read()).await?.ok_or(Error::not_found())
    }
}

/// Selects the document that is the text of a bookmark.
fn text_of(user: UserId, saved: Select<bookmark::Entity>) -> Select<document::Entity> {
    // Not by `document.bookmark_id`, which the note on the bookmark has too.
    let id = saved.select_only().column(bookmark::Column::DocumentId).into_query();
    document::Entity::visible_to(user).filter(document::Column::Id.in_subquery(id))
}

/// A page of a document, with the user's tags, notes and highlights (spec.md: Document).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadDocumentResponse {
    /// Id of the document; it stays the same when the text changes.
    pub document_id: DocumentId,
    /// Title: the user's, or the one that the source states.
    pub title: String,
    /// URL of the page or file; for uploads and notes their page in the web app.
    pub url: String,
    /// Type of the source from which the text was extracted.
    pub content_type: ContentType,
    /// Names of the authors; null if the source states none.
    pub author: Option<String>,
    /// The bookmark of the document; null for an entry that is not bookmarked and for a note of a project.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text this is; null for other documents.
    pub entry_id: Option<EntryId>,
    /// When it was saved; for entries and notes when they were created.
    pub saved_at: Timestamp,
    /// The user's tags on the bookmark.
    pub tags: Vec<String>,
    /// The user's notes on the bookmark, as Markdown; empty without notes.
    pub notes: String,
    /// The user's highlights, in the order of the text.
    pub highlights: Vec<DocumentHighlight>,
    /// `processing`, `ready` (readable and searchable) or `failed`.
    pub status: DocumentStatus,
    /// Why the last attempt to read the document failed; null if it did not fail.
    pub error: Option<String>,
    /// Text of the page; empty past the end.
    pub text: String,
    /// Offset of the page in the document's text, in Unicode scalar values.
    pub offset: i64,
    /// Offset of the next page; null on the last page.
    pub next_offset: Option<usize>,
    /// Whether there are further pages.
    pub truncated: bool,
    /// Length of the whole text in Unicode scalar values.
    pub total_chars: i32,
}

impl Operation for ReadDocument {
    type Reply = ReadDocumentResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn weight(&self) -> u32 {
        // By the characters that are requested, not returned, because the call is counted before it runs (spec.md: Limits, rule 3).
        self.max_chars.unwrap_or(DEFAULT_PAGE_CHARS).div_ceil(CHARS_PER_CALL).max(1)
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadDocumentResponse, Error> {
        let mut found = self.find(&ctx.core, caller.user).await?;
        let max_chars = self.max_chars.unwrap_or(DEFAULT_PAGE_CHARS);
        let mut page = page::read_page(&ctx.core, &found, self.offset, max_chars).await?;
        if page.text.is_empty() && self.offset < i64::from(found.document.total_chars) {
            // The text was replaced between the two statements, which deleted the passages of the old one.
            found = self.find(&ctx.core, caller.user).await?;
            page = page::read_page(&ctx.core, &found, self.offset, max_chars).await?;
        }
        let (document, saved_at) = (found.document, found.saved_at);
        Ok(ReadDocumentResponse {
            document_id: document.id,
            url: ctx.core.url_of(&document),
            title: document.title,
            content_type: document.content_type,
            author: document.author,
            bookmark_id: document.bookmark_id,
            entry_id: document.entry_id,
            saved_at: saved_at.unwrap_or(document.created_at),
            tags: page.tags,
            notes: page.notes,
            highlights: page.highlights,
            status: document.status,
            error: document.error,
            text: page.text,
            offset: self.offset,
            next_offset: page.next_offset,
            truncated: page.next_offset.is_some(),
            total_chars: document.total_chars,
        })
    }
}
