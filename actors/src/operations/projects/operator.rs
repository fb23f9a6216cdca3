//! Lists, creates and archives projects of a user on the command line.

use entity::project::{self, Column, Entity};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
};
use serde_json::{Map, Value};
use values::id::{ProjectId, UserId};
use values::kind::ProjectStatus;

use super::CreateProject;
use super::edit::CreateProjectRequest;
use super::view::{self, ProjectView};
use errors::Error;
use library::context::CoreContext;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_owned;
use library::projects;

/// Returns the projects of a user, most recently active first: those of a status, or all.
pub async fn list_projects(
    core: &CoreContext,
    user: UserId,
    status: Option<ProjectStatus>,
) -> Result<Vec<ProjectView>, Error> {
    let mut own = Entity::owned_by(user);
    if let Some(status) = status {
        own = own.filter(Column::Status.eq(status));
    }
    let rows = own.order_by_desc(Column::UpdatedAt).order_by_desc(Column::Id).all(core.db.read()).await?;
    view::load_views(core.db.read(), user, rows).await
}

/// Creates a project from the fields of `POST /projects`.
///
/// # Errors
/// [`Error::Invalid`] names every wrong field; [`Error::LibraryFull`] when the library has no room; [`Error::Internal`] when the
/// database fails.
pub async fn create_project(
    core: &CoreContext,
    user: UserId,
    members: Map<String, Value>,
) -> Result<ProjectView, Error> {
    let new = CreateProject::new(validation::read_object::<CreateProjectRequest>(members)?);
    let row = new.into_row(user, core.clock.now());
    let txn = begin_owned(&core.db, user).await?;
    let room = LibraryRoom::of_owner(&txn, core, user).await?;
    Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    room.must_hold(&txn).await?;
    let view = load_view(&txn, row).await?;
    txn.commit().await?;
    Ok(view)
}

/// Archives a project, so that nothing in it changes until it is active again. An archived project stays unchanged.
///
/// # Errors
/// [`Error::NotFound`] when the project does not exist or belongs to another user; the database fails.
pub async fn archive_project(core: &CoreContext, user: UserId, id: ProjectId) -> Result<ProjectView, Error> {
    let txn = begin_owned(&core.db, user).await?;
    let mut row = projects::lock(&txn, user, id).await?;
    if row.status == ProjectStatus::Active {
        row.status = ProjectStatus::Archived;
        row.updated_at = core.clock.now();
        Entity::update_owned_row(&txn, user, row.clone().into_active_model().reset_all()).await?;
    }
    let view = load_view(&txn, row).await?;
    txn.commit().await?;
    Ok(view)
}

async fn load_view(db: &impl ConnectionTrait, row: project::Model) -> Result<ProjectView, Error> {
    view::load_views(db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())
}
