//! Reads the text of a document in pages (spec.md: GET /documents/:id, get_document).

mod page;
mod page_query;

use schemars::JsonSchema;
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, EntryId};
use values::kind::{ContentType, DocumentStatus};
use values::scope::Scope;
use values::time::Timestamp;
use web::PageUrl;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::document_page_cache::{PageRange, PageSelector, PageText};
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
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
}

impl DocumentRef {
    fn into_selector(self) -> Result<PageSelector, Error> {
        Ok(match self {
            Self::Document(id) => PageSelector::Document(id),
            Self::Bookmark(id) => PageSelector::Bookmark(id),
            // Like a malformed id in a path: what cannot be saved is not found (contract.md, section 1).
            Self::Url(url) => {
                PageSelector::NormalizedUrl(PageUrl::parse(&url).map_err(|_| Error::not_found())?.key())
            }
        })
    }
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
    #[schemars(with = "String")]
    pub text: PageText,
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
        let selector = self.document.into_selector()?;
        let range =
            PageRange { offset: self.offset, max_chars: self.max_chars.unwrap_or(DEFAULT_PAGE_CHARS) };
        let (db, cache) = (&ctx.core.db, &ctx.document_page_cache);
        let page = page::read_page(db, cache, caller.user, selector, range).await?;
        let page = page.ok_or(Error::not_found())?;
        let next_offset = page.text.next_offset;
        Ok(ReadDocumentResponse {
            document_id: page.document_id,
            url: ctx.core.source_url(page.url, page.document_id),
            title: page.title,
            content_type: page.content_type,
            author: page.author,
            bookmark_id: page.bookmark_id,
            entry_id: page.entry_id,
            saved_at: page.saved_at,
            tags: page.tags,
            notes: page.notes,
            highlights: page.highlights,
            status: page.status,
            error: page.error,
            text: page.text,
            offset: self.offset,
            next_offset,
            truncated: next_offset.is_some(),
            total_chars: page.total_chars,
        })
    }
}
