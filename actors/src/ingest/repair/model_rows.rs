//! What the rows of documents say of the embedding models: which documents have the vectors of a model, and which lack them.

use database::{Db, padded};
use entity::document;
use errors::Error;
use jobs::JobKind;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QuerySelect, Select};
use values::groups::group_by_user;
use values::id::{DocumentId, UserId};
use values::time::Timestamp;

use super::rows::{ENQUEUED_DOCUMENTS, enqueue_by_owner, given_up_jobs};
use crate::ingest::unembedded_metadata;

/// Selects the visible documents of all users that the index has and whose vectors are not of this model, except those whose job was given
/// up: it would fail again. There is a query for each range of the index of the models, because one for all of them would read every document.
fn outdated(model: &str) -> [Select<document::Entity>; 3] {
    let column = document::Column::EmbeddingModel;
    [column.is_null(), column.lt(model), column.gt(model)].map(|of_other_model| {
        document::Entity::visible_of_every_user()
            // As in the condition of the partial index, so that the database uses it. What is not indexed yet gets the vectors of both models
            // then, and what is lost when it is restored.
            .filter(Expr::cust("version > 0"))
            .filter(of_other_model)
            .filter(Expr::cust("indexed_version = version"))
            .filter(document::Column::IndexLostAt.is_null())
            .filter(Expr::not_exists(given_up_jobs()))
    })
}

/// Counts the documents of all users that the index has without vectors of this model, also those without a text that get some.
pub async fn count_outdated(db: &impl ConnectionTrait, model: &str) -> Result<u64, DbErr> {
    let mut documents = unembedded_metadata::count(db, model).await?;
    for outdated in outdated(model) {
        let count =
            outdated.select_only().column_as(document::Column::Id.count(), "documents").into_tuple::<i64>();
        documents += count.one(db).await?.map_or(0, |count| u64::try_from(count).unwrap_or(0));
    }
    Ok(documents)
}

/// Returns whether the index has a document without vectors of this model, as [`count_outdated`] counts them.
pub async fn has_outdated(db: &impl ConnectionTrait, model: &str) -> Result<bool, DbErr> {
    for outdated in outdated(model).into_iter().chain(unembedded_metadata::without_vectors(model)) {
        let first = outdated.select_only().column(document::Column::Id).into_tuple::<DocumentId>();
        if first.one(db).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Enqueues texts without vectors of this model that have no job, some hundreds at most. Returns their number.
pub async fn enqueue_outdated(db: &Db, model: &str, now: Timestamp) -> Result<u64, Error> {
    let mut enqueued = 0;
    for outdated in outdated(model) {
        let without_job = outdated
            .filter(jobs::has_no_pending_job_of([JobKind::Index.name()]))
            .select_only()
            .column(document::Column::UserId)
            .column(document::Column::Id)
            .limit(ENQUEUED_DOCUMENTS)
            .into_tuple::<(UserId, DocumentId)>();
        let without_job = without_job.all(db.read()).await?;
        enqueued += without_job.len() as u64;
        enqueue_by_owner(db, without_job, now).await?;
    }
    Ok(enqueued)
}

/// Selects the documents of all users that have vectors of this model, also those without a text, and hidden ones.
fn documents_of(model: &str) -> Select<document::Entity> {
    document::Entity::with_hidden_of_every_user()
        // Spelled as in the partial index, so that the database uses it.
        .filter(Expr::cust("(embedding_model IS NOT NULL OR version > 0)"))
        .filter(document::Column::EmbeddingModel.eq(model))
}

/// Records that no document has vectors of this model any more. Returns the number of documents that had some.
pub async fn clear_embedding_model(db: &Db, model: &str) -> Result<u64, Error> {
    let mut cleared = 0;
    loop {
        let of_model = documents_of(model)
            .select_only()
            .column(document::Column::UserId)
            .column(document::Column::Id)
            .limit(ENQUEUED_DOCUMENTS)
            .into_tuple::<(UserId, DocumentId)>();
        // From the writer, which has the changes of the last round.
        let of_model = of_model.all(db.write()).await?;
        if of_model.is_empty() {
            return Ok(cleared);
        }
        for (user, ids) in group_by_user(of_model) {
            let updated = document::Entity::update_owned(user)
                .col_expr(document::Column::EmbeddingModel, Expr::value(None::<String>))
                .filter(document::Column::Id.is_in(padded(&ids)))
                .filter(document::Column::EmbeddingModel.eq(model))
                .exec(db.write())
                .await?;
            cleared += updated.rows_affected;
        }
    }
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, EntityTrait, IntoActiveModel, QueryTrait};
    use values::kind::{ContentType, DocumentStatus};
    use values::plan::Plan;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    async fn open_database(folder: &tempfile::TempDir) -> Db {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Db::open(&url).await.unwrap()
    }

    /// Returns a document whose text is in the index with the vectors of this model.
    fn document(owner: UserId, model: Option<&str>) -> document::Model {
        document::Model {
            version: 1,
            indexed_version: 1,
            embedding_model: model.map(str::to_owned),
            ..document::Model::pending(owner, ContentType::Article, "Herons".to_owned(), NOON)
        }
    }

    async fn add(db: &Db, document: document::Model) {
        let insert = document::Entity::insert(document.into_active_model());
        insert.exec_without_returning(db.write()).await.unwrap();
    }

    async fn add_user(db: &Db) -> UserId {
        let owner = UserId::new(NOON);
        let row = entity::user::Model::new(
            owner,
            format!("{owner}@reader.example"),
            String::new(),
            Plan::Pro,
            NOON,
        );
        let insert = entity::user::Entity::insert(row.into_active_model());
        insert.exec_without_returning(db.write()).await.unwrap();
        owner
    }

    #[actix::test]
    async fn documents_without_vectors_of_a_model_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        for model in [Some("a"), Some("b"), Some("c"), None] {
            add(&db, document(owner, model)).await;
        }
        add(&db, document::Model { index_lost_at: Some(NOON), ..document(owner, Some("a")) }).await;
        let failed = document::Model { status: DocumentStatus::Failed, ..document(owner, Some("a")) };
        add(&db, document::Model { version: 0, indexed_version: 0, ..failed }).await;
        assert_eq!(count_outdated(db.read(), "b").await.unwrap(), 4);

        assert_eq!(clear_embedding_model(&db, "a").await.unwrap(), 3);

        assert_eq!(count_outdated(db.read(), "b").await.unwrap(), 4);
        assert_eq!(clear_embedding_model(&db, "a").await.unwrap(), 0);
    }

    #[actix::test]
    async fn document_without_vectors_of_a_model_is_outdated() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        for model in ["a", "b"] {
            assert!(!has_outdated(db.read(), model).await.unwrap());
        }
        add(&db, document(owner, Some("b"))).await;
        assert!(!has_outdated(db.read(), "b").await.unwrap());
        for model in ["a", "c"] {
            assert!(has_outdated(db.read(), model).await.unwrap());
        }

        let failed = document::Model { status: DocumentStatus::Failed, ..document(owner, None) };
        add(&db, document::Model { version: 0, indexed_version: 0, ..failed }).await;

        assert!(has_outdated(db.read(), "b").await.unwrap(), "a page without a text");
    }

    #[actix::test]
    async fn documents_without_vectors_are_enqueued_once() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        let failed = document::Model {
            version: 0,
            indexed_version: 0,
            status: DocumentStatus::Failed,
            unindexed_since: None,
            ..document(owner, None)
        };
        for row in [document(owner, None), document(owner, Some("b")), failed] {
            add(&db, row).await;
        }

        assert_eq!(enqueue_outdated(&db, "b", NOON).await.unwrap(), 1);

        assert_eq!(enqueue_outdated(&db, "b", NOON).await.unwrap(), 0, "they wait");
    }

    #[actix::test]
    async fn documents_of_other_models_are_found_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;

        for query in outdated("b").into_iter().chain([documents_of("b")]) {
            let plan = QueryPlan::of(&db, query.build(DbBackend::Sqlite)).await.unwrap();

            assert!(plan.has_step("document_embedding_model (embedding_model"), "{plan:#?}");
        }
    }
}
