//! Adds notes to a project, by REST and in the web app, and lists them (contract.md, sections 5 and 9).

use entity::id::{NoteId, ProjectId};
use entity::note::{Column, Entity};
use entity::scope::Scope;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use serde::Serialize;

use super::{DEFAULT_LIMIT, kinds};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::notes::{self, BODY, NoteResponse, NoteView};
use crate::operations::page::{CURSOR, ListPage, PageRequest};
use crate::operations::target::Target;
use errors::Error;
use library::notes::NewNote;
use library::projects;
use validation::{Field, Kind, Values};

const TITLE: Field = Field::required("title", kinds::TITLE, "Title of the note.");
const BODY_MD: Field = Field::required("bodyMd", BODY, "Text of the note, as Markdown.");

/// A note to be added by REST. It is pinned (contract.md, section 11).
#[derive(Debug)]
pub struct AddNote {
    project: ProjectId,
    new: NewNote,
}

impl AddNote {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[TITLE, BODY_MD];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let title = values.text("title").unwrap_or_default();
        let body = values.text("bodyMd").unwrap_or_default();
        Ok(Self { project: target.id(0)?, new: NewNote { title, body, pinned: true } })
    }
}

impl Operation for AddNote {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        let row = notes::add_to_project(caller, ctx, self.project, self.new).await?;
        Ok(NoteResponse { note: row.into() })
    }
}

/// A note to be added in the web app. It is pinned if the request says so.
#[derive(Debug)]
pub struct WriteNote(AddNote);

impl WriteNote {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        TITLE,
        BODY_MD,
        Field::optional("pinned", Kind::Flag, "Whether the note is listed first and given to assistants."),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let pinned = values.flag("pinned").unwrap_or(false);
        let mut note = AddNote::read(target, values)?;
        note.new.pinned = pinned;
        Ok(Self(note))
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

impl ListNotes {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[CURSOR, kinds::LIMIT];

    /// Reads path and parameters.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, page: PageRequest::read(&mut values, DEFAULT_LIMIT) })
    }
}

/// Notes, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListNotesResponse {
    notes: Vec<NoteView>,
    next_cursor: Option<String>,
}

impl Operation for ListNotes {
    type Reply = ListNotesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListNotesResponse, Error> {
        let project = projects::find(ctx.core.db.read(), caller.user, self.project).await?;
        let list = self.page.of_list(ctx, caller, format!("notes:{}", project.id));
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
