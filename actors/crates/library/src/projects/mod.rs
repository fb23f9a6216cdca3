//! Projects and their items.
//!
//! A transaction that writes to a project locks the project's row first ([`lock_active`]) and holds it until it ends: two that add
//! items count one after the other, and nothing is written to a project that is being archived.

mod delete;
mod documents;
mod item_ref;
mod items;

use entity::project;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{ProjectId, UserId};
use values::kind::ProjectStatus;
use values::time::Timestamp;

use errors::Error;

pub use delete::{delete, delete_if_empty};
pub use documents::documents_of;
pub use item_ref::{ItemRef, NewItem, ResolvedItem, resolve_item};
pub use items::{AddedItems, add_items};

/// Returns a project for reading.
///
/// # Errors
/// [`Error::NotFound`] when the project does not exist or belongs to another user.
pub async fn find(db: &impl ConnectionTrait, user: UserId, id: ProjectId) -> Result<project::Model, Error> {
    project::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())
}

/// Locks a project's row until the transaction ends, whatever the project's status.
///
/// # Errors
/// [`Error::NotFound`] when the project does not exist or belongs to another user.
pub async fn lock(txn: &impl ConnectionTrait, user: UserId, id: ProjectId) -> Result<project::Model, Error> {
    // FOR UPDATE, which also waits for imports that add a note under FOR KEY SHARE.
    project::Entity::one_of(user, id).lock_exclusive().one(txn).await?.ok_or(Error::not_found())
}

/// Locks a project that may be changed, as [`lock`] does.
///
/// # Errors
/// The same as [`lock`], and [`Error::ProjectArchived`] when the project is archived.
pub async fn lock_active(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: ProjectId,
) -> Result<project::Model, Error> {
    require_active(lock(txn, user, id).await?)
}

/// Requires that a project may be changed. The transaction must have locked it, or it may be archived at any time.
///
/// # Errors
/// [`Error::ProjectArchived`] when the project is archived.
pub fn require_active(project: project::Model) -> Result<project::Model, Error> {
    match project.status {
        ProjectStatus::Active => Ok(project),
        ProjectStatus::Archived => Err(Error::ProjectArchived),
    }
}

/// Records that something in the project changed now, which makes it the most recently active one.
pub async fn touch(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    now: Timestamp,
) -> Result<(), Error> {
    project::Entity::update_owned(project.user_id)
        .col_expr(project::Column::UpdatedAt, Expr::value(now))
        .filter(project::Column::Id.eq(project.id))
        .exec(txn)
        .await?;
    Ok(())
}
