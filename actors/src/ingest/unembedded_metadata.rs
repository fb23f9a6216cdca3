//! Documents without a text whose metadata passages have no vectors of a model, as after a start with another model.

use database::Db;
use entity::document;
use errors::Error;
use library::documents::mark_unindexed;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, QuerySelect, Select};
use values::groups::group_by_user;
use values::id::{DocumentId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::time::Timestamp;

/// Documents that a newly loaded model embeds at most. Those beyond it follow by [`mark_again`].
const MAX_MARKED_DOCUMENTS: u64 = 50_000;
/// Documents that are marked again at a time: while the model cannot be used, each of them is written without vectors again.
const MAX_RETRIED_DOCUMENTS: u64 = 1_000;
/// Documents that one transaction marks.
const BATCH_DOCUMENTS: usize = 500;

/// Has the metadata of documents indexed again whose metadata passages have no vectors of this model. Returns the number of documents.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn mark(db: &Db, model: &str, now: Timestamp) -> Result<u64, Error> {
    mark_found(db, without_vectors(model).limit(MAX_MARKED_DOCUMENTS), now).await
}

/// Has the metadata of some of these documents indexed again that were indexed without vectors meanwhile, because the model could not be used.
/// Returns the number of documents.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn mark_again(db: &Db, model: &str, now: Timestamp) -> Result<u64, Error> {
    mark_found(db, select_indexed(model), now).await
}

/// Counts the documents whose metadata passages have no vectors of this model.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub(super) async fn count(db: &impl ConnectionTrait, model: &str) -> Result<u64, DbErr> {
    let count = without_vectors(model)
        .select_only()
        .column_as(document::Column::Id.count(), "documents")
        .into_tuple::<i64>();
    Ok(count.one(db).await?.map_or(0, |count| u64::try_from(count).unwrap_or(0)))
}

async fn mark_found(db: &Db, found: Select<document::Entity>, now: Timestamp) -> Result<u64, Error> {
    let found = found.select_only().columns([document::Column::UserId, document::Column::Id]);
    let found: Vec<(UserId, DocumentId)> = found.into_tuple().all(db.read()).await?;
    let count = found.len() as u64;
    for (user, documents) in group_by_user(found) {
        // In short transactions: one for all would keep the user's requests waiting for it.
        for part in documents.chunks(BATCH_DOCUMENTS) {
            let txn = begin_owned(db, user).await?;
            mark_unindexed(&txn, user, part, now).await?;
            txn.commit().await?;
        }
    }
    Ok(count)
}

/// Selects the documents without a text whose metadata passages have no vectors of this model.
pub(super) fn without_vectors(model: &str) -> Select<document::Entity> {
    use document::Column;
    let has_none_of_model =
        Condition::any().add(Column::EmbeddingModel.is_null()).add(Column::EmbeddingModel.ne(model));
    document::Entity::visible_of_every_user()
        // Spelled as in the partial index, so that the database uses it.
        .filter(Expr::cust("(document.status = 'failed' OR document.error IS NOT NULL)"))
        .filter(Column::Status.eq(DocumentStatus::Failed))
        .filter(Column::Version.eq(0))
        // Notes have no metadata passages.
        .filter(Column::ContentType.ne(ContentType::Note))
        .filter(has_none_of_model)
}

/// Selects some documents without vectors whose metadata does not wait to be indexed.
fn select_indexed(model: &str) -> Select<document::Entity> {
    without_vectors(model).filter(document::Column::UnindexedSince.is_null()).limit(MAX_RETRIED_DOCUMENTS)
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, EntityTrait, IntoActiveModel, QueryTrait};
    use values::id::BookmarkId;

    use super::*;
    use crate::retrieval::test_library::{NOON, add_user, open_database};

    /// Returns a bookmarked page that could not be fetched, whose metadata is indexed, with vectors of this model.
    fn dead_link(owner: UserId, model: Option<&str>) -> document::Model {
        let row = document::Model::pending(owner, ContentType::Article, "Herons".to_owned(), NOON);
        document::Model {
            bookmark_id: Some(BookmarkId::new(NOON)),
            status: DocumentStatus::Failed,
            embedding_model: model.map(str::to_owned),
            unindexed_since: None,
            ..row
        }
    }

    #[tokio::test]
    async fn documents_without_vectors_of_the_model_are_marked() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        let (none, former, latest) =
            (dead_link(owner, None), dead_link(owner, Some("a")), dead_link(owner, Some("b")));
        let with_text = document::Model { version: 1, ..dead_link(owner, None) };
        let note = document::Model { content_type: ContentType::Note, ..dead_link(owner, None) };
        let expected = [none.id, former.id];
        for row in [none, former, latest, with_text, note] {
            document::Entity::insert(row.into_active_model())
                .exec_without_returning(db.write())
                .await
                .unwrap();
        }

        assert_eq!(count(db.read(), "b").await.unwrap(), 2);

        assert_eq!(mark(&db, "b", NOON).await.unwrap(), 2);

        let rows = document::Entity::visible_to(owner).all(db.read()).await.unwrap();
        let marked = rows.iter().filter(|row| row.unindexed_since.is_some()).map(|row| row.id);
        let mut marked: Vec<DocumentId> = marked.collect();
        marked.sort_by_key(|id| expected.iter().position(|other| other == id));
        assert_eq!(marked, expected);
        assert_eq!(count(db.read(), "b").await.unwrap(), 2);
        // They wait to be indexed, so they are not marked again.
        assert_eq!(mark_again(&db, "b", NOON).await.unwrap(), 0);
        assert_eq!(mark_again(&db, "a", NOON).await.unwrap(), 1, "the one with vectors of the other model");
    }

    #[tokio::test]
    async fn documents_without_vectors_are_found_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;

        for query in [without_vectors("b"), select_indexed("b")] {
            let plan = QueryPlan::of(&db, query.build(DbBackend::Sqlite)).await.unwrap();

            assert!(plan.has_step("document_failed"), "{plan:#?}");
        }
    }
}
