//! The tool create_note: a paragraph more on a bookmark, or a note of a project (spec.md: MCP server).

use entity::bookmark;
use entity::id::{BookmarkId, DocumentId, NoteId, ProjectId};
use entity::scope::{Scope, Scopes};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LONGEST, NewNote, NoteResponse, locked_on_bookmark, write_on_bookmark};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use jobs::Priority;
use library::library_quota::LibraryRoom;
use library::bookmarks::save;
use crate::operations::projects::AddNote;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Characters of a title that is taken from the text.
const LONGEST_TITLE: usize = 100;

/// Where a note goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a saved page or upload.
    Bookmark(BookmarkId),
    /// Into a project.
    Project(ProjectId),
}

/// A note to be written.
#[derive(Debug)]
pub struct CreateNote {
    /// Where.
    pub place: Place,
    /// Its title; on a bookmark the first line of the paragraph.
    pub title: Option<String>,
    /// Its text.
    pub body: String,
}

/// The note, and where it is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateNoteResponse {
    /// The note.
    pub note_id: NoteId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// The bookmark that it is on.
    pub bookmark_id: Option<BookmarkId>,
    /// The project that it is in.
    pub project_id: Option<ProjectId>,
}

impl Operation for CreateNote {
    type Reply = CreateNoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteNotes];
    const WEIGHT: u32 = 2;

    fn scopes(&self) -> Scopes {
        let scopes: Scopes = Self::SCOPES.into();
        match self.place {
            Place::Bookmark(_) => scopes,
            Place::Project(_) => scopes.with(Scope::WriteProjects),
        }
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CreateNoteResponse, Error> {
        match self.place {
            Place::Bookmark(id) => self.append(caller, ctx, id).await,
            Place::Project(id) => self.add(caller, ctx, id).await,
        }
    }
}

impl CreateNote {
    async fn add(self, caller: &Caller, ctx: &OperationContext, project: ProjectId) -> Result<CreateNoteResponse, Error> {
        let title = self.title.unwrap_or_else(|| first_line(&self.body));
        let new = NewNote { title, body: self.body, pinned: true };
        let NoteResponse { note } = AddNote::new(project, new).run(caller, ctx).await?;
        Ok(CreateNoteResponse {
            note_id: note.note_id,
            document_id: note.document_id,
            bookmark_id: None,
            project_id: Some(project),
        })
    }

    async fn append(self, caller: &Caller, ctx: &OperationContext, id: BookmarkId) -> Result<CreateNoteResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = bookmark::Entity::one_of(caller.user, id).one(&txn).await?.ok_or(Error::not_found())?;
        let note = locked_on_bookmark(&txn, &row).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let room = room.rewriting(&txn, note.as_ref().map(|note| note.document_id)).await?;
        let before = note.map(|note| note.body).unwrap_or_default();
        let body = with_paragraph(&before, self.title.as_deref(), &self.body);
        if text::char_count(&body) > LONGEST {
            let reason = format!("would make the notes longer than {LONGEST} characters");
            return Err(Error::invalid("body", reason));
        }
        room.must_fit(self.body.len())?;
        let note =
            write_on_bookmark(&txn, &row, &body, Priority::Now, now).await?.ok_or(Error::not_found())?;
        save::touch(&txn, row, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(CreateNoteResponse {
            note_id: note.id,
            document_id: note.document_id,
            bookmark_id: Some(id),
            project_id: None,
        })
    }
}

/// The notes with one more paragraph.
fn with_paragraph(before: &str, title: Option<&str>, body: &str) -> String {
    let heading = title.map(|title| format!("{title}\n")).unwrap_or_default();
    let gap = if before.is_empty() { "" } else { "\n\n" };
    format!("{before}{gap}{heading}{body}")
}

/// The first words of a text, as its title: without the signs that make a heading or a list of them.
pub fn first_line(body: &str) -> String {
    let mark = |c: char| c.is_whitespace() || matches!(c, '#' | '*' | '-' | '>');
    let mut lines = body.lines().map(|line| line.trim_matches(mark));
    let line = lines.find(|line| !line.is_empty()).unwrap_or_else(|| body.trim());
    let cut = text::cut(line, LONGEST_TITLE);
    // A text whose first character alone is longer than a title may be.
    if cut.is_empty() { "Note".to_owned() } else { cut }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_paragraph_stands_by_itself_below_what_was_there() {
        assert_eq!(with_paragraph("", None, "New."), "New.");
        assert_eq!(with_paragraph("First.", None, "New."), "First.\n\nNew.");
        assert_eq!(with_paragraph("First.", Some("Ants"), "New."), "First.\n\nAnts\nNew.");
    }

    #[test]
    fn a_note_without_a_title_has_its_first_words() {
        assert_eq!(first_line("\n\n## Ants dance\n\nThey do."), "Ants dance");
        assert_eq!(first_line("- one\n- two"), "one");
        assert_eq!(first_line("***"), "***");
        assert_eq!(first_line(&"ant ".repeat(99)).chars().count(), 100);
    }

    proptest! {
        #[test]
        fn there_is_always_a_title(body in any::<String>()) {
            let title = first_line(&body);
            prop_assert!((1..=LONGEST_TITLE).contains(&title.chars().count()));
        }
    }
}
