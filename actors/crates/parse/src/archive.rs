//! The format of exports: [`LIBRARY_FILE`] with one [`Record`] a line, and a [`DocumentRecord`] for each text.
//!
//! Later versions of the service read files of this format too: names and types of fields stay, and new fields have a default.

use entity::kind::{BookmarkKind, ContentType, DecisionStatus, ItemKind, ItemRole, ProjectStatus};
use entity::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::html::Heading;

/// The file by which an archive is recognised as an export.
pub const MANIFEST_FILE: &str = "carrel.json";
/// The file with everything but texts and files, one [`Record`] a line.
pub const LIBRARY_FILE: &str = "library.jsonl";
/// The version of the format; there is only one.
pub const FORMAT_VERSION: u64 = 1;

/// Returns the path of the document with this id in the archive.
pub fn document_path(id: &str) -> String {
    format!("documents/{id}.json")
}

/// A line of [`LIBRARY_FILE`]. Records refer to each other by the ids that they had when they were exported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A collection; its ancestors come before it.
    Collection(CollectionRecord),
    /// A followed feed.
    Feed(FeedRecord),
    /// A saved page or upload.
    Bookmark(Box<BookmarkRecord>),
    /// A highlight of a bookmark.
    Highlight(HighlightRecord),
    /// An entry of a feed.
    Entry(Box<EntryRecord>),
    /// A project.
    Project(ProjectRecord),
    /// A decision of a project.
    Decision(DecisionRecord),
    /// A note of a project.
    Note(NoteRecord),
    /// An item of a project.
    Item(ProjectItemRecord),
}

/// A collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectionRecord {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The collection that contains it.
    pub parent: Option<Uuid>,
}

/// A followed feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedRecord {
    /// Its id.
    pub id: Uuid,
    /// Its URL.
    pub url: String,
    /// The user's own title of it.
    pub title: Option<String>,
    /// Its folder.
    pub folder: Option<String>,
    /// Whether the pages of its entries are fetched if the feed has only summaries.
    pub full_text: bool,
}

/// A saved page or upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkRecord {
    /// Its id.
    pub id: Uuid,
    /// Whether it is a page or an upload.
    pub form: BookmarkKind,
    /// Its URL; that of an upload is of the service that it was exported from.
    pub url: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The user's notes.
    pub notes: Option<String>,
    /// When the notes were created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes_created_at: Option<Timestamp>,
    /// When the notes were last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes_updated_at: Option<Timestamp>,
    /// The collections that contain it.
    pub collections: Vec<Uuid>,
    /// Whether it is a favourite.
    pub favorite: bool,
    /// Whether it is archived.
    pub archived: bool,
    /// Reading progress, 0 to 1.
    pub progress: f64,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// The id of its document, whose text is in `documents/`.
    pub document: Uuid,
    /// The file, if it is an upload.
    pub file: Option<FileRecord>,
    /// The document; added when the line is read, not exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<DocumentRecord>,
}

/// The file of an upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    /// Its path in the archive.
    pub path: String,
    /// The user's name for it.
    pub filename: String,
    /// Its media type.
    pub content_type: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits, if known.
    pub sha256: Option<String>,
}

/// A document, as `documents/ID.json` contains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentRecord {
    /// What it was made from.
    pub content_type: ContentType,
    /// Its title.
    pub title: String,
    /// Whether the user gave the title.
    pub title_given: bool,
    /// Its author.
    pub author: Option<String>,
    /// The name of its site.
    pub site_name: Option<String>,
    /// The page's description of itself.
    pub description: Option<String>,
    /// The URL of its picture.
    pub image_url: Option<String>,
    /// When it was published, as the page states it.
    #[serde(default)]
    pub published_at: Option<String>,
    /// Its canonical URL.
    #[serde(default)]
    pub canonical_url: Option<String>,
    /// The URL of its recording, if that is neither its own nor its entry's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording_url: Option<String>,
    /// What its text lacks, in words for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// Why it has no text, if reading it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Its language, ISO 639-1.
    pub language: Option<String>,
    /// Its passages, which concatenated are its text; empty if it has not been read.
    pub passages: Vec<PassageRecord>,
    /// The segments of its transcript, if it is a recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoken: Vec<SegmentRecord>,
    /// Its text as HTML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Its headings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Heading>,
}

impl DocumentRecord {
    /// Creates the record of a file that has not been read.
    pub fn unread(content_type: ContentType, title: String, title_given: bool) -> Self {
        Self {
            content_type,
            title,
            title_given,
            author: None,
            site_name: None,
            description: None,
            image_url: None,
            published_at: None,
            canonical_url: None,
            recording_url: None,
            lacks: None,
            failed: None,
            language: None,
            passages: Vec::new(),
            spoken: Vec::new(),
            html: None,
            outline: Vec::new(),
        }
    }
}

/// A passage of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassageRecord {
    /// Its text.
    pub text: String,
    /// Its page, if the document is a PDF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Its start in seconds, if the document is a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_seconds: Option<f64>,
    /// Its end in seconds, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_seconds: Option<f64>,
}

/// A segment of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentRecord {
    /// Its start.
    pub start_seconds: f64,
    /// Its end.
    pub end_seconds: f64,
    /// Its text.
    pub text: String,
}

/// A highlight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HighlightRecord {
    /// Its id.
    pub id: Uuid,
    /// Its bookmark.
    pub bookmark: Uuid,
    /// The highlighted text.
    pub text: String,
    /// The user's note.
    pub note: Option<String>,
    /// The name of its colour.
    pub color: Option<String>,
    /// Its start in the document's text, in Unicode scalar values.
    pub start_offset: i32,
    /// Its end, likewise.
    pub end_offset: i32,
    /// When it was created.
    pub created_at: Timestamp,
}

/// An entry of a feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryRecord {
    /// Its id.
    pub id: Uuid,
    /// Its feed.
    pub feed: Uuid,
    /// The digest of its key in the feed, in hexadecimal digits.
    pub key: String,
    /// The digest of the feed's last version of it, in hexadecimal digits.
    pub said: String,
    /// The URL of its page.
    pub url: String,
    /// Its title in the feed.
    pub title: String,
    /// Its author.
    pub author: Option<String>,
    /// Its summary.
    pub summary: Option<String>,
    /// Whether the feed had all of its content.
    pub whole: bool,
    /// The URL of its recording.
    pub enclosure_url: Option<String>,
    /// The media type of the recording.
    pub enclosure_type: Option<String>,
    /// The length of the recording in bytes.
    pub enclosure_bytes: Option<i64>,
    /// When it was published.
    pub published_at: Option<Timestamp>,
    /// The time by which entries are sorted.
    pub sorted_at: Timestamp,
    /// When it was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Whether it was read.
    pub read: bool,
    /// Whether it is starred.
    pub starred: bool,
    /// The bookmark with its document, if it was saved.
    pub bookmark: Option<Uuid>,
    /// Its own document, if it was not saved.
    pub document: Option<Uuid>,
    /// The document; added when the line is read, not exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<DocumentRecord>,
}

/// A project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRecord {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The instructions for assistants.
    pub instructions: String,
    /// Its status.
    pub status: ProjectStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it, or anything in it, was last changed.
    pub updated_at: Timestamp,
}

/// A decision of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// Its id.
    pub id: Uuid,
    /// Its project.
    pub project: Uuid,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its status.
    pub status: DecisionStatus,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

/// A note of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteRecord {
    /// Its id.
    pub id: Uuid,
    /// Its project.
    pub project: Uuid,
    /// Its title.
    pub title: String,
    /// Its text, as Markdown.
    pub body: String,
    /// Whether it is pinned.
    pub pinned: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed; earlier versions did not export it.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

/// An item of a project: a bookmark, highlight, note or entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectItemRecord {
    /// Its id.
    pub id: Uuid,
    /// Its project.
    pub project: Uuid,
    /// The bookmark, highlight, note or entry; for a note on a bookmark, that bookmark.
    pub thing: Uuid,
    /// The kind of the item as the user added it: an item that was added by its URL is a bookmark too.
    #[serde(default)]
    pub named: Option<ItemKind>,
    /// Its role in the project.
    pub role: ItemRole,
    /// Whether it is pinned.
    pub pinned: bool,
    /// When it was added.
    pub added_at: Timestamp,
}
