//! `carrel project`: the projects of an account.

use std::fmt;

use actors::operations::projects::{
    CreateProjectRequest, ProjectView, create_project, list_projects, set_project_status,
};
use clap::{Args, Subcommand};
use entity::user;
use errors::Error;
use library::context::CoreContext;
use library::owned_transaction::RequestOwner;
use serde::Serialize;
use validation::Invalid;
use values::id::ProjectId;
use values::kind::ProjectStatus;

use super::failure::Failure;
use super::opening::OwnerArgs;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening};
use crate::settings::Settings;

/// A subcommand of `carrel project`.
#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// Create a project
    Create(CreateProjectArgs),
    /// List the projects of an account, most recently active first
    List(ListProjectsArgs),
    /// Archive a project: nothing in it can be changed until it is activated
    Archive(ProjectIdArgs),
    /// Activate an archived project: it can be changed again
    Activate(ProjectIdArgs),
}

/// A new project.
#[derive(Debug, Args)]
pub struct CreateProjectArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// Name of the project
    #[arg(long)]
    name: String,
    /// What the project is about
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Instructions for assistants that read the project
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
}

/// Projects of an account.
#[derive(Debug, Args)]
pub struct ListProjectsArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// Only projects with this status
    #[arg(long, value_parser = choices::project_status())]
    status: Option<ProjectStatus>,
}

/// A project of an account.
#[derive(Debug, Args)]
pub struct ProjectIdArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// Id of the project, as `carrel project list` shows it
    #[arg(value_name = "ID", value_parser = choices::project_id)]
    id: ProjectId,
}

pub async fn run(command: ProjectCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    match command {
        ProjectCommand::Create(args) => create(&core, args).await,
        ProjectCommand::List(ListProjectsArgs { owner, status }) => {
            let owner = owner.find(&core).await?;
            let projects = list_projects(&core, owner.id, status).await?;
            CommandOutput::of(&ProjectList { status, projects })
        }
        ProjectCommand::Archive(args) => set_status(&core, &args, ProjectStatus::Archived).await,
        ProjectCommand::Activate(args) => set_status(&core, &args, ProjectStatus::Active).await,
    }
}

async fn create(core: &CoreContext, args: CreateProjectArgs) -> Result<CommandOutput, Failure> {
    let CreateProjectArgs { owner, name, description, instructions } = args;
    let owner = owner.find(core).await?;
    let texts =
        Invalid::together(optional("description", description), optional("instructions", instructions));
    let checked = Invalid::together(field("name", name), texts).map_err(Error::from)?;
    let (name, (description, instructions)) = checked;
    let request = CreateProjectRequest { name, description, instructions, status: None };
    let created = create_project(core, &request_owner(&owner), request).await?;
    CommandOutput::of(&ProjectOutput { action: "created", project: created.into_view() })
}

/// Checks the text of a field, by the rules of the field's type.
fn field<T: TryFrom<String, Error = String>>(name: &str, text: String) -> Result<T, Invalid> {
    T::try_from(text).map_err(|reason| Invalid::new(name, reason))
}

fn optional<T: TryFrom<String, Error = String>>(
    name: &str,
    text: Option<String>,
) -> Result<Option<T>, Invalid> {
    text.map(|text| field(name, text)).transpose()
}

fn request_owner(owner: &user::Model) -> RequestOwner {
    RequestOwner { user: owner.id, plan: owner.plan, claim: None }
}

async fn set_status(
    core: &CoreContext,
    args: &ProjectIdArgs,
    status: ProjectStatus,
) -> Result<CommandOutput, Failure> {
    let owner = args.owner.find(core).await?;
    let action = match status {
        ProjectStatus::Active => "activated",
        ProjectStatus::Archived => "archived",
    };
    match set_project_status(core, &request_owner(&owner), args.id, status).await {
        Ok(changed) => CommandOutput::of(&ProjectOutput { action, project: changed.into_view() }),
        Err(Error::NotFound(_)) => Err(Failure::NoProject),
        Err(other) => Err(other.into()),
    }
}

#[derive(Serialize)]
struct ProjectOutput {
    /// What the command did, as a past participle.
    #[serde(skip)]
    action: &'static str,
    project: ProjectView,
}

impl fmt::Display for ProjectOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} the project `{}` (id {})", self.action, shown(&self.project.name), self.project.id)
    }
}

#[derive(Serialize)]
struct ProjectList {
    /// The status that all listed projects have; `None` if any was asked for.
    #[serde(skip)]
    status: Option<ProjectStatus>,
    projects: Vec<ProjectView>,
}

impl fmt::Display for ProjectList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.projects.is_empty() {
            return match self.status {
                Some(status) => write!(f, "the account has no projects with the status {status}"),
                None => f.write_str("the account has no projects; `carrel project create` creates one"),
            };
        }
        let row = |project: &ProjectView| {
            let (id, status) = (project.id.to_string(), project.status.to_string());
            let (items, changed) = (project.item_count.to_string(), project.updated_at.to_string());
            [id, status, items, changed, shown(&project.name)]
        };
        let rows: Vec<_> = self.projects.iter().map(row).collect();
        f.write_str(&table(["ID", "STATUS", "ITEMS", "LAST CHANGE", "NAME"], &rows))
    }
}
