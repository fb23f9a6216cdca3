//! The format of exports: [`LIBRARY_FILE`] with one [`Record`] a line, and a [`DocumentRecord`] for each text.
//!
//! Later versions of the server read files of this format too: names and types of fields stay, and new fields have a default.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use values::kind::{BookmarkKind, ContentType, DecisionStatus, ItemKind, ItemRole, ProjectStatus};
use values::time::Timestamp;

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
    /// A feed that the user follows.
    Feed(FeedRecord),
    /// A saved page or an upload, with its notes.
    Bookmark(Box<BookmarkRecord>),
    /// A highlight in the text of a bookmark; the bookmark comes before it.
    Highlight(HighlightRecord),
    /// An entry of a feed; the feed comes before it.
    Entry(Box<EntryRecord>),
    /// A project; its contents come after it.
    Project(ProjectRecord),
    /// A decision that is recorded in a project.
    Decision(DecisionRecord),
    /// A note that is written in a project.
    Note(NoteRecord),
    /// A reference of a project to something in the library.
    Item(ProjectItemRecord),
}

/// A collection, with its place in the tree of collections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectionRecord {
    /// Its id where it was exported; records refer to it by this id.
    pub id: Uuid,
    /// Its name, as the user gave it.
    pub name: String,
    /// Its description; `None` if it has none.
    pub description: Option<String>,
    /// The collection that contains it; `None` at the top.
    pub parent: Option<Uuid>,
}

/// A feed that the user follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedRecord {
    /// Its id where it was exported; its entries refer to it.
    pub id: Uuid,
    /// The URL at which it is fetched.
    pub url: String,
    /// The title that the user gave it; `None` for the feed's own.
    pub title: Option<String>,
    /// The folder that contains it; `None` at the top.
    pub folder: Option<String>,
    /// Whether the pages of its entries are fetched if the feed has only summaries.
    pub full_text: bool,
}

/// A saved page or an upload, with its notes and the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkRecord {
    /// Its id where it was exported; highlights, entries and items refer to it.
    pub id: Uuid,
    /// Whether it is a page or an upload.
    pub form: BookmarkKind,
    /// Its URL; that of an upload is of the server that it was exported from.
    pub url: String,
    /// The names of its tags.
    pub tags: Vec<String>,
    /// The user's notes on it; `None` if there are none.
    pub notes: Option<String>,
    /// When the notes were created; `None` without notes.
    // Members that earlier versions did not write have a default, so that their exports are still read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes_created_at: Option<Timestamp>,
    /// When the notes were last changed; `None` without notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes_updated_at: Option<Timestamp>,
    /// The ids of the collections that contain it.
    pub collections: Vec<Uuid>,
    /// Whether the user marked it as a favourite.
    pub favorite: bool,
    /// Whether the user moved it to the archive.
    pub archived: bool,
    /// Reading progress, 0 to 1.
    pub progress: f64,
    /// When the user saved or uploaded it.
    pub saved_at: Timestamp,
    /// The id of its document, whose text is in `documents/`.
    pub document: Uuid,
    /// The file, if it is an upload.
    pub file: Option<FileRecord>,
    /// The document; added when the line is read, not exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<DocumentRecord>,
}

/// The file of an upload, as it is stored in the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    /// Its path in the archive, such as `files/ID`.
    pub path: String,
    /// The name under which the user uploaded the file.
    pub filename: String,
    /// Its media type, such as `application/pdf`.
    pub content_type: String,
    /// Its length in bytes, unpacked.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits, if known.
    pub sha256: Option<String>,
}

/// A document with its text, as `documents/ID.json` contains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentRecord {
    /// What it was made from, such as an article or a PDF.
    pub content_type: ContentType,
    /// Its title; the URL or the file name if nothing better is known.
    pub title: String,
    /// Whether the user gave the title, so that reading the page again does not replace it.
    pub title_given: bool,
    /// Its authors, separated by `; `.
    pub author: Option<String>,
    /// The name of the site that published it.
    pub site_name: Option<String>,
    /// The description that the page gives of itself.
    pub description: Option<String>,
    /// The URL of the picture that the page states for itself.
    pub image_url: Option<String>,
    /// When it was published, as the page states it.
    #[serde(default)]
    pub published_at: Option<String>,
    /// The canonical URL that the page declares.
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
    /// The language of its text, ISO 639-1.
    pub language: Option<String>,
    /// Its passages, which concatenated are its text; empty if it has not been read.
    pub passages: Vec<PassageRecord>,
    /// The segments of its transcript, if it is a recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoken: Vec<SegmentRecord>,
    /// Its text as HTML; sanitised again when it is imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Its headings, with offsets in its text.
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

/// A passage of a document: the unit that is indexed and cited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassageRecord {
    /// Its text, including the white space up to the next passage.
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

/// A segment of a transcript, as the speech model returned it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentRecord {
    /// Its start, in seconds of the recording.
    pub start_seconds: f64,
    /// Its end, in seconds of the recording.
    pub end_seconds: f64,
    /// The words that were spoken in it.
    pub text: String,
}

/// A highlight in the text of a bookmark's document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HighlightRecord {
    /// Its id where it was exported; items of projects refer to it.
    pub id: Uuid,
    /// The id of the bookmark whose text it marks.
    pub bookmark: Uuid,
    /// The highlighted text, by which it is found if the offsets do not fit.
    pub text: String,
    /// The user's note on it; `None` if there is none.
    pub note: Option<String>,
    /// The name of its colour; `None` if it has none.
    pub color: Option<String>,
    /// Its start in the document's text, in Unicode scalar values.
    pub start_offset: i32,
    /// Its end in the document's text, in Unicode scalar values.
    pub end_offset: i32,
    /// When the user created it.
    pub created_at: Timestamp,
}

/// An entry of a feed, with what the user did with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryRecord {
    /// Its id where it was exported; items of projects refer to it.
    pub id: Uuid,
    /// The id of the feed that contains it.
    pub feed: Uuid,
    /// The digest of its key in the feed, in hexadecimal digits.
    pub key: String,
    /// The digest of the feed's last version of it, in hexadecimal digits.
    pub said: String,
    /// The URL of its page, as the feed states it.
    pub url: String,
    /// Its title, as the feed states it.
    pub title: String,
    /// Its authors, separated by `; `.
    pub author: Option<String>,
    /// Its summary in plain text, as the feed states it.
    pub summary: Option<String>,
    /// Whether the feed had all of its content.
    pub whole: bool,
    /// The URL of its recording; `None` if it has none.
    pub enclosure_url: Option<String>,
    /// The media type of the recording.
    pub enclosure_type: Option<String>,
    /// The length of the recording in bytes.
    pub enclosure_bytes: Option<i64>,
    /// When it was published; `None` if the feed does not say.
    pub published_at: Option<Timestamp>,
    /// The time by which entries are sorted: that of publication, but not later than that of receipt.
    pub sorted_at: Timestamp,
    /// When the server received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Whether the user has read it.
    pub read: bool,
    /// Whether the user starred it.
    pub starred: bool,
    /// The bookmark with its document, if it was saved.
    pub bookmark: Option<Uuid>,
    /// Its own document, if it was not saved.
    pub document: Option<Uuid>,
    /// The document; added when the line is read, not exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<DocumentRecord>,
}

/// A project of the user; its contents are separate records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRecord {
    /// Its id where it was exported; decisions, notes and items refer to it.
    pub id: Uuid,
    /// Its name, as the user gave it.
    pub name: String,
    /// Its description; `None` if it has none.
    pub description: Option<String>,
    /// The user's instructions for assistants that work on it.
    pub instructions: String,
    /// Whether it is active or archived.
    pub status: ProjectStatus,
    /// When the user created it.
    pub created_at: Timestamp,
    /// When it, or anything in it, was last changed.
    pub updated_at: Timestamp,
}

/// A decision that is recorded in a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// Its id where it was exported.
    pub id: Uuid,
    /// The id of the project that it belongs to.
    pub project: Uuid,
    /// Its title, which names what is decided.
    pub title: String,
    /// Its text, as the user or an assistant wrote it.
    pub body: String,
    /// Whether it is proposed, in force or rejected.
    pub status: DecisionStatus,
    /// When it was decided; `None` if that is open.
    pub decided_at: Option<Timestamp>,
    /// When it was recorded in the project.
    pub created_at: Timestamp,
    /// When it was last changed; `None` in exports of earlier versions.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

/// A note that is written in a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteRecord {
    /// Its id where it was exported; items refer to it.
    pub id: Uuid,
    /// The id of the project that it belongs to.
    pub project: Uuid,
    /// Its title, in one line.
    pub title: String,
    /// Its text, which is written in Markdown.
    pub body: String,
    /// Whether the user pinned it in the project.
    pub pinned: bool,
    /// When the user or an assistant wrote it.
    pub created_at: Timestamp,
    /// When it was last changed; `None` in exports of earlier versions, which did not write it.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

/// An item of a project: a bookmark, highlight, note or entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectItemRecord {
    /// Its id where it was exported.
    pub id: Uuid,
    /// The id of the project that contains it.
    pub project: Uuid,
    /// The bookmark, highlight, note or entry; for a note on a bookmark, that bookmark.
    pub thing: Uuid,
    /// The kind of the item as the user added it: an item that was added by its URL is a bookmark too.
    #[serde(default)]
    pub named: Option<ItemKind>,
    /// The role that it has in the project.
    pub role: ItemRole,
    /// Whether the user pinned it in the project.
    pub pinned: bool,
    /// When it was added to the project.
    pub added_at: Timestamp,
}
