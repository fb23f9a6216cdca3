//! Notes of projects and on bookmarks (contract.md, sections 9 and 11).

mod change;
mod create;

use entity::id::{BookmarkId, DocumentId, NoteId, ProjectId};
use entity::note;
use entity::time::Timestamp;
use library::notes::MAX_BODY_CHARS;
use schemars::JsonSchema;
use serde::Serialize;
use validation::Words;

pub use change::{ChangeNote, DeleteNote};
pub(super) use create::add_to_project;
pub use create::{CreateNote, CreateNoteResponse, NoteTarget};

/// The text of a note, as Markdown.
pub type NoteBody = Words<1, MAX_BODY_CHARS>;
/// The title of a note.
pub type NoteTitle = Words<1, 300>;

/// A note on a bookmark or in a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteView {
    note_id: NoteId,
    document_id: DocumentId,
    bookmark_id: Option<BookmarkId>,
    project_id: Option<ProjectId>,
    title: String,
    body_md: String,
    pinned: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
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

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoteResponse {
    /// The note.
    pub note: NoteView,
}
