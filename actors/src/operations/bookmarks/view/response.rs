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
    pub(super) bookmark_id: BookmarkId,
    /// The document with the text; `GET /documents/:id` reads it.
    pub(super) document_id: DocumentId,
    /// Whether it is a saved page or an upload.
    pub(super) kind: BookmarkKind,
    /// URL as it was saved; of an upload its page in the web app.
    pub(super) url: String,
    /// Title: the user's, or the one that the source states. The URL until the page was fetched.
    pub(super) title: String,
    /// Names of the authors; null if the source states none.
    pub(super) author: Option<String>,
    /// Name of the site; null if the page states none.
    pub(super) site_name: Option<String>,
    /// Description from the metadata of the page; null if it has none.
    pub(super) description: Option<String>,
    /// URL of the picture of the page; null if it names none.
    pub(super) image_url: Option<String>,
    /// Publication date that the page states: a date, or a time with its UTC offset; null if it states none.
    pub(super) published_at: Option<String>,
    /// Canonical URL that the page states; null if it states none.
    pub(super) canonical_url: Option<String>,
    /// What is missing from the text, such as scanned pages of a PDF; null if the text is complete.
    pub(super) lacks: Option<String>,
    /// ISO 639-1 code of the language; null if it was not detected.
    pub(super) language: Option<String>,
    pub(super) content_type: ContentType,
    /// The user's tags, sorted by name.
    pub(super) tags: Vec<String>,
    /// The user's notes, as Markdown; empty without notes.
    pub(super) notes: String,
    /// Collections that contain the bookmark, in the order in which it was added to them.
    pub(super) collection_ids: Vec<CollectionId>,
    pub(super) favorite: bool,
    pub(super) archived: bool,
    /// Reading progress, from 0 to 1. A bookmark with less than 1 is unread.
    pub(super) progress: f64,
    /// Number of words of the text; null until it was extracted.
    pub(super) word_count: Option<i32>,
    pub(super) saved_at: Timestamp,
    /// When the bookmark or its text, notes, tags, highlights or collections last changed.
    pub(super) updated_at: Timestamp,
    /// `processing` until the text is readable and searchable, then `ready`, or `failed` after a failed attempt.
    pub(super) status: DocumentStatus,
    /// Why the last attempt to make the text failed; null if it did not fail.
    pub(super) error: Option<String>,
}

/// A bookmark, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BookmarkResponse {
    /// The bookmark after the request.
    pub bookmark: BookmarkView,
}
