//! Making, showing, changing and deleting a project, by its owner in the web app (contract.md, section 9).

use entity::id::{DocumentId, ProjectId, UserId};
use entity::kind::ProjectStatus;
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{decision, document, project, project_item};
use schemars::JsonSchema;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect,
};
use serde::Serialize;

use super::view::{self, ProjectResponse};
use super::{kinds, locked, must_be_open, readable};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use jobs::{Priority, JobKind};
use library::library_quota::LibraryRoom;
use library::bookmarks::save::AT_ONCE;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

const DESCRIPTION: Field = Field::optional("description", kinds::TEXT, "What it is about.");
const INSTRUCTIONS: Field =
    Field::optional("instructions", kinds::INSTRUCTIONS, "What an assistant is to keep to.");
const STATUS: Field = Field::optional(
    "status",
    Kind::Choice(ProjectStatus::NAMES),
    "Whether it is worked on; nothing in an archived project changes.",
);

/// A new project.
#[derive(Debug)]
pub struct CreateProject {
    name: String,
    description: Option<String>,
    instructions: String,
    status: ProjectStatus,
}

impl CreateProject {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("name", kinds::TITLE, "Name of the collection. Names need not be unique."),
        DESCRIPTION,
        INSTRUCTIONS,
        STATUS,
    ];

    /// Reads the body.
    pub fn read(_: &Target, values: Values) -> Result<Self, Error> {
        Ok(Self::from_values(values))
    }

    /// Reads the fields, wherever they come from.
    pub fn from_values(mut values: Values) -> Self {
        Self {
            name: values.text("name").unwrap_or_default(),
            description: values.text("description"),
            instructions: values.text("instructions").unwrap_or_default(),
            status: status(&mut values).unwrap_or(ProjectStatus::Active),
        }
    }

    /// The row of the new project.
    pub(super) fn into_row(self, user: UserId, now: Timestamp) -> project::Model {
        project::Model {
            id: ProjectId::new(now),
            user_id: user,
            name: self.name,
            description: self.description,
            instructions: self.instructions,
            status: self.status,
            created_at: now,
            updated_at: now,
        }
    }
}

fn status(values: &mut Values) -> Option<ProjectStatus> {
    values.name("status").and_then(|name| name.parse().ok())
}

impl Operation for CreateProject {
    type Reply = ProjectResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ProjectResponse, Error> {
        let row = self.into_row(caller.user, ctx.core.clock.now());
        let new = row.clone().into_active_model();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        project::Entity::insert(new).exec_without_returning(&txn).await?;
        room.must_hold(&txn).await?;
        let reply = view::one(&txn, row).await?;
        txn.commit().await?;
        Ok(reply)
    }
}

/// One project.
#[derive(Debug)]
pub struct ShowProject(ProjectId);

impl ShowProject {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowProject {
    type Reply = ProjectResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ProjectResponse, Error> {
        view::one(ctx.core.db.read(), readable(ctx.core.db.read(), caller.user, self.0).await?).await
    }
}

/// What is to be different. An archived project is only made active again, and may change by that.
#[derive(Debug)]
pub struct ChangeProject {
    id: ProjectId,
    name: Option<String>,
    description: Option<Option<String>>,
    instructions: Option<String>,
    status: Option<ProjectStatus>,
}

impl ChangeProject {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] =
        &[Field::optional("name", kinds::TITLE, "The new name."), DESCRIPTION, INSTRUCTIONS, STATUS];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            name: values.text("name"),
            description: values.change("description"),
            instructions: values.change("instructions").map(Option::unwrap_or_default),
            status: status(&mut values),
        })
    }

    fn applied(self, row: project::Model) -> project::Model {
        project::Model {
            name: self.name.unwrap_or(row.name),
            description: self.description.unwrap_or(row.description),
            instructions: self.instructions.unwrap_or(row.instructions),
            status: self.status.unwrap_or(row.status),
            ..row
        }
    }
}

impl Operation for ChangeProject {
    type Reply = ProjectResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ProjectResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = locked(&txn, caller.user, self.id).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let mut changed = self.applied(row.clone());
        if changed != row {
            if changed.status == ProjectStatus::Archived {
                must_be_open(row)?;
            }
            changed.updated_at = ctx.core.clock.now();
            changed.clone().into_active_model().reset_all().update(&txn).await?;
            room.must_hold(&txn).await?;
        }
        let reply = view::one(&txn, changed).await?;
        txn.commit().await?;
        Ok(reply)
    }
}

/// Which goes, archived or not, with its decisions and notes. What else was in it stays in the library.
#[derive(Debug)]
pub struct DeleteProject(ProjectId);

impl DeleteProject {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The project was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteProjectResponse {}

impl Operation for DeleteProject {
    type Reply = DeleteProjectResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteProjectResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        delete(&txn, caller.user, self.0, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(DeleteProjectResponse {})
    }
}

/// Deletes a project with all that is in it, within a transaction.
async fn delete(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: ProjectId,
    now: Timestamp,
) -> Result<(), Error> {
    let project = locked(txn, user, id).await?;
    let of_project = document::Column::ProjectId.eq(project.id);
    let notes: Vec<DocumentId> = document::Entity::of(user)
        .filter(of_project.clone())
        .select_only()
        .column(document::Column::Id)
        .into_tuple()
        .all(txn)
        .await?;
    for note in notes {
        jobs::enqueue(txn, user, JobKind::RemoveFromIndex, note.0, Priority::Now, now).await?;
    }
    let texts = document::Entity::delete_many().filter(document::Column::UserId.eq(user));
    texts.filter(of_project).exec(txn).await?;
    project.into_active_model().delete(txn).await?;
    Ok(())
}

/// Deletes a project, archived or not, if there is nothing in it. Items whose bookmarks were deleted do not count. Returns whether it did.
///
/// # Errors
/// [`Error::NotFound`] when the project does not exist or belongs to another user; [`Error::Internal`] when the database fails.
pub async fn delete_empty(txn: &impl ConnectionTrait, user: UserId, id: ProjectId) -> Result<bool, Error> {
    let project = locked(txn, user, id).await?;
    let notes = document::Entity::of(user).filter(document::Column::ProjectId.eq(project.id));
    let is_empty = notes.one(txn).await?.is_none()
        && decision::Entity::within(&project).one(txn).await?.is_none()
        && !has_visible_items(txn, &project).await?;
    if is_empty {
        project.into_active_model().delete(txn).await?;
    }
    Ok(is_empty)
}

/// Whether a project has an item whose document is not hidden.
async fn has_visible_items(txn: &impl ConnectionTrait, project: &project::Model) -> Result<bool, Error> {
    let items = project_item::Entity::within(project).select_only().column(project_item::Column::DocumentId);
    let documents: Vec<DocumentId> = items.into_tuple().all(txn).await?;
    for some in documents.chunks(AT_ONCE) {
        let readable = document::Entity::readable_by(project.user_id);
        if readable.filter(document::Column::Id.is_in(some.iter().copied())).one(txn).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
