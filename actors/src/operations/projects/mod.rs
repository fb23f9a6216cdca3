//! Projects: what a person works on, with instructions, decisions, notes and sources (spec.md: Project; contract.md,
//! sections 5, 9 and 11).
//!
//! Whoever writes to a project holds its row until the transaction ends ([`open_for_writing`]): two that add at the same
//! time count one after the other, and nothing is written to a project that is being archived.

mod add_items;
mod context;
mod decisions;
mod edit;
mod items;
mod list;
mod notes;
mod operator;
mod thing;
mod view;

use entity::id::{ProjectId, UserId};
use entity::kind::ProjectStatus;
use entity::project;
use entity::time::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};

use errors::Error;

pub use add_items::{AddItems, Added, put};
pub use context::{
    CONTEXT_MAX_CHARS, ContextDecision, ContextNote, ContextProject, ContextSource, ReadContext,
    ReadContextResponse,
};
pub use decisions::{ChangeDecision, CreateDecision, DeleteDecision, ListDecisions};
pub use edit::{ChangeProject, CreateProject, DeleteProject, ShowProject, delete_empty};
pub use items::{ChangeItem, ListItems, RemoveItem};
pub use list::{LIST_LIMIT, LIST_STATUS, ListProjects, ListProjectsResponse};
pub use notes::{AddNote, ListNotes, WriteNote};
pub use operator::{archive_project, create_project, list_projects};
pub use thing::{Chosen, Named, Wanted, find};
pub use view::ProjectView;

/// Items in a list of the web app where no `limit` is given.
const DEFAULT_LIMIT: u64 = 50;

/// What the fields of projects may hold (contract.md, section 11).
mod kinds {
    use validation::{Field, Kind};

    /// A name or a title.
    pub const TITLE: Kind = Kind::Words { min: 1, max: 300 };
    /// A description, or the text of a decision.
    pub const TEXT: Kind = Kind::Text { max: 100_000 };
    /// What an assistant is to keep to.
    pub const INSTRUCTIONS: Kind = Kind::Text { max: 20_000 };
    /// How long a page of a list in the web app may be.
    pub const LIMIT: Field = Field::optional(
        "limit",
        Kind::Integer { min: 1, max: 100 },
        "Maximum number of results. Default 50.",
    );
}

/// The project, whose row nobody else changes until the transaction ends.
///
/// # Errors
/// [`Error::NotFound`] where it is not the user's.
pub async fn locked(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: ProjectId,
) -> Result<project::Model, Error> {
    project::Entity::one_of(user, id).lock_exclusive().one(txn).await?.ok_or(Error::not_found())
}

/// As [`locked`], if it may be written to.
///
/// # Errors
/// [`Error::NotFound`], and [`Error::ProjectArchived`].
pub async fn open_for_writing(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: ProjectId,
) -> Result<project::Model, Error> {
    must_be_open(locked(txn, user, id).await?)
}

/// The project, if it may be written to.
///
/// # Errors
/// [`Error::ProjectArchived`].
pub fn must_be_open(project: project::Model) -> Result<project::Model, Error> {
    match project.status {
        ProjectStatus::Active => Ok(project),
        ProjectStatus::Archived => Err(Error::ProjectArchived),
    }
}

/// The project, for reading.
async fn readable(db: &impl ConnectionTrait, user: UserId, id: ProjectId) -> Result<project::Model, Error> {
    project::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())
}

/// Says that something in the project changed now, which makes it the most recently active.
pub async fn touch(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    now: Timestamp,
) -> Result<(), Error> {
    project::Entity::update_many()
        .col_expr(project::Column::UpdatedAt, Expr::value(now))
        .filter(project::Column::UserId.eq(project.user_id))
        .filter(project::Column::Id.eq(project.id))
        .exec(txn)
        .await?;
    Ok(())
}
