//! Changing and removing a note in the web app, of a project or on a bookmark (contract.md, section 9).

use entity::id::{NoteId, UserId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, document, note, project};
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel,
    QueryFilter,
};
use serde::Serialize;

use super::{BODY, NoteResponse, locked_on_bookmark, rewrite, split};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use jobs::{Priority, JobKind};
use library::library_quota::LibraryRoom;
use library::bookmarks::save;
use crate::operations::projects;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// What is to be different.
#[derive(Debug)]
pub struct ChangeNote {
    id: NoteId,
    title: Option<String>,
    body: Option<String>,
    pinned: Option<bool>,
}

impl ChangeNote {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional("title", Kind::Words { min: 1, max: 300 }, "The new title."),
        Field::optional("bodyMd", BODY, "Another text, as Markdown."),
        Field::optional("pinned", Kind::Flag, "Shown first, and to assistants."),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            title: values.text("title"),
            body: values.text("bodyMd"),
            pinned: values.flag("pinned"),
        })
    }
}

impl Operation for ChangeNote {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteNotes];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        let text = match &self.body {
            Some(body) => Some((body.clone(), split(ctx, body.clone()).await?)),
            None => None,
        };
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let (mut row, home) = open(&txn, caller.user, self.id).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let room = room.rewriting(&txn, Some(row.document_id)).await?;
        let before = row.clone();
        if let Some(title) = self.title.filter(|title| *title != row.title) {
            row = retitle(&txn, row, title, now).await?;
        }
        if let Some(pinned) = self.pinned.filter(|pinned| *pinned != row.pinned) {
            let mut changed = row.into_active_model();
            changed.pinned = Set(pinned);
            changed.updated_at = Set(now);
            row = changed.update(&txn).await?;
        }
        if let Some((body, text)) = text.filter(|(body, _)| *body != row.body) {
            row = rewrite(&txn, row, body, text, Priority::Now, now).await?;
        }
        if row != before {
            home.touch(&txn, now).await?;
            room.must_hold(&txn).await?;
        }
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(NoteResponse { note: row.into() })
    }
}

/// A title is part of what a passage is found by, so the index is told.
async fn retitle(
    txn: &impl ConnectionTrait,
    row: note::Model,
    title: String,
    now: Timestamp,
) -> Result<note::Model, Error> {
    document::Entity::update_many()
        .col_expr(document::Column::Title, Expr::value(title.clone()))
        .filter(document::Column::UserId.eq(row.user_id))
        .filter(document::Column::Id.eq(row.document_id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, row.user_id, JobKind::Index, row.document_id.0, Priority::Now, now).await?;
    let mut changed = row.into_active_model();
    changed.title = Set(title);
    changed.updated_at = Set(now);
    Ok(changed.update(txn).await?)
}

/// Which goes.
#[derive(Debug)]
pub struct DeleteNote(NoteId);

impl DeleteNote {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The note was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteNoteResponse {}

impl Operation for DeleteNote {
    type Reply = DeleteNoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteNotes];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteNoteResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let (row, home) = open(&txn, caller.user, self.0).await?;
        remove(&txn, &row, home, Priority::Now, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(DeleteNoteResponse {})
    }
}

/// Takes back a note that an import brought, of an archived project too.
///
/// # Errors
/// [`Error::NotFound`] as [`open`].
pub async fn take_back(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: NoteId,
    now: Timestamp,
) -> Result<(), Error> {
    let (row, home) = held(txn, user, id).await?;
    remove(txn, &row, home, Priority::Backlog, now).await
}

async fn remove(
    txn: &impl ConnectionTrait,
    row: &note::Model,
    home: Home,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let user = row.user_id;
    jobs::enqueue(txn, user, JobKind::RemoveFromIndex, row.document_id.0, priority, now).await?;
    // The note, and its place in projects, go with its document.
    let text = document::Entity::delete_many().filter(document::Column::UserId.eq(user));
    text.filter(document::Column::Id.eq(row.document_id)).exec(txn).await?;
    home.touch(txn, now).await
}

/// What a note belongs to; held until the transaction ends.
enum Home {
    Project(project::Model),
    Bookmark(bookmark::Model),
}

impl Home {
    async fn touch(self, txn: &impl ConnectionTrait, now: Timestamp) -> Result<(), Error> {
        match self {
            Home::Project(project) => projects::touch(txn, &project, now).await,
            Home::Bookmark(row) => save::touch(txn, row, now).await.map(drop),
        }
    }
}

/// The note, to be written to.
///
/// # Errors
/// [`Error::NotFound`] where it is not the user's or its bookmark was deleted, and [`Error::ProjectArchived`].
async fn open(txn: &impl ConnectionTrait, user: UserId, id: NoteId) -> Result<(note::Model, Home), Error> {
    let (row, home) = held(txn, user, id).await?;
    match home {
        Home::Project(project) => Ok((row, Home::Project(projects::must_be_open(project)?))),
        Home::Bookmark(_) => Ok((row, home)),
    }
}

/// The note and what it belongs to, whether that may be written to or not.
async fn held(txn: &impl ConnectionTrait, user: UserId, id: NoteId) -> Result<(note::Model, Home), Error> {
    let own = || note::Entity::one_of(user, id);
    let found = own().one(txn).await?.ok_or(Error::not_found())?;
    let home = match (found.project_id, found.bookmark_id) {
        (Some(project), _) => Home::Project(projects::locked(txn, user, project).await?),
        (None, Some(bookmark)) => {
            let row = bookmark::Entity::one_of(user, bookmark).one(txn).await?.ok_or(Error::not_found())?;
            locked_on_bookmark(txn, &row).await?;
            Home::Bookmark(row)
        }
        (None, None) => return Err(Error::not_found()),
    };
    // Read again: it may have changed, or gone, before its home was held.
    Ok((own().one(txn).await?.ok_or(Error::not_found())?, home))
}
