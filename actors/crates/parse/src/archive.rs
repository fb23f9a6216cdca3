//! The lines of an export: what a person has, one thing a line. What stands here is the format: a later version of the
//! service reads it too.

use entity::kind::{BookmarkKind, ContentType, DecisionStatus, ItemKind, ItemRole, ProjectStatus};
use entity::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::html::Heading;

/// The file by which an archive is known as an export.
pub const SIGN: &str = "carrel.json";
/// The file with everything but texts and files.
pub const LIBRARY: &str = "library.jsonl";
/// The one version there is.
pub const VERSION: u64 = 1;

/// Where the text of a document stands.
pub fn document(id: &str) -> String {
    format!("documents/{id}.json")
}

/// A line of `library.jsonl`. Things name each other by the ids that they had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A collection. Those that it stands in come before it.
    Collection(Collection),
    /// A followed feed.
    Feed(Feed),
    /// A saved page or upload.
    Bookmark(Box<Bookmark>),
    /// A marked part of one.
    Highlight(Highlight),
    /// An entry of a feed.
    Entry(Box<Entry>),
    /// A project.
    Project(Project),
    /// A decision of one.
    Decision(Decision),
    /// A note of a project.
    Note(Note),
    /// A thing's place in a project.
    Item(Item),
}

/// A collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Collection {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The collection that it stands in.
    pub parent: Option<Uuid>,
}

/// A followed feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feed {
    /// Its id.
    pub id: Uuid,
    /// Its address.
    pub url: String,
    /// A title of the follower's own.
    pub title: Option<String>,
    /// The folder that it stands in.
    pub folder: Option<String>,
    /// Where the feed gives a summary, the page is fetched.
    pub full_text: bool,
}

/// A saved page or upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bookmark {
    /// Its id.
    pub id: Uuid,
    /// Whether it is a page or an upload.
    pub form: BookmarkKind,
    /// Its address; that of an upload is of the service that it was exported from.
    pub url: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The person's notes.
    pub notes: Option<String>,
    /// When they were begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes_created_at: Option<Timestamp>,
    /// When they were changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes_updated_at: Option<Timestamp>,
    /// The collections that it is in.
    pub collections: Vec<Uuid>,
    /// Marked as a favourite.
    pub favorite: bool,
    /// Put away.
    pub archived: bool,
    /// How far it is read.
    pub progress: f64,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// The id of its document: its text stands in `documents/`.
    pub document: Uuid,
    /// The file of an upload.
    pub file: Option<File>,
    /// The document; only where the line is read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

/// The file of an upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Where it stands in the archive.
    pub path: String,
    /// What the person calls it.
    pub filename: String,
    /// Its media type.
    pub content_type: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits, where it is known.
    pub sha256: Option<String>,
}

/// A document, as `documents/ID.json` holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Text {
    /// What it was made from.
    pub content_type: ContentType,
    /// Its title.
    pub title: String,
    /// The person gave it.
    pub title_given: bool,
    /// Who wrote it.
    pub author: Option<String>,
    /// What the site calls itself.
    pub site_name: Option<String>,
    /// What the page says of itself.
    pub description: Option<String>,
    /// Address of its picture.
    pub image_url: Option<String>,
    /// When the page says that it was published.
    #[serde(default)]
    pub published_at: Option<String>,
    /// The address by which it wants to be known.
    #[serde(default)]
    pub canonical_url: Option<String>,
    /// The address of its recording, where that is neither its own nor its entry's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording_url: Option<String>,
    /// What its text lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// Why it has no text, where none could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// ISO 639-1.
    pub language: Option<String>,
    /// Its passages, which joined are its text; none where it was not read yet.
    pub passages: Vec<Passage>,
    /// What was said when, in a recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoken: Vec<Spoken>,
    /// Its words as HTML for reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Its headings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Heading>,
}

impl Text {
    /// That of a file that is still to be read.
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

/// A passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// Its text.
    pub text: String,
    /// The page of a PDF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// When it begins in a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_seconds: Option<f64>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_seconds: Option<f64>,
}

/// A few words of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spoken {
    /// When they begin.
    pub start_seconds: f64,
    /// When they end.
    pub end_seconds: f64,
    /// What is said.
    pub text: String,
}

/// A marked part of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Highlight {
    /// Its id.
    pub id: Uuid,
    /// The bookmark.
    pub bookmark: Uuid,
    /// The marked words.
    pub text: String,
    /// What the person wrote beside them.
    pub note: Option<String>,
    /// A colour's name.
    pub color: Option<String>,
    /// Where the words begin in the document's text.
    pub start_offset: i32,
    /// Where they end.
    pub end_offset: i32,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An entry of a feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its id.
    pub id: Uuid,
    /// The feed.
    pub feed: Uuid,
    /// By what the feed tells it, as a sum in hexadecimal digits.
    pub key: String,
    /// What the feed said of it last, as a sum in hexadecimal digits.
    pub said: String,
    /// Its page.
    pub url: String,
    /// Its title in the feed.
    pub title: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// A few words of it.
    pub summary: Option<String>,
    /// The feed gave all of it.
    pub whole: bool,
    /// A recording that came with it.
    pub enclosure_url: Option<String>,
    /// Its media type.
    pub enclosure_type: Option<String>,
    /// Its length.
    pub enclosure_bytes: Option<i64>,
    /// When it was published.
    pub published_at: Option<Timestamp>,
    /// By what entries stand in order.
    pub sorted_at: Timestamp,
    /// When it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// It was read.
    pub read: bool,
    /// It was starred.
    pub starred: bool,
    /// The bookmark whose document it is, where it was saved.
    pub bookmark: Option<Uuid>,
    /// Its own document, where it was not.
    pub document: Option<Uuid>,
    /// The document; only where the line is read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

/// A project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: Option<String>,
    /// What an assistant is to keep to.
    pub instructions: String,
    /// Whether it is worked on.
    pub status: ProjectStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it, or anything in it, last changed.
    pub updated_at: Timestamp,
}

/// A decision of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Its id.
    pub id: Uuid,
    /// The project.
    pub project: Uuid,
    /// What it is about.
    pub title: String,
    /// What was decided.
    pub body: String,
    /// How far it is.
    pub status: DecisionStatus,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

/// A note of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Its id.
    pub id: Uuid,
    /// The project.
    pub project: Uuid,
    /// Its title.
    pub title: String,
    /// Its text, as Markdown.
    pub body: String,
    /// Shown first, and to assistants.
    pub pinned: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last; exports of earlier versions do not say.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

/// A thing's place in a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its id.
    pub id: Uuid,
    /// The project.
    pub project: Uuid,
    /// The bookmark, highlight, note or entry; of a note on a bookmark, that bookmark.
    pub thing: Uuid,
    /// As what it stands there: one that came by its address is a bookmark too.
    #[serde(default)]
    pub named: Option<ItemKind>,
    /// What it is to the project.
    pub role: ItemRole,
    /// Shown first, and given way last.
    pub pinned: bool,
    /// When it was added.
    pub added_at: Timestamp,
}
