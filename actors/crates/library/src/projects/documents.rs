//! The documents of a project.

use entity::{document, note, project, project_item};
use errors::Error;
use sea_orm::sea_query::UnionType;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, JoinType, QueryFilter, QuerySelect, QueryTrait,
    RelationDef,
};
use values::id::DocumentId;
use values::kind::ContentType;

use crate::context::CoreContext;

/// Returns the documents of a project: those of its items, of the notes on its bookmarks, and of the project's notes.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn documents_of(core: &CoreContext, project: &project::Model) -> Result<Vec<DocumentId>, Error> {
    use document::Column;
    let items = project_item::Entity::within(project)
        .select_only()
        .column(project_item::Column::DocumentId)
        .into_query();
    let of_items: RelationDef = project_item::Entity::belongs_to(document::Entity)
        .from(project_item::Column::DocumentId)
        .to(Column::Id)
        .into();
    let bookmarks = project_item::Entity::within(project)
        .join(JoinType::InnerJoin, of_items)
        .filter(Column::ContentType.ne(ContentType::Note))
        .filter(Column::BookmarkId.is_not_null())
        .select_only()
        .column(Column::BookmarkId)
        .into_query();
    let notes = note::Entity::owned_by(project.user_id)
        .filter(note::Column::BookmarkId.in_subquery(bookmarks))
        .select_only()
        .column(note::Column::DocumentId)
        .into_query();
    let visible = || document::Entity::visible_to(project.user_id).select_only().column(Column::Id);
    // A union of three selects, each of which an index serves: for one condition SQLite would read all documents of the user.
    let all = visible()
        .filter(Column::ProjectId.eq(project.id))
        .into_query()
        .union(UnionType::Distinct, visible().filter(Column::Id.in_subquery(items)).into_query())
        .union(UnionType::Distinct, visible().filter(Column::Id.in_subquery(notes)).into_query())
        .to_owned();
    let rows = core.db.read().query_all(&all).await?;
    let ids: Result<Vec<DocumentId>, DbErr> = rows.iter().map(|row| row.try_get_by_index(0)).collect();
    Ok(ids?)
}
