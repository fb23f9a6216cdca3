//! Creates, shows, changes and deletes a project, by its owner in the web app (contract.md, section 9).

use entity::id::{ProjectId, UserId};
use entity::kind::ProjectStatus;
use entity::project;
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel};
use serde::Serialize;

use super::kinds;
use super::view::{self, ProjectResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::target::Target;
use errors::Error;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use library::projects;
use validation::{Field, Kind, Values};

const DESCRIPTION: Field = Field::optional("description", kinds::TEXT, "Description of the project.");
const INSTRUCTIONS: Field =
    Field::optional("instructions", kinds::INSTRUCTIONS, "Instructions for assistants.");
const STATUS: Field = Field::optional(
    "status",
    Kind::Choice(ProjectStatus::NAMES),
    "Status of the project. An archived project cannot be changed.",
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
        Field::required("name", kinds::TITLE, "Name of the project. Names need not be unique."),
        DESCRIPTION,
        INSTRUCTIONS,
        STATUS,
    ];

    /// Reads the body.
    pub fn read(_: &Target, values: Values) -> Result<Self, Error> {
        Ok(Self::from_values(values))
    }

    /// Reads the fields of a body or of the command line.
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
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        project::Entity::insert(new).exec_without_returning(&txn).await?;
        room.must_hold(&txn).await?;
        let reply = view::one(&txn, row).await?;
        txn.commit().await?;
        Ok(reply)
    }
}

/// The project to show.
#[derive(Debug)]
pub struct ShowProject(ProjectId);

impl ShowProject {
    /// The request has no fields.
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
        let db = ctx.core.db.read();
        view::one(db, projects::find(db, caller.user, self.0).await?).await
    }
}

/// The changes; `None` keeps a field. Of an archived project other fields only change together with its status.
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

    fn apply(self, row: project::Model) -> project::Model {
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
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = projects::lock(&txn, caller.user, self.id).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let mut changed = self.apply(row.clone());
        if changed != row {
            if changed.status == ProjectStatus::Archived {
                projects::require_active(row)?;
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

/// The project to delete, archived or not, with its decisions and notes. Its other items stay in the library.
#[derive(Debug)]
pub struct DeleteProject(ProjectId);

impl DeleteProject {
    /// The request has no fields.
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
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        projects::delete(&txn, caller.user, self.0, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(DeleteProjectResponse {})
    }
}
