//! Notes of projects and on bookmarks (contract.md, sections 9 and 11).

mod change;
mod create;
mod show;

use entity::note;
use library::notes::MAX_BODY_CHARS;
use schemars::JsonSchema;
use serde::Serialize;
use validation::{PageTitle, Words};
use values::id::{BookmarkId, DocumentId, NoteId, ProjectId};
use values::time::Timestamp;

pub use change::{ChangeNote, DeleteNote};
pub(super) use create::add_to_project;
pub use create::{CreateNote, CreateNoteResponse, NoteTarget};
pub use show::ShowNote;

/// The field `bodyMd`: the text of a note as Markdown, not empty (contract.md, section 5).
pub type NoteBody = Words<1, MAX_BODY_CHARS>;
/// The field `title` of a note: 1 to 300 characters. Control characters become spaces.
pub type NoteTitle = PageTitle<1, 300>;

/// A note on a bookmark or in a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteView {
    /// Id of the note, by which it is changed.
    pub note_id: NoteId,
    /// The document with the text of the note, by which search finds it.
    pub document_id: DocumentId,
    /// The bookmark on which the note was written; null for a note of a project.
    pub bookmark_id: Option<BookmarkId>,
    /// The project to which the note belongs; null for a note on a bookmark.
    pub project_id: Option<ProjectId>,
    /// Title, in one line.
    pub title: String,
    /// Text of the note, as Markdown.
    pub body_md: String,
    /// Whether the note is listed first and given to assistants.
    pub pinned: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the title, the text or `pinned` last changed.
    pub updated_at: Timestamp,
}

impl From<note::Model> for NoteView {
    fn from(row: note::Model) -> Self {
        Self {
            note_id: row.id,
            document_id: row.document_id,
            bookmark_id: row.bookmark_id,
            project_id: row.project_id,
            title: row.title,
            body_md: row.body,
            pinned: row.pinned,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A note, with the text and title that it has now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoteResponse {
    /// The note after the request.
    pub note: NoteView,
}
