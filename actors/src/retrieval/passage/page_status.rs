//! The status of the page on which a note was written. The note has its own text, so its status does not tell whether the page could be read.

use std::collections::HashMap;

use database::{Db, padded};
use entity::document;
use errors::Error;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, Select};
use values::id::{BookmarkId, UserId};
use values::kind::{ContentType, DocumentStatus};

use super::SearchResult;

/// Gives each result that is a note on a bookmark the state of the bookmark's document, if that is not ready.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn show(db: &Db, user: UserId, results: &mut [SearchResult]) -> Result<(), Error> {
    let mut bookmarks: Vec<BookmarkId> = results.iter().filter_map(annotated_bookmark).collect();
    if bookmarks.is_empty() {
        return Ok(());
    }
    bookmarks.sort_unstable();
    bookmarks.dedup();
    let rows = select_unread(user, &bookmarks).into_tuple::<(BookmarkId, DocumentStatus)>();
    let states: HashMap<BookmarkId, DocumentStatus> = rows.all(db.read()).await?.into_iter().collect();
    for result in results {
        if let Some(status) = annotated_bookmark(result).and_then(|bookmark| states.get(&bookmark)) {
            result.status = *status;
        }
    }
    Ok(())
}

/// Returns the bookmark on which the note was written, if the result is one.
fn annotated_bookmark(result: &SearchResult) -> Option<BookmarkId> {
    result.bookmark_id.filter(|_| result.content_type == ContentType::Note)
}

/// Selects the states of the documents of these bookmarks that are not ready, without the notes on them.
fn select_unread(user: UserId, bookmarks: &[BookmarkId]) -> Select<document::Entity> {
    document::Entity::visible_to(user)
        .filter(document::Column::BookmarkId.is_in(padded(bookmarks)))
        .filter(document::Column::ContentType.ne(ContentType::Note))
        .filter(document::Column::Status.ne(DocumentStatus::Ready))
        .select_only()
        .column(document::Column::BookmarkId)
        .column(document::Column::Status)
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, QueryTrait};
    use uuid::Uuid;

    use super::*;
    use crate::retrieval::test_library::open_database;

    #[tokio::test]
    async fn states_of_pages_are_found_by_their_bookmarks() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let bookmarks: Vec<BookmarkId> = (0..20).map(|id| BookmarkId(Uuid::from_u128(id))).collect();

        let statement = select_unread(UserId(Uuid::nil()), &bookmarks).build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&db, statement).await.unwrap();

        assert!(plan.has_step("document_bookmark (bookmark_id=?"), "{plan:#?}");
    }
}
