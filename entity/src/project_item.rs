//! A thing's place in a project. What is out of sight, such as the text of a deleted bookmark, keeps its place unseen.

use crate::id::{DocumentId, HighlightId, ProjectId, ProjectItemId, UserId};
use crate::kind::{ItemKind, ItemRole};
use crate::time::Timestamp;
use crate::{document, project};
use sea_orm::entity::prelude::*;
use sea_orm::{Condition, JoinType, QuerySelect, RelationDef};

/// A thing's place in a project. What is out of sight, such as the text of a deleted bookmark, keeps its place unseen.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "project_item")]
pub struct Model {
    /// The item.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ProjectItemId,
    /// Whose it is.
    pub user_id: UserId,
    /// The project.
    pub project_id: ProjectId,
    /// By what it was named.
    pub kind: ItemKind,
    /// What makes it one thing, whatever names it: the highlight, or else the document. Unique within the project.
    pub thing: Uuid,
    /// The document with its text; of a highlight the one that it stands in.
    pub document_id: DocumentId,
    /// The highlight.
    pub highlight_id: Option<HighlightId>,
    /// What it is to the project.
    pub role: ItemRole,
    /// Shown first, and given way last.
    pub pinned: bool,
    /// When it was added.
    pub added_at: Timestamp,
}

crate::owned::owned_changes!();

impl Entity {
    /// The items of one user's projects that are in sight. A deleted bookmark is not, with all that was marked in it; where
    /// its text stays as that of a feed entry, only an item that names the entry does.
    pub fn owned_by(user: UserId) -> Select<Entity> {
        let of: RelationDef =
            Self::belongs_to(document::Entity).from(Column::DocumentId).to(document::Column::Id).into();
        let named = Condition::any()
            .add(Column::Kind.is_in([ItemKind::Note, ItemKind::Entry]))
            .add(document::Column::BookmarkId.is_not_null());
        Self::find()
            .filter(Column::UserId.eq(user))
            .join(JoinType::InnerJoin, of)
            .filter(document::Column::HiddenAt.is_null())
            .filter(named)
    }

    /// Those of one project.
    pub fn within(project: &project::Model) -> Select<Entity> {
        Self::owned_by(project.user_id).filter(Column::ProjectId.eq(project.id))
    }
}
