//! Documents without a text whose metadata passages have no vectors of a model, as after a start with another model.

use database::Db;
use entity::document;
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, QuerySelect, Select};
use values::id::{DocumentId, UserId};
use values::kind::ContentType;

/// Documents that are found at a time.
const MAX_FOUND_DOCUMENTS: u64 = 1_000;

/// Finds some of the documents whose metadata the index has with vectors neither of this model nor of the `next` one, each with its owner.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn find_indexed(
    db: &Db,
    model: &str,
    next: Option<&str>,
) -> Result<Vec<(UserId, DocumentId)>, Error> {
    let mut found = Vec::new();
    for indexed in select_indexed(model, next) {
        let indexed = indexed.select_only().columns([document::Column::UserId, document::Column::Id]);
        found.extend(indexed.into_tuple::<(UserId, DocumentId)>().all(db.read()).await?);
    }
    Ok(found)
}

/// Counts the documents whose metadata passages have no vectors of this model.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub(super) async fn count(db: &impl ConnectionTrait, model: &str) -> Result<u64, DbErr> {
    let mut documents = 0;
    for without in without_vectors(model) {
        let count =
            without.select_only().column_as(document::Column::Id.count(), "documents").into_tuple::<i64>();
        documents += count.one(db).await?.map_or(0, |count| u64::try_from(count).unwrap_or(0));
    }
    Ok(documents)
}

/// Selects the documents without a text whose metadata passages have no vectors of this model: those whose texts could not be fetched. There is
/// a query for each range of the index of the models, because one for all of them would read every such document.
pub(super) fn without_vectors(model: &str) -> [Select<document::Entity>; 3] {
    let column = document::Column::EmbeddingModel;
    [column.is_null(), column.lt(model), column.gt(model)].map(|of_other_model| {
        document::Entity::visible_of_every_user()
            // Spelled as in the partial index, so that the database uses it.
            .filter(Expr::cust("document.version = 0 AND document.status = 'failed'"))
            .filter(of_other_model)
            // Notes have no metadata passages.
            .filter(document::Column::ContentType.ne(ContentType::Note))
    })
}

/// Selects some documents without vectors whose metadata does not wait to be indexed.
fn select_indexed(model: &str, next: Option<&str>) -> [Select<document::Entity>; 3] {
    let is_of_another = next.map(|next| {
        let column = document::Column::EmbeddingModel;
        Condition::any().add(column.is_null()).add(column.ne(next))
    });
    without_vectors(model).map(|without| {
        let indexed = without.filter(document::Column::UnindexedSince.is_null());
        indexed.filter(Condition::all().add_option(is_of_another.clone())).limit(MAX_FOUND_DOCUMENTS)
    })
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, EntityTrait, IntoActiveModel, QueryTrait};
    use values::id::BookmarkId;
    use values::kind::DocumentStatus;

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
    async fn indexed_documents_without_vectors_of_the_model_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        let (none, former, latest) =
            (dead_link(owner, None), dead_link(owner, Some("a")), dead_link(owner, Some("b")));
        let waiting = document::Model { unindexed_since: Some(NOON), ..dead_link(owner, None) };
        let with_text = document::Model { version: 1, ..dead_link(owner, None) };
        let note = document::Model { content_type: ContentType::Note, ..dead_link(owner, None) };
        let expected = [(owner, none.id), (owner, former.id)];
        for row in [none, former, latest, waiting, with_text, note] {
            document::Entity::insert(row.into_active_model())
                .exec_without_returning(db.write())
                .await
                .unwrap();
        }

        let found = find_indexed(&db, "b", None).await.unwrap();

        assert_eq!(found, expected);
        let without_next = find_indexed(&db, "a", Some("b")).await.unwrap();
        assert_eq!(without_next, expected[..1], "what has vectors of the next model has those before it");
        assert_eq!(count(db.read(), "b").await.unwrap(), 3, "with the one that waits to be indexed");
    }

    #[tokio::test]
    async fn documents_without_vectors_are_found_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;

        for query in without_vectors("b").into_iter().chain(select_indexed("b", Some("c"))) {
            let plan = QueryPlan::of(&db, query.build(DbBackend::Sqlite)).await.unwrap();

            assert!(plan.has_step("document_metadata_model (version=? AND embedding_model"), "{plan:#?}");
        }
    }
}
