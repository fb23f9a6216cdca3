//! Bookmarks that are deleted together, compared with bookmarks that are deleted one by one.

use database::Db;
use entity::{job, user};
use sea_orm::{EntityTrait, IntoActiveModel};
use uuid::Uuid;
use values::plan::Plan;

use super::super::{NewBookmark, SaveResult, save_new_pages};
use super::*;

const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

/// Adds a user with three bookmarks: a page, one with notes, and one whose document is also the text of a feed entry.
async fn add_bookmarks(db: &Db) -> (UserId, Vec<BookmarkId>) {
    let id = UserId::new(NOON);
    let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
    user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
    let page = |name: &str| NewBookmark {
        url: format!("https://example.org/{name}"),
        title: Some(name.to_owned()),
        ..NewBookmark::default()
    };
    let noted = NewBookmark { notes: Some("Seen".to_owned()), ..page("noted") };
    let txn = db.begin().await.unwrap();
    let pages = vec![page("page"), noted, page("entry")];
    let saved = save_new_pages(&txn, id, pages, Priority::Backlog, NOON).await.unwrap();
    let created = saved.iter().filter_map(|result| match result {
        SaveResult::Created(id) => Some(*id),
        SaveResult::Deferred { .. } => None,
    });
    let ids: Vec<BookmarkId> = created.collect();
    document::Entity::update_owned(id)
        .col_expr(document::Column::EntryId, Expr::value(Some(Uuid::from_u128(7))))
        .filter(document::Column::BookmarkId.eq(ids[2]))
        .exec(&txn)
        .await
        .unwrap();
    txn.commit().await.unwrap();
    (id, ids)
}

/// What the deletion left of a user's library, without ids.
async fn remaining_rows(db: &Db, user: UserId) -> Vec<String> {
    let documents = document::Entity::with_hidden(user).all(db.read()).await.unwrap();
    let document = |row: document::Model| {
        let (is_hidden, is_bookmarked) = (row.hidden_at.is_some(), row.bookmark_id.is_some());
        format!(
            "{} of {}: hidden {is_hidden}, bookmarked {is_bookmarked}",
            row.content_type.name(),
            row.title
        )
    };
    let mut rows: Vec<String> = documents.into_iter().map(document).collect();
    let deleted = bookmark::Entity::with_deleted(user).all(db.read()).await.unwrap();
    rows.extend(deleted.iter().map(|row| format!("bookmark deleted at {:?}", row.deleted_at)));
    let jobs = job::Entity::owned_by(user).all(db.read()).await.unwrap();
    rows.extend(jobs.iter().map(|job| format!("job {} at {}", job.kind, job.priority)));
    rows.sort();
    rows
}

#[tokio::test]
async fn bookmarks_deleted_together_are_left_like_deleted_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let ((together, all), (one_by_one, each)) = (add_bookmarks(&db).await, add_bookmarks(&db).await);
    let txn = db.begin().await.unwrap();
    for id in each {
        delete(&txn, one_by_one, id, Priority::Backlog, NOON).await.unwrap();
    }

    delete_all(&txn, together, &all, Priority::Backlog, NOON).await.unwrap();

    txn.commit().await.unwrap();
    let found = remaining_rows(&db, together).await;
    assert_eq!(found, remaining_rows(&db, one_by_one).await);
    let count = |part: &str| found.iter().filter(|one| one.contains(part)).count();
    assert_eq!((count("hidden true, bookmarked true"), count("hidden false, bookmarked false")), (3, 1));
    assert_eq!(count(&format!("deleted at {:?}", Some(NOON))), 3);
    assert_eq!(count(&format!("job {} ", JobKind::RemoveFromIndex.name())), 3);
}
