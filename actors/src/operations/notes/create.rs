//! The tool create_note: adds a paragraph to the note on a bookmark, or a note to a project (spec.md: MCP server).

use entity::bookmark;
use entity::note;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, NoteId, ProjectId};
use values::scope::{Scope, Scopes};

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use errors::Error;
use jobs::Priority;
use library::bookmarks;
use library::library_quota::LibraryRoom;
use library::notes::{self, MAX_BODY_CHARS, NewNote};
use library::owned_transaction::begin_request;
use library::projects;

/// The object that a note is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteTarget {
    /// A saved page or upload.
    Bookmark(BookmarkId),
    /// A project that is not archived.
    Project(ProjectId),
}

/// A note to be written.
#[derive(Debug)]
pub struct CreateNote {
    /// What the note is added to.
    pub target: NoteTarget,
    /// Title of the note; on a bookmark the first line of the paragraph. `None` derives the title of
    /// a project's note from its text, and gives a paragraph no title line.
    pub title: Option<String>,
    /// Text of the note, as Markdown.
    pub body: String,
}

/// The note, and what it belongs to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateNoteResponse {
    /// Id of the new note, or of the note to which the paragraph was added.
    pub note_id: NoteId,
    /// The document with the text of the note, by which search finds it.
    pub document_id: DocumentId,
    /// The bookmark on which the note is; null for a note of a project.
    pub bookmark_id: Option<BookmarkId>,
    /// The project that contains the note; null for a note on a bookmark.
    pub project_id: Option<ProjectId>,
}

impl From<note::Model> for CreateNoteResponse {
    fn from(row: note::Model) -> Self {
        Self {
            note_id: row.id,
            document_id: row.document_id,
            bookmark_id: row.bookmark_id,
            project_id: row.project_id,
        }
    }
}

impl Operation for CreateNote {
    type Reply = CreateNoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteNotes];
    // Tools that write count two calls (spec.md: Limits, rule 3).
    const WEIGHT: u32 = 2;

    fn scopes(&self) -> Scopes {
        let scopes: Scopes = Self::SCOPES.into();
        match self.target {
            NoteTarget::Bookmark(_) => scopes,
            NoteTarget::Project(_) => scopes.with(Scope::WriteProjects),
        }
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CreateNoteResponse, Error> {
        match self.target {
            NoteTarget::Bookmark(id) => self.append_to_bookmark(caller, ctx, id).await,
            NoteTarget::Project(id) => {
                let title = self.title.unwrap_or_else(|| notes::derive_title(&self.body));
                let new = NewNote { title, body: self.body, pinned: true };
                add_to_project(caller, ctx, id, new).await.map(CreateNoteResponse::from)
            }
        }
    }
}

/// Adds a note to a project for a request.
///
/// # Errors
/// [`Error::NotFound`], [`Error::ProjectArchived`] and [`Error::LibraryFull`]; the database fails.
pub(in crate::operations) async fn add_to_project(
    caller: &Caller,
    ctx: &OperationContext,
    project: ProjectId,
    new: NewNote,
) -> Result<note::Model, Error> {
    // Before the transaction, which makes other writes of the user wait.
    let text = notes::chunk_body_in_worker(&ctx.core, new.body.clone()).await?;
    let now = ctx.core.clock.now();
    let owner = caller.owner();
    let txn = begin_request(&ctx.core.db, &owner).await?;
    let project = projects::lock_active(&txn, caller.user, project).await?;
    let room = LibraryRoom::of_request(&txn, &ctx.core, &owner).await?;
    // Checked twice: here before a long text is written and rolled back, and below with what its rows really take.
    room.must_fit(new.body.len())?;
    let row = notes::add_to_project(&txn, &project, new, text, Priority::Now, now).await?;
    projects::touch(&txn, &project, now).await?;
    room.must_hold(&txn).await?;
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(row)
}

impl CreateNote {
    async fn append_to_bookmark(
        self,
        caller: &Caller,
        ctx: &OperationContext,
        id: BookmarkId,
    ) -> Result<CreateNoteResponse, Error> {
        let now = ctx.core.clock.now();
        let owner = caller.owner();
        let txn = begin_request(&ctx.core.db, &owner).await?;
        let row =
            bookmark::Entity::one_visible_to(caller.user, id).one(&txn).await?.ok_or(Error::not_found())?;
        // The paragraph is added to the text under this lock, so of two simultaneous calls none overwrites the other's.
        let note = notes::lock_on_bookmark(&txn, &row).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &owner).await?;
        let room = room.rewriting(&txn, note.as_ref().map(|note| note.document_id)).await?;
        let before = note.map(|note| note.body).unwrap_or_default();
        let body = append_paragraph(&before, self.title.as_deref(), &self.body);
        if text::char_count(&body) > MAX_BODY_CHARS {
            let reason = format!("would make the notes longer than {MAX_BODY_CHARS} characters");
            return Err(Error::invalid("body", reason));
        }
        room.must_fit(self.body.len())?;
        let note = notes::write_on_bookmark(&txn, &row, &body, Priority::Now, now).await?;
        let note = note.ok_or(Error::not_found())?;
        bookmarks::touch(&txn, row, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(note.into())
    }
}

/// Returns the text with one more paragraph.
fn append_paragraph(before: &str, title: Option<&str>, body: &str) -> String {
    let heading = title.map(|title| format!("{title}\n")).unwrap_or_default();
    let gap = if before.is_empty() { "" } else { "\n\n" };
    format!("{before}{gap}{heading}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_paragraph_is_separated_by_a_blank_line() {
        assert_eq!(append_paragraph("", None, "New."), "New.");
        assert_eq!(append_paragraph("First.", None, "New."), "First.\n\nNew.");
        assert_eq!(append_paragraph("First.", Some("Ants"), "New."), "First.\n\nAnts\nNew.");
    }
}
