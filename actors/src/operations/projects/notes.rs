//! A project's own notes: adding them by REST and in the web app, and listing them (contract.md, sections 5 and 9).

use entity::id::ProjectId;
use entity::note::{Column, Entity};
use entity::scope::Scope;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;

use super::{DEFAULT_LIMIT, kinds, open_for_writing, readable, touch};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use jobs::Priority;
use library::library_quota::LibraryRoom;
use crate::operations::notes::{self, BODY, NewNote, NoteResponse, NoteView};
use crate::operations::page::{CURSOR, PageOf};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

const TITLE: Field = Field::required("title", kinds::TITLE, "Its title.");
const BODY_MD: Field = Field::required("bodyMd", BODY, "Its text, as Markdown.");

/// A note that is added by REST: it starts pinned (contract.md, section 11).
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

    /// A note that is added otherwise.
    pub fn new(project: ProjectId, new: NewNote) -> Self {
        Self { project, new }
    }
}

impl Operation for AddNote {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        let text = notes::split(ctx, self.new.body.clone()).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let project = open_for_writing(&txn, caller.user, self.project).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        room.must_fit(self.new.body.len())?;
        let row = notes::add_to_project(&txn, &project, self.new, text, Priority::Now, now).await?;
        touch(&txn, &project, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(NoteResponse { note: row.into() })
    }
}

/// A note that is written in the web app: it is pinned where that is said.
#[derive(Debug)]
pub struct WriteNote(AddNote);

impl WriteNote {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] =
        &[TITLE, BODY_MD, Field::optional("pinned", Kind::Flag, "Shown first, and to assistants.")];

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
    page: PageOf,
}

impl ListNotes {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[CURSOR, kinds::LIMIT];

    /// Reads path and parameters.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, page: PageOf::read(&mut values, DEFAULT_LIMIT) })
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
        let project = readable(ctx.core.db.read(), caller.user, self.project).await?;
        let list = format!("notes:{}", project.id);
        let after: Option<entity::id::NoteId> = self.page.position(ctx, caller.user, &list)?;
        let own = Entity::owned_by(caller.user).filter(Column::ProjectId.eq(project.id));
        let mut query = own.order_by_desc(Column::Id);
        if let Some(after) = after {
            query = query.filter(Column::Id.lt(after));
        }
        let mut rows = query.limit(self.page.limit + 1).all(ctx.core.db.read()).await?;
        let next_cursor = self.page.cut(ctx, caller.user, &list, &mut rows, |row| row.id);
        Ok(ListNotesResponse { notes: rows.into_iter().map(NoteView::from).collect(), next_cursor })
    }
}
