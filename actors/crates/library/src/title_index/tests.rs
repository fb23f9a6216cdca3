//! Tests that the merge removes the texts of deleted bookmarks from the file, and when it runs.

use entity::{bookmark, document, user};
use jobs::Priority;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
use values::id::{BookmarkId, UserId};
use values::plan::Plan;

use super::*;
use crate::bookmarks::{NewBookmark, SaveResult, save_new_pages};

const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);
/// Titles of one trigram. Each begins with other bytes than all others, because FTS5 stores only the bytes in which a trigram differs from
/// the one before.
const DELETED_TITLE: &str = "\u{3401}\u{4e01}\u{20001}";
const CHANGED: &str = "\u{5402}\u{6e02}\u{21002}";
const REMOVED: &str = "\u{7403}\u{8e03}\u{22003}";
const REMAINING_TITLE: &str = "\u{9404}\u{a004}\u{23004}";

async fn add_user(db: &Db) -> UserId {
    let id = UserId::new(NOON);
    let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
    user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
    id
}

async fn save_all(db: &Db, owner: UserId, titles: Vec<String>) -> Vec<BookmarkId> {
    let page = |title| NewBookmark {
        url: format!("https://example.org/{}", BookmarkId::new(NOON)),
        title: Some(title),
        ..NewBookmark::default()
    };
    let pages = titles.into_iter().map(page).collect();
    let txn = db.begin().await.unwrap();
    let saved = save_new_pages(&txn, owner, pages, Priority::Backlog, NOON).await.unwrap();
    txn.commit().await.unwrap();
    let created = saved.iter().filter_map(|result| match result {
        SaveResult::Created(id) => Some(*id),
        SaveResult::Deferred { .. } => None,
    });
    created.collect()
}

async fn save(db: &Db, owner: UserId, title: &str) -> BookmarkId {
    save_all(db, owner, vec![title.to_owned()]).await[0]
}

async fn delete(db: &Db, owner: UserId, id: BookmarkId) {
    bookmark::Entity::delete_owned(owner).filter(bookmark::Column::Id.eq(id)).exec(db.write()).await.unwrap();
}

async fn count(db: &Db, sql: &str, value: String) -> i64 {
    let row = db.read().query_one_raw(statement(sql, [value.into()])).await.unwrap();
    row.unwrap().try_get_by_index(0).unwrap()
}

/// Returns how many texts of the index have the trigram.
async fn found(db: &Db, trigram: &str) -> i64 {
    let search = "SELECT COUNT(*) FROM title_search WHERE title_search MATCH $1";
    count(db, search, format!("\"{trigram}\"")).await
}

/// Returns whether the last letter of the trigram is in the pages of the index.
async fn is_in_file(db: &Db, trigram: &str) -> bool {
    let search = "SELECT COUNT(*) FROM title_search_data WHERE instr(block, CAST($1 AS BLOB)) > 0";
    count(db, search, trigram.chars().skip(2).collect()).await > 0
}

async fn merge_all(db: &Db, now: Timestamp, pages: i64) -> usize {
    let mut steps = 0;
    while merge_pages(db, now, pages).await.unwrap() {
        steps += 1;
    }
    steps
}

async fn open(folder: &tempfile::TempDir) -> Db {
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    Db::open(&url).await.unwrap()
}

#[tokio::test]
async fn merge_removes_deleted_titles_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let (owner, removed) = (add_user(&db).await, add_user(&db).await);
    let (deleted, changed) = (save(&db, owner, DELETED_TITLE).await, save(&db, owner, CHANGED).await);
    save(&db, owner, REMAINING_TITLE).await;
    save(&db, removed, REMOVED).await;
    let gone = [DELETED_TITLE, CHANGED, REMOVED];
    for trigram in gone {
        assert_eq!(found(&db, trigram).await, 1);
    }

    delete(&db, owner, deleted).await;
    document::Entity::update_owned(owner)
        .col_expr(document::Column::Title, Expr::value("A Gull"))
        .filter(document::Column::BookmarkId.eq(changed))
        .exec(db.write())
        .await
        .unwrap();
    user::Entity::delete_by_id(removed).exec(db.write()).await.unwrap();

    for trigram in gone {
        assert!(found(&db, trigram).await == 0 && is_in_file(&db, trigram).await);
    }
    merge_all(&db, NOON, STEP_PAGES).await;
    for trigram in gone {
        assert!(found(&db, trigram).await == 0 && !is_in_file(&db, trigram).await);
    }
    assert!(found(&db, REMAINING_TITLE).await == 1 && is_in_file(&db, REMAINING_TITLE).await);
    assert_eq!(found(&db, "gul").await, 1);
}

#[tokio::test]
async fn deletion_during_a_merge_is_left_to_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = add_user(&db).await;
    let (first, second) = (save(&db, owner, DELETED_TITLE).await, save(&db, owner, CHANGED).await);

    delete(&db, owner, first).await;
    assert!(merge_step(&db, NOON).await.unwrap());
    delete(&db, owner, second).await;
    merge_all(&db, NOON, STEP_PAGES).await;
    save(&db, owner, CHANGED).await;
    let third = save(&db, owner, REMOVED).await;
    delete(&db, owner, third).await;

    assert!(!merge_step(&db, NOON + Duration::from_secs(23 * 3600)).await.unwrap());
    assert!(is_in_file(&db, REMOVED).await && !is_in_file(&db, DELETED_TITLE).await);
    merge_all(&db, NOON + MERGE_INTERVAL, STEP_PAGES).await;
    assert!(!is_in_file(&db, REMOVED).await && !is_in_file(&db, DELETED_TITLE).await);
    assert_eq!(found(&db, CHANGED).await, 1);
}

#[tokio::test]
async fn nothing_is_merged_unless_a_text_was_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = add_user(&db).await;
    let id = save(&db, owner, DELETED_TITLE).await;

    assert!(!merge_step(&db, NOON).await.unwrap());
    delete(&db, owner, id).await;
    assert!(merge_all(&db, NOON, STEP_PAGES).await > 0);
    assert!(!merge_step(&db, NOON + MERGE_INTERVAL).await.unwrap());
}

#[tokio::test]
async fn merge_ends_and_finds_all_while_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = add_user(&db).await;
    let deleted = save(&db, owner, DELETED_TITLE).await;
    save(&db, owner, REMAINING_TITLE).await;
    // Enough trigrams for about a hundred pages of the index.
    let title = |number: u32| {
        let letter = |at: u32| char::from_u32(0x4e00 + (number * 61 + at * 7919) % 20_000);
        (0..60).filter_map(letter).collect::<String>()
    };
    save_all(&db, owner, (0..300).map(title).collect()).await;
    delete(&db, owner, deleted).await;

    let mut steps = 0;
    while merge_pages(&db, NOON, 1).await.unwrap() {
        steps += 1;
        assert_eq!((found(&db, DELETED_TITLE).await, found(&db, REMAINING_TITLE).await), (0, 1));
        // Two new parts of the index, fewer than FTS5 merges by default.
        if steps % 8 == 1 {
            save(&db, owner, "Gull").await;
            save(&db, owner, "Gull").await;
        }
        assert!(steps < 1000, "the merge does not end");
    }

    assert!(steps > 3 && !is_in_file(&db, DELETED_TITLE).await);
    assert!(found(&db, REMAINING_TITLE).await == 1 && found(&db, "gul").await > 1);
}
