//! Creates, shows, changes and deletes a project, by its owner in the web app (contract.md, section 9).

use entity::project;
use schemars::JsonSchema;
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel};
use serde::Serialize;
use values::id::ProjectId;
use values::kind::ProjectStatus;
use values::scope::Scope;

use super::field_types::{Instructions, ProjectText, ProjectTitle};
use super::view::{self, ProjectResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use library::library_quota::LibraryRoom;
use library::owned_transaction::{RequestOwner, begin_request};
use library::projects;
use validation::{Choice, DisplayName, NoFields, Text, request};

/// Creates a project. The number of projects has no limit.
#[derive(Debug)]
pub struct CreateProject(CreateProjectRequest);

request! {
    /// A new project of the user.
    pub struct CreateProjectRequest {
        /// Name of the project. Names need not be unique.
        pub name: ProjectTitle,
        /// Description of the project, at most 100,000 characters. Default: none.
        pub description?: ProjectText,
        /// Instructions for assistants, at most 20,000 characters. Default: none.
        pub instructions?: Instructions,
        /// Status of the project. An archived project cannot be changed. Default `active`.
        pub status?: Choice<ProjectStatus>,
    }
}

impl FromRequest for CreateProject {
    type Request = CreateProjectRequest;

    fn from_request(_: &Target, request: CreateProjectRequest) -> Result<Self, Error> {
        Ok(Self(request))
    }
}

impl Operation for CreateProject {
    type Reply = ProjectResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ProjectResponse, Error> {
        create_project(&ctx.core, &caller.owner(), self.0).await
    }
}

/// Creates a project, for a request or for the command line.
///
/// # Errors
/// [`Error::LibraryFull`] when the library has no room.
pub async fn create_project(
    core: &CoreContext,
    owner: &RequestOwner,
    request: CreateProjectRequest,
) -> Result<ProjectResponse, Error> {
    let now = core.clock.now();
    let row = project::Model {
        id: ProjectId::new(now),
        user_id: owner.user,
        name: request.name.into_inner(),
        description: request.description.map(Text::into_inner),
        instructions: request.instructions.map(Text::into_inner).unwrap_or_default(),
        status: request.status.map_or(ProjectStatus::Active, Choice::into_inner),
        created_at: now,
        updated_at: now,
    };
    let txn = begin_request(&core.db, owner).await?;
    let room = LibraryRoom::of_request(&txn, core, owner).await?;
    project::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    room.must_hold(&txn).await?;
    let reply = view::load_response(&txn, row).await?;
    txn.commit().await?;
    Ok(reply)
}

/// Shows one project of the user with its instructions.
#[derive(Debug)]
pub struct ShowProject(ProjectId);

impl FromRequest for ShowProject {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowProject {
    type Reply = ProjectResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ProjectResponse, Error> {
        let db = ctx.core.db.read();
        view::load_response(db, projects::find(db, caller.user, self.0).await?).await
    }
}

/// Changes the given fields of a project; `None` keeps a field. An archived project changes only if it becomes active again.
#[derive(Debug)]
pub struct ChangeProject {
    id: ProjectId,
    name: Option<String>,
    description: Option<Option<String>>,
    instructions: Option<String>,
    status: Option<ProjectStatus>,
}

request! {
    /// The changes of a project.
    pub struct ChangeProjectRequest {
        /// The new name, which need not be unique.
        pub name?: ProjectTitle,
        /// The new description. `null` removes it.
        pub description~: ProjectText,
        /// The new instructions for assistants. `null` removes them.
        pub instructions~: Instructions,
        /// The new status. An archived project cannot be changed otherwise.
        pub status?: Choice<ProjectStatus>,
    }
}

impl FromRequest for ChangeProject {
    type Request = ChangeProjectRequest;

    fn from_request(target: &Target, request: ChangeProjectRequest) -> Result<Self, Error> {
        let instructions = request.instructions.map(Text::into_inner).into_change();
        Ok(Self {
            id: target.id(0)?,
            name: request.name.map(DisplayName::into_inner),
            description: request.description.map(Text::into_inner).into_change(),
            instructions: instructions.map(Option::unwrap_or_default),
            status: request.status.map(Choice::into_inner),
        })
    }
}

impl ChangeProject {
    /// Creates the change that sets the status of a project.
    fn of_status(id: ProjectId, status: ProjectStatus) -> Self {
        Self { id, name: None, description: None, instructions: None, status: Some(status) }
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
        change_project(&ctx.core, &caller.owner(), self).await
    }
}

/// Archives a project, so that nothing in it changes until it is active again, or makes it active. A project that has the status
/// already stays unchanged.
///
/// # Errors
/// [`Error::NotFound`] when the project does not exist or belongs to another user.
pub async fn set_project_status(
    core: &CoreContext,
    owner: &RequestOwner,
    id: ProjectId,
    status: ProjectStatus,
) -> Result<ProjectResponse, Error> {
    change_project(core, owner, ChangeProject::of_status(id, status)).await
}

async fn change_project(
    core: &CoreContext,
    owner: &RequestOwner,
    change: ChangeProject,
) -> Result<ProjectResponse, Error> {
    let txn = begin_request(&core.db, owner).await?;
    let row = projects::lock(&txn, owner.user, change.id).await?;
    let room = LibraryRoom::of_request(&txn, core, owner).await?;
    let mut changed = change.apply(row.clone());
    if changed != row {
        // A project that becomes active may be changed in the same request.
        if changed.status == ProjectStatus::Archived {
            projects::require_active(row)?;
        }
        changed.updated_at = core.clock.now();
        let update = changed.clone().into_active_model().reset_all();
        project::Entity::update_owned_row(&txn, owner.user, update).await?;
        room.must_hold(&txn).await?;
    }
    let reply = view::load_response(&txn, changed).await?;
    txn.commit().await?;
    Ok(reply)
}

/// Deletes a project, archived or not, with its decisions and notes. Its other items stay in the library.
#[derive(Debug)]
pub struct DeleteProject(ProjectId);

impl FromRequest for DeleteProject {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The project was deleted, with its decisions and notes.
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
