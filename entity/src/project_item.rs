//! An item of a project. An item whose document is hidden, such as that of a deleted bookmark, is kept but not shown.

use sea_orm::entity::prelude::*;
use sea_orm::sea_query::Expr;
use values::id::{DocumentId, HighlightId, ProjectId, ProjectItemId, UserId};
use values::kind::{ItemKind, ItemRole};
use values::time::Timestamp;

use crate::project;

/// An item of a project. An item whose document is hidden, such as that of a deleted bookmark, is kept but not shown.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "project_item")]
pub struct Model {
    /// Id of the item; the object that it refers to has a separate id.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ProjectItemId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The project to which the item belongs.
    pub project_id: ProjectId,
    /// The kind of reference by which it was added.
    pub kind: ItemKind,
    /// Identity of the item, whatever its kind: the id of the highlight, or else of the document. Unique within the project.
    pub object_id: Uuid,
    /// The document with its text; for a highlight, the document that contains it.
    pub document_id: DocumentId,
    /// The highlight, if the item is one.
    pub highlight_id: Option<HighlightId>,
    /// Its role in the project.
    pub role: ItemRole,
    /// Whether it is listed first, and omitted last when the context of a project is too long.
    pub pinned: bool,
    /// Time at which it was added.
    pub added_at: Timestamp,
    /// Whether it is shown: its document is not hidden and, unless the item refers to a note or an entry, has a bookmark. Triggers set it
    /// (`migration::counters`), also in a new row.
    pub is_visible: bool,
}

crate::owned::owned_changes!();

impl Entity {
    /// Returns the visible items of a user's projects. A deleted bookmark and its highlights are not visible; if its text is kept as the
    /// text of a feed entry, only an item that refers to the entry is visible.
    pub fn visible_to(user: UserId) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user)).filter(Column::IsVisible.eq(true))
    }

    /// Returns the visible items of one project.
    pub fn within(project: &project::Model) -> Select<Entity> {
        Self::visible_to(project.user_id).filter(Column::ProjectId.eq(project.id))
    }

    /// Returns the visible items of one project that are not notes, by the index `project_item_source`.
    pub fn sources_within(project: &project::Model) -> Select<Entity> {
        Self::in_partial_index(project, "project_item.is_visible AND project_item.kind <> 'note'")
    }

    /// Returns the visible items of one project that are notes, by the index `project_item_note`.
    pub fn notes_within(project: &project::Model) -> Select<Entity> {
        Self::in_partial_index(project, "project_item.is_visible AND project_item.kind = 'note'")
    }

    /// Returns the items of a project that meet the condition of a partial index, spelled out as there.
    fn in_partial_index(project: &project::Model, condition: &'static str) -> Select<Entity> {
        Self::find()
            .filter(Column::UserId.eq(project.user_id))
            .filter(Column::ProjectId.eq(project.id))
            .filter(Expr::cust(condition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_in_sql_have_these_names() {
        assert_eq!([ItemKind::Note, ItemKind::Entry].map(ItemKind::name), ["note", "entry"]);
    }
}
