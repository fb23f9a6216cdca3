//! Tests of reading unindexed documents.

use database::QueryPlan;
use library::bookmarks::BookmarkConditions;
use sea_orm::{DbBackend, EntityTrait, IntoActiveModel, QueryTrait, Statement};
use search::index::{DocumentSet, Filter};
use search::query_syntax::ParsedQuery;
use uuid::Uuid;
use values::id::BookmarkId;
use values::kind::ContentType;

use super::*;
use crate::retrieval::test_library::{NOON, add_user, open_database};

async fn add_document(db: &Db, row: document::Model) -> DocumentId {
    let id = row.id;
    document::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
    id
}

/// A document of a bookmark without a text, which is unindexed since noon.
fn waiting(owner: UserId) -> document::Model {
    let row = document::Model::pending(owner, ContentType::Article, "Herons".to_owned(), NOON);
    document::Model { bookmark_id: Some(BookmarkId::new(NOON)), ..row }
}

/// A search of a part of the library.
fn search(bookmarks: BookmarkConditions, within: Filter) -> SearchQuery {
    SearchQuery { query: ParsedQuery::of("heron"), within, bookmarks, limit: 10 }
}

async fn read(reader: &UnindexedReader, owner: UserId) -> UnindexedDocuments {
    reader.read(owner, &search(BookmarkConditions::default(), Filter::default())).await.unwrap()
}

fn has(found: &UnindexedDocuments, id: DocumentId) -> bool {
    found.document_of(id.0) == Some(id.0)
}

#[tokio::test]
async fn own_visible_unindexed_documents_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_database(&folder).await;
    let (owner, other) = (add_user(&db).await, add_user(&db).await);
    let saved = add_document(&db, waiting(owner)).await;
    let foreign = add_document(&db, waiting(other)).await;
    let hidden = document::Model { hidden_at: Some(NOON), ..waiting(owner) };
    let hidden = add_document(&db, hidden).await;
    let indexed = document::Model { unindexed_since: None, ..waiting(owner) };
    let indexed = add_document(&db, indexed).await;
    let reader = UnindexedReader::new(db, Workers::new(1));

    // The second time what was analysed is kept.
    for _ in 0..2 {
        let found = read(&reader, owner).await;

        assert!(has(&found, saved));
        assert!(!has(&found, foreign) && !has(&found, hidden) && !has(&found, indexed));
    }
    let tagged = BookmarkConditions { tag: Some("grey".to_owned()), ..BookmarkConditions::default() };
    assert!(reader.read(owner, &search(tagged, Filter::default())).await.unwrap().is_empty());
}

#[tokio::test]
async fn passages_that_the_index_lacks_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_database(&folder).await;
    let owner = add_user(&db).await;
    let row = document::Model { version: 2, indexed_version: 1, total_chars: 7, ..waiting(owner) };
    let document = add_document(&db, row).await;
    let passage = |version| chunk::Model {
        id: ChunkId::new(NOON),
        document_id: document,
        user_id: owner,
        version,
        ordinal: 0,
        start_offset: 0,
        end_offset: 7,
        page: None,
        start_seconds: None,
        end_seconds: None,
        text: "A heron".to_owned(),
    };
    let (former, present) = (passage(1), passage(2));
    for row in [&former, &present] {
        let insert = chunk::Entity::insert(row.clone().into_active_model());
        insert.exec_without_returning(db.write()).await.unwrap();
    }

    let found = read(&UnindexedReader::new(db, Workers::new(1)), owner).await;

    assert_eq!(found.document_of(present.id.0), Some(document.0));
    assert_eq!(found.document_of(former.id.0), None);
    assert!(has(&found, document) && found.is_former(former.id.0, document.0));
    assert!(!found.lack_texts());
}

#[tokio::test]
async fn filters_are_tested_before_the_newest_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_database(&folder).await;
    let owner = add_user(&db).await;
    let pdf = document::Model { content_type: ContentType::Pdf, ..waiting(owner) };
    let pdf = add_document(&db, pdf).await;
    let later = Some(NOON + Duration::from_secs(1));
    for _ in 0..=MAX_DOCUMENTS {
        add_document(&db, document::Model { unindexed_since: later, ..waiting(owner) }).await;
    }
    let of_type = Filter { content_type: Some(ContentType::Pdf), ..Filter::default() };
    let named = Filter { documents: DocumentSet::Only(vec![pdf.0]), ..Filter::default() };
    let reader = UnindexedReader::new(db, Workers::new(1));

    let newest = read(&reader, owner).await;
    assert!(!has(&newest, pdf) && newest.lack_texts());
    for within in [of_type.clone(), named] {
        let found = reader.read(owner, &search(BookmarkConditions::default(), within)).await.unwrap();
        assert!(has(&found, pdf) && !found.lack_texts());
    }
    let without_it = Filter { documents: DocumentSet::Except(vec![pdf.0]), ..of_type };
    let found = reader.read(owner, &search(BookmarkConditions::default(), without_it)).await.unwrap();
    assert!(found.is_empty());
}

#[tokio::test]
async fn text_that_is_too_long_to_be_read_is_lacked_while_it_waits() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_database(&folder).await;
    let (owner, other) = (add_user(&db).await, add_user(&db).await);
    let text = |owner| document::Model { version: 1, total_chars: 10_000_000, ..waiting(owner) };
    for _ in 0..5 {
        add_document(&db, text(owner)).await;
    }
    for _ in 0..5 {
        let given_up = document::Model { error: Some("it was given up".to_owned()), ..text(other) };
        add_document(&db, given_up).await;
    }
    let reader = UnindexedReader::new(db, Workers::new(1));

    assert!(read(&reader, owner).await.lack_texts());
    assert!(!read(&reader, other).await.lack_texts());
}

#[test]
fn texts_are_read_within_the_budget() {
    let text = |total_chars| document::Model { total_chars, ..waiting(UserId(Uuid::nil())) };
    let mut budget = TextBudget::remaining_after(&[]);

    let taken = (0..5).filter(|_| budget.reserve(&text(10_000_000))).count();

    assert_eq!(taken, 4, "no document takes more than a quarter");
    assert!(!budget.reserve(&text(1)));
}

#[tokio::test]
async fn direct_read_agrees_with_the_query_of_the_entity() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_database(&folder).await;
    let (owner, other) = (add_user(&db).await, add_user(&db).await);
    for second in [3, 1, 2, 2] {
        let since = Some(NOON + Duration::from_secs(second));
        add_document(&db, document::Model { unindexed_since: since, ..waiting(owner) }).await;
    }
    add_document(&db, document::Model { hidden_at: Some(NOON), ..waiting(owner) }).await;
    add_document(&db, document::Model { unindexed_since: None, ..waiting(owner) }).await;
    add_document(&db, waiting(other)).await;

    let read = read_newest(&db, owner, 200).await.unwrap();

    let newest = document::Entity::newest_unindexed_of(owner).limit(200);
    let newest = newest.select_only().columns([document::Column::Id, document::Column::UnindexedSince]);
    let newest: Vec<(DocumentId, Timestamp)> = newest.into_tuple().all(db.read()).await.unwrap();
    assert_eq!((read.len(), read), (4, newest));
}

#[tokio::test]
async fn unindexed_documents_are_found_by_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_database(&folder).await;
    let user = UserId::new(NOON);
    let ids: Vec<DocumentId> = (0..200).map(|id| DocumentId(Uuid::from_u128(id))).collect();

    let newest = Statement::from_sql_and_values(
        DbBackend::Sqlite,
        NEWEST.sql(DbBackend::Sqlite),
        [user.into(), 200_i64.into()],
    );
    let newest = QueryPlan::of(&db, newest).await.unwrap();
    let passages = select_passages(user, &ids).build(DbBackend::Sqlite);
    let passages = QueryPlan::of(&db, passages).await.unwrap();

    assert!(newest.has_step("document_unindexed (user_id=?") && !newest.sorts(), "{newest:#?}");
    assert!(passages.has_step("document_user (user_id=? AND id=?)"), "{passages:#?}");
    assert!(passages.has_step("chunk_ordinal (document_id=? AND version=? AND ordinal<?)"), "{passages:#?}");
}
