//! The view of bookmarks, loaded for many at once.

mod response;
mod row;

use database::padded;
use std::collections::HashMap;

use entity::{bookmark, document};
use errors::Error;
use library::context::CoreContext;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{BookmarkId, CollectionId, UserId};

use row::{ViewRow, select_rows};

pub use response::{BookmarkResponse, BookmarkView};

/// Returns the view of one bookmark, as the database has it now.
///
/// # Errors
/// [`Error::NotFound`] when it is gone; the database fails.
pub async fn load_view(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    row: bookmark::Model,
) -> Result<BookmarkView, Error> {
    load_views(core, db, row.user_id, &[row.id]).await?.pop().ok_or(Error::not_found())
}

/// Returns the view of a bookmark with this id.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist, is deleted, or belongs to another user; the database fails.
pub(super) async fn load_visible_view(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
) -> Result<BookmarkView, Error> {
    let visible = bookmark::Entity::one_visible_to(user, id);
    let row = select_rows(visible, db.get_database_backend()).all(db).await?.pop();
    row.ok_or(Error::not_found())?.into_view(core)
}

/// Returns the views of bookmarks of one user, in the order of the ids, with one statement. Leaves out those that are gone.
pub async fn load_views(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<Vec<BookmarkView>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let of_ids = bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.is_in(padded(ids)));
    let rows = select_rows(of_ids, db.get_database_backend()).all(db).await?;
    let mut rows: HashMap<BookmarkId, ViewRow> = rows.into_iter().map(|row| (row.id, row)).collect();
    ids.iter().filter_map(|id| rows.remove(id)).map(|row| row.into_view(core)).collect()
}

/// Returns the view of a bookmark that was saved just now, with at most one collection and without notes, from its rows as they were
/// inserted.
pub fn view_of_new(
    core: &CoreContext,
    row: bookmark::Model,
    document: document::Model,
    tags: Vec<String>,
    collection_ids: Vec<CollectionId>,
) -> BookmarkView {
    ViewRow::of_new(row, document).into_view_with(core, tags, collection_ids)
}
