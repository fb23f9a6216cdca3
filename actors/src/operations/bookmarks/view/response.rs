//! The view of a bookmark in responses.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::{BookmarkId, CollectionId, DocumentId};
use values::kind::{BookmarkKind, ContentType, DocumentStatus};
use values::time::Timestamp;

/// A bookmark (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkView {
    /// Id of the bookmark.
    pub bookmark_id: BookmarkId,
    /// The document with the text; `GET /documents/:id` reads it.
    pub document_id: DocumentId,
    /// Whether it is a saved page or an upload.
    pub kind: BookmarkKind,
    /// URL as it was saved; of an upload its page in the web app.
    pub url: String,
    /// Title: the user's, or the one that the source states. The URL until the page was fetched.
    pub title: String,
    /// Names of the authors; null if the source states none.
    pub author: Option<String>,
    /// Name of the site; null if the page states none.
    pub site_name: Option<String>,
    /// Description from the metadata of the page; null if it has none.
    pub description: Option<String>,
    /// URL of the picture of the page; null if it names none.
    pub image_url: Option<String>,
    /// Publication date that the page states: a date, or a time with its UTC offset; null if it states none.
    pub published_at: Option<String>,
    /// Canonical URL that the page states; null if it states none.
    pub canonical_url: Option<String>,
    /// What is missing from the text, such as scanned pages of a PDF; null if the text is complete.
    pub lacks: Option<String>,
    /// ISO 639-1 code of the language; null if it was not detected.
    pub language: Option<String>,
    /// Type of the content, which decides how it is read.
    pub content_type: ContentType,
    /// The user's tags, sorted by name.
    pub tags: Vec<String>,
    /// The user's notes, as Markdown; empty without notes.
    pub notes: String,
    /// Collections that contain the bookmark, in the order in which it was added to them.
    pub collection_ids: Vec<CollectionId>,
    /// Whether it is a favourite.
    pub favorite: bool,
    /// Whether the user has archived it.
    pub archived: bool,
    /// Reading progress, from 0 to 1. A bookmark with less than 1 is unread.
    pub progress: f64,
    /// Number of words of the text; null until it was extracted.
    pub word_count: Option<i32>,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// When the bookmark or its text, notes, tags, highlights or collections last changed.
    pub updated_at: Timestamp,
    /// `processing` until the text is readable and searchable, then `ready`, or `failed` after a failed attempt.
    pub status: DocumentStatus,
    /// Why the last attempt to make the text failed; null if it did not fail.
    pub error: Option<String>,
}

/// A bookmark, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BookmarkResponse {
    /// The bookmark after the request.
    pub bookmark: BookmarkView,
}
