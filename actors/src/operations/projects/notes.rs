//! Adds notes to a project, by REST and in the web app, and lists them (contract.md, sections 5 and 9).

use entity::note::{Column, Entity};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use serde::Serialize;
use values::id::{NoteId, ProjectId};
use values::scope::Scope;

use super::DEFAULT_LIMIT;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::notes::{self, NoteBody, NoteResponse, NoteTitle, NoteView};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::{Error, code};
use library::notes::NewNote;
use library::projects;
use validation::{Flag, request};

/// A note to be added by REST. It is pinned (contract.md, section 11).
#[derive(Debug)]
pub struct AddNote {
    project: ProjectId,
    new: NewNote,
}

request! {
    /// A note to be added to a project by REST.
    pub struct AddNoteRequest {
        /// Title of the note, 1 to 300 characters.
        pub title: NoteTitle,
        /// Text of the note, as Markdown.
        pub body_md: NoteBody,
    }
}

impl FromRequest for AddNote {
    type Request = AddNoteRequest;

    fn from_request(target: &Target, request: AddNoteRequest) -> Result<Self, Error> {
        let (title, body) = (request.title.into_inner(), request.body_md.into_inner());
        Ok(Self { project: target.id(0)?, new: NewNote { title, body, pinned: true } })
    }
}

impl Operation for AddNote {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED, code::PROJECT_ARCHIVED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        let row = notes::add_to_project(caller, ctx, self.project, self.new).await?;
        Ok(NoteResponse { note: row.into() })
    }
}

/// A note to be added in the web app. It is pinned if the request says so.
#[derive(Debug)]
pub struct WriteNote(AddNote);

request! {
    /// A note to be added to a project in the web app.
    pub struct WriteNoteRequest {
        /// Title of the note, 1 to 300 characters.
        pub title: NoteTitle,
        /// Text of the note, as Markdown.
        pub body_md: NoteBody,
        /// Whether the note is listed first and given to assistants. Default `false`.
        pub pinned?: Flag,
    }
}

impl FromRequest for WriteNote {
    type Request = WriteNoteRequest;

    fn from_request(target: &Target, request: WriteNoteRequest) -> Result<Self, Error> {
        let (title, body) = (request.title.into_inner(), request.body_md.into_inner());
        let pinned = request.pinned.is_some_and(Flag::into_inner);
        Ok(Self(AddNote { project: target.id(0)?, new: NewNote { title, body, pinned } }))
    }
}

impl Operation for WriteNote {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = AddNote::SCOPES;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        self.0.run(caller, ctx).await
    }
}

/// A page of a project's own notes.
#[derive(Debug)]
pub struct ListNotes {
    project: ProjectId,
    page: PageRequest,
}

request! {
    /// A page of the notes of a project.
    pub struct ListNotesRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of results. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListNotes {
    type Request = ListNotesRequest;

    fn from_request(target: &Target, request: ListNotesRequest) -> Result<Self, Error> {
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { project: target.id(0)?, page })
    }
}

/// A page of a project's own notes, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListNotesResponse {
    /// The notes of the page.
    pub notes: Vec<NoteView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl Operation for ListNotes {
    type Reply = ListNotesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListNotesResponse, Error> {
        let project = projects::find(ctx.core.db.read(), caller.user, self.project).await?;
        let list = self.page.of_list(ctx, caller, ListName::selected_by("notes", project.id));
        let after: Option<NoteId> = list.position()?;
        let own = Entity::owned_by(caller.user).filter(Column::ProjectId.eq(project.id));
        let mut query = own.order_by_desc(Column::Id);
        if let Some(after) = after {
            query = query.filter(Column::Id.lt(after));
        }
        let ListPage { rows, next_cursor } = list.fetch(query, |row| row.id).await?;
        Ok(ListNotesResponse { notes: rows.into_iter().map(NoteView::from).collect(), next_cursor })
    }
}
