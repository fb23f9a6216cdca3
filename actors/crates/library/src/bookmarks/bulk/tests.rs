//! Pages that are saved together, compared with pages that are saved one by one.

use database::{Db, QueryPlan};
use entity::{chunk, collection, job, note, user};
use sea_orm::{EntityTrait, IntoActiveModel, QueryTrait};
use uuid::Uuid;
use values::id::CollectionId;
use values::kind::SourceFormat;
use values::plan::Plan;

use super::super::save_in_transaction;
use super::*;
use crate::documents::SuppliedContent;
use crate::library_quota::used_bytes;

const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

async fn opened(folder: &tempfile::TempDir) -> Db {
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    Db::open(&url).await.unwrap()
}

/// Adds a user with a collection.
async fn add_user(db: &Db) -> (UserId, CollectionId) {
    let id = UserId::new(NOON);
    let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
    user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
    let birds = collection::Model {
        id: CollectionId::new(NOON),
        user_id: id,
        name: "Birds".to_owned(),
        description: None,
        parent_id: None,
        created_at: NOON,
        updated_at: NOON,
    };
    let insert = collection::Entity::insert(birds.clone().into_active_model());
    insert.exec_without_returning(db.write()).await.unwrap();
    (id, birds.id)
}

fn page(name: &str) -> NewBookmark {
    NewBookmark { url: format!("https://example.org/{name}"), ..NewBookmark::default() }
}

fn pages(collection: CollectionId) -> Vec<NewBookmark> {
    let content =
        SuppliedContent { format: SourceFormat::Text, body: "A heron.".into(), html: None, outline: None };
    vec![
        NewBookmark {
            title: Some("Herons".to_owned()),
            tags: ["waders", "Waders"].map(str::to_owned).to_vec(),
            notes: Some("# Seen\n\nThe herons were standing at the pond in the morning.".to_owned()),
            collections: vec![collection],
            ..page("a")
        },
        NewBookmark {
            notes: Some("n".repeat(20_000)),
            favorite: true,
            progress: 0.5,
            ..page("b?utm_source=x")
        },
        NewBookmark {
            content: Some(PageContent::Supplied(content)),
            archived: true,
            saved_at: Some(NOON),
            ..page("c")
        },
        page("d"),
    ]
}

/// What the saves of a user's pages stored, without ids and times.
async fn stored(db: &Db, user: UserId) -> Vec<String> {
    let (bytes, db) = (used_bytes(db.read(), user).await.unwrap(), db.read());
    let saved = bookmark::Entity::visible_to(user).all(db).await.unwrap();
    let documents = document::Entity::with_hidden(user).all(db).await.unwrap();
    let url =
        |id: Option<BookmarkId>| saved.iter().find(|row| Some(row.id) == id).map(|row| row.url.as_str());
    let of_document =
        |id: Uuid| documents.iter().find(|row| row.id.0 == id).and_then(|row| url(row.bookmark_id));
    let mut rows = vec![format!("bytes {bytes}")];
    rows.extend(saved.iter().map(|row| {
        let marks = (row.kind, row.favorite, row.archived, row.progress, row.saved_at);
        format!("bookmark {} {} {marks:?} {:?}", row.url, row.normalized_url, of_document(row.document_id.0))
    }));
    rows.extend(documents.iter().map(|row| {
        let text = (row.version, row.total_chars, row.word_count, &row.language, row.status, row.updated_at);
        let named = (&row.url, &row.title, row.has_user_title, row.content_type);
        format!("document {:?} {named:?} {text:?}", url(row.bookmark_id))
    }));
    for row in note::Entity::owned_by(user).all(db).await.unwrap() {
        let of = (url(row.bookmark_id), of_document(row.document_id.0), row.updated_at);
        rows.push(format!("note {of:?} {} {}", row.title, row.body));
    }
    for row in chunk::Entity::owned_by(user).all(db).await.unwrap() {
        let place = (row.version, row.ordinal, row.start_offset, row.end_offset);
        rows.push(format!("chunk {:?} {place:?} {}", of_document(row.document_id.0), row.text));
    }
    for row in bookmark_tag::Entity::owned_by(user).all(db).await.unwrap() {
        rows.push(format!("tag {:?} {}", url(Some(row.bookmark_id)), row.name));
    }
    for row in collection_bookmark::Entity::owned_by(user).all(db).await.unwrap() {
        rows.push(format!("filed {:?}", url(Some(row.bookmark_id))));
    }
    for row in job::Entity::owned_by(user).all(db).await.unwrap() {
        let place = (row.track, row.priority, row.state, row.queue_position.is_some());
        rows.push(format!("job {} {:?} {place:?}", row.kind, of_document(row.subject)));
    }
    rows.sort();
    rows
}

#[tokio::test]
async fn pages_saved_together_are_stored_like_pages_saved_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let db = opened(&folder).await;
    let ((one_by_one, filed), (together, filed_too)) = (add_user(&db).await, add_user(&db).await);
    let txn = db.begin().await.unwrap();
    for page in pages(filed) {
        save_in_transaction(&txn, one_by_one, page, Priority::Backlog, None, NOON).await.unwrap();
    }

    save_new_pages(&txn, together, pages(filed_too), Priority::Backlog, NOON).await.unwrap();

    txn.commit().await.unwrap();
    let (expected, found) = (stored(&db, one_by_one).await, stored(&db, together).await);
    assert_eq!(expected, found);
    assert_eq!(found.iter().filter(|row| row.starts_with("note ")).count(), 2);
}

#[tokio::test]
async fn page_that_is_saved_already_or_again_is_deferred() {
    let folder = tempfile::tempdir().unwrap();
    let db = opened(&folder).await;
    let (user, _) = add_user(&db).await;
    let txn = db.begin().await.unwrap();
    save_in_transaction(&txn, user, page("saved"), Priority::Backlog, None, NOON).await.unwrap();

    let urls = ["new", "saved", "new#again", "other"].map(page).to_vec();
    let results = save_new_pages(&txn, user, urls, Priority::Backlog, NOON).await.unwrap();

    let is_created = |result: &SaveResult| matches!(result, SaveResult::Created(_));
    assert_eq!(results.iter().map(is_created).collect::<Vec<_>>(), [true, false, false, true]);
}

#[tokio::test]
async fn saved_urls_of_a_batch_are_found_by_their_index() {
    let folder = tempfile::tempdir().unwrap();
    let db = opened(&folder).await;
    let urls: Vec<String> = (0..400).map(|n| format!("https://example.org/{n}")).collect();

    let query = saved_urls(UserId::new(NOON), &urls).build(DatabaseBackend::Sqlite);
    let plan = QueryPlan::of(&db, query).await.unwrap();

    assert!(plan.has_step("bookmark_normalized_url (user_id=? AND normalized_url=?)"), "{plan:#?}");
}
