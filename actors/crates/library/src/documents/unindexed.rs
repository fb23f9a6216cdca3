//! Which documents the index lacks a change of.
//!
//! The transaction of every change that search is to find sets `document.unindexed_since`: of a title, a text, an excerpt, a content type,
//! a bookmark, its tags and its highlights. Search reads the newest of these documents from the database. The writer of the index
//! clears the column by compare-and-set once the index has the present state of a document. No change gives a document a time that it had
//! before, so a change in between is not lost.

use database::padded;
use entity::document;
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{BookmarkId, DocumentId, UserId};
use values::kind::ContentType;
use values::time::Timestamp;

use crate::BATCH_ROWS;

/// Returns the new value of `unindexed_since` in an update that changes documents now, as
/// [`next_unindexed_since`](document::Model::next_unindexed_since) does for a row.
pub fn unindexed_since(now: Timestamp) -> Expr {
    let last = document::Column::UnindexedSince;
    Expr::case(last.gte(now), last.into_expr().add(1_i64)).finally(Expr::value(now)).into()
}

/// Returns the new value of `unindexed_since` after the passages of a text and the metadata passage were written to the index, as of the
/// state with the time `written`: none if that is still the present state; else it stays as it is.
///
/// For the job of a text. While it runs, nothing else reads metadata to write it, so a column that is empty by now is right.
pub fn unindexed_after_text(written: Option<Timestamp>) -> Expr {
    let column = document::Column::UnindexedSince;
    match written {
        Some(written) => {
            let nothing = Expr::value(None::<Timestamp>);
            Expr::case(column.eq(written), nothing).finally(column.into_expr()).into()
        }
        None => column.into_expr(),
    }
}

/// Returns the new value of `unindexed_since` after the metadata passage alone was written to the index, as of the state with the time
/// `written`: none if that is still the present state, and the index has the text too. Without a text that it should have, because the job
/// was given up, the document stays unindexed: search reads the text from the database.
///
/// For the task that indexes metadata without a job. The job of a text may run meanwhile, so a column with another time, or none, means
/// that the write may have replaced a later state: the document is unindexed since a new time, so that it is indexed once more, and a job
/// that wrote the later state and has not ended yet does not clear the column.
pub fn unindexed_after_metadata(written: Timestamp, now: Timestamp) -> Expr {
    let column = document::Column::UnindexedSince;
    let (version, indexed) =
        (document::Column::Version.into_expr(), document::Column::IndexedVersion.into_expr());
    Expr::case(column.eq(written).and(version.lte(indexed)), Expr::value(None::<Timestamp>))
        .case(column.eq(written), column.into_expr())
        .finally(unindexed_since(now))
        .into()
}

/// Counts the visible documents of all users that the index lacks a change of, from the index `document_unindexed` of the table.
///
/// # Errors
/// The database fails.
pub async fn count_unindexed(db: &impl ConnectionTrait) -> Result<u64, Error> {
    let count = document::Entity::unindexed_of_every_user()
        .select_only()
        .column_as(document::Column::Id.count(), "documents")
        .into_tuple::<i64>();
    Ok(count.one(db).await?.map_or(0, |count| u64::try_from(count).unwrap_or(0)))
}

/// Records that the index lacks a change of these documents. The caller has changed them in this transaction.
///
/// # Errors
/// The database fails.
pub async fn mark_unindexed(
    txn: &impl ConnectionTrait,
    user: UserId,
    documents: &[DocumentId],
    now: Timestamp,
) -> Result<(), Error> {
    for batch in documents.chunks(BATCH_ROWS) {
        document::Entity::update_owned(user)
            .col_expr(document::Column::UnindexedSince, unindexed_since(now))
            .filter(document::Column::Id.is_in(padded(batch)))
            .exec(txn)
            .await?;
    }
    Ok(())
}

/// Records that the index lacks a change of these bookmarks, such as of their tags. Their notes do not contain it.
///
/// # Errors
/// The database fails.
pub async fn mark_bookmarks_unindexed(
    txn: &impl ConnectionTrait,
    user: UserId,
    bookmarks: &[BookmarkId],
    now: Timestamp,
) -> Result<(), Error> {
    for batch in bookmarks.chunks(BATCH_ROWS) {
        document::Entity::update_owned(user)
            .col_expr(document::Column::UnindexedSince, unindexed_since(now))
            .filter(document::Column::BookmarkId.is_in(padded(batch)))
            .filter(document::Column::ContentType.ne(ContentType::Note))
            .exec(txn)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use entity::user;
    use sea_orm::{DbBackend, EntityTrait, IntoActiveModel, QueryTrait};
    use values::plan::Plan;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    async fn open_database(folder: &tempfile::TempDir) -> Db {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Db::open(&url).await.unwrap()
    }

    async fn add_user(db: &Db) -> UserId {
        let id = UserId::new(NOON);
        let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
        user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        id
    }

    /// Adds the document of a bookmark, of which the index lacks nothing.
    async fn add_document(
        db: &Db,
        user: UserId,
        content_type: ContentType,
        bookmark: BookmarkId,
    ) -> DocumentId {
        let row = document::Model {
            bookmark_id: Some(bookmark),
            unindexed_since: None,
            ..document::Model::pending(user, content_type, "Herons".to_owned(), NOON)
        };
        let id = row.id;
        document::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        id
    }

    async fn read_mark(db: &Db, user: UserId, id: DocumentId) -> Option<Timestamp> {
        document::Entity::one_visible_to(user, id).one(db.read()).await.unwrap().unwrap().unindexed_since
    }

    #[tokio::test]
    async fn changes_in_one_millisecond_have_different_times() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let user = add_user(&db).await;
        let id = add_document(&db, user, ContentType::Article, BookmarkId::new(NOON)).await;

        mark_unindexed(db.write(), user, &[id], NOON).await.unwrap();
        let first = read_mark(&db, user, id).await;
        mark_unindexed(db.write(), user, &[id], NOON).await.unwrap();

        assert_eq!(first, Some(NOON));
        assert_eq!(read_mark(&db, user, id).await, Some(Timestamp::from_millis(NOON.millis() + 1)));
    }

    #[tokio::test]
    async fn changed_bookmark_marks_its_own_page_alone() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, other) = (add_user(&db).await, add_user(&db).await);
        let bookmark = BookmarkId::new(NOON);
        let page = add_document(&db, owner, ContentType::Article, bookmark).await;
        let note = add_document(&db, owner, ContentType::Note, bookmark).await;
        let foreign = add_document(&db, other, ContentType::Article, bookmark).await;

        mark_bookmarks_unindexed(db.write(), owner, &[bookmark], NOON).await.unwrap();

        assert_eq!(read_mark(&db, owner, page).await, Some(NOON));
        assert_eq!(read_mark(&db, owner, note).await, None);
        assert_eq!(read_mark(&db, other, foreign).await, None);
    }

    #[tokio::test]
    async fn newest_unindexed_documents_are_a_range_of_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let newest = document::Entity::newest_unindexed_of(UserId::new(NOON)).build(DbBackend::Sqlite);

        let plan = QueryPlan::of(&db, newest).await.unwrap();

        assert!(plan.has_step("document_unindexed (user_id=?") && !plan.has_step("TEMP B-TREE"), "{plan:#?}");
    }
}
