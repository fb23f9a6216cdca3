//! Compares pages with rows that are filtered and sorted here, with every order, one or two filters, and each way to find a page.

use database::{Db, QueryPlan, insert_all};
use entity::{bookmark, bookmark_tag, collection, collection_bookmark, document, user};
use proptest::prelude::*;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, DbBackend, EntityTrait, QueryFilter, Statement};
use values::id::{BookmarkId, CollectionId, UserId};
use values::kind::{BookmarkKind, ContentType};
use values::plan::Plan;
use values::time::Timestamp;

use super::super::order::BookmarkSort;
use super::*;

mod candidates;

const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);
const SORTS: [BookmarkSort; 5] = [
    BookmarkSort::SavedAt,
    BookmarkSort::SavedAtDescending,
    BookmarkSort::UpdatedAt,
    BookmarkSort::UpdatedAtDescending,
    BookmarkSort::Title,
];
/// Titles with letters whose case SQLite ignores, does not know, and with characters that mean something to LIKE and to FTS5. The last one
/// has the trigrams by which "heron" is looked up, and not the word.
const TITLES: [&str; 9] = [
    "heron",
    "Heron Reeds",
    "H\u{c9}RON",
    "h\u{e9}ron",
    "100%_\\",
    "say \"ibis\"",
    "",
    "reeds of the heron",
    "Other irons",
];
const WORDS: [&str; 9] = ["heron", "Reeds", "h\u{c9}ron", "0%_", "\"ibis", "re", "example", "x", "ibis\""];

/// A bookmark with what the filters test.
#[derive(Clone, Debug)]
struct StoredBookmark {
    bookmark: bookmark::Model,
    is_tagged: bool,
    is_filed: bool,
}

/// The numbers from which a row is made: its title, times, flags and content type, and the sets it is in.
type BookmarkSeed = (usize, i64, i64, [bool; 3], bool, bool, bool, bool);

fn seeds() -> impl Strategy<Value = Vec<BookmarkSeed>> {
    let seed = (
        0..TITLES.len(),
        0..4i64,
        0..4i64,
        any::<[bool; 3]>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.1),
    );
    prop::collection::vec(seed, 0..30)
}

fn row(owner: UserId, number: usize, seed: &BookmarkSeed) -> (StoredBookmark, document::Model) {
    let (title, saved, updated, [favorite, archived, is_read], is_pdf, is_tagged, is_filed, is_deleted) =
        *seed;
    let content_type = if is_pdf { ContentType::Pdf } else { ContentType::Article };
    let document = document::Model::pending(owner, content_type, TITLES[title].to_owned(), NOW);
    let url = format!("https://Example.org/{number}");
    let at = |offset| Timestamp::from_millis(NOW.millis() + offset);
    let bookmark = bookmark::Model {
        id: BookmarkId::new(NOW),
        user_id: owner,
        document_id: document.id,
        kind: BookmarkKind::Page,
        content_type,
        normalized_url: url.clone(),
        url,
        title: document.title.clone(),
        favorite,
        archived,
        progress: if is_read { 1.0 } else { 0.5 },
        saved_at: at(saved),
        created_at: NOW,
        updated_at: at(updated),
        deleted_at: is_deleted.then_some(NOW),
    };
    (StoredBookmark { bookmark, is_tagged, is_filed }, document)
}

/// Stores the rows for a user, whose collection has this id.
async fn store(
    db: &Db,
    owner: UserId,
    filed_in: CollectionId,
    seeds: &[BookmarkSeed],
) -> Vec<StoredBookmark> {
    let account = user::Model::new(owner, format!("{owner}@reader.example"), String::new(), Plan::Pro, NOW);
    insert_all::<user::Entity>(db.write(), [account], None).await.unwrap();
    let named = collection::Model {
        id: filed_in,
        user_id: owner,
        name: "Waders".to_owned(),
        description: None,
        parent_id: None,
        created_at: NOW,
        updated_at: NOW,
    };
    insert_all::<collection::Entity>(db.write(), [named], None).await.unwrap();
    let (rows, documents): (Vec<StoredBookmark>, Vec<document::Model>) =
        seeds.iter().enumerate().map(|(number, seed)| row(owner, number, seed)).unzip();
    insert_all::<document::Entity>(db.write(), documents, None).await.unwrap();
    insert_all::<bookmark::Entity>(db.write(), rows.iter().map(|row| row.bookmark.clone()), None)
        .await
        .unwrap();
    let tagged = rows.iter().filter(|row| row.is_tagged);
    let tags = tagged.map(|row| bookmark_tag::Model::new(&row.bookmark, "bird".to_owned()));
    insert_all::<bookmark_tag::Entity>(db.write(), tags, None).await.unwrap();
    let filed = rows.iter().filter(|row| row.is_filed);
    let filed = filed.map(|row| collection_bookmark::Model::new(&row.bookmark, filed_in, NOW));
    insert_all::<collection_bookmark::Entity>(db.write(), filed, None).await.unwrap();
    rows
}

fn no_filter(user: UserId) -> BookmarkFilter {
    BookmarkFilter::all_of(user)
}

type FilterChange = Box<dyn Fn(&mut BookmarkFilter)>;

/// Returns a change of the filter for each field and some of its values.
fn changes(collection: CollectionId) -> Vec<FilterChange> {
    let at = |offset| Timestamp::from_millis(NOW.millis() + offset);
    let mut changes: Vec<FilterChange> = vec![
        Box::new(|_| {}),
        Box::new(|filter| filter.tag = Some("bird".to_owned())),
        Box::new(|filter| filter.tag = Some("fish".to_owned())),
        Box::new(move |filter| filter.collection = Some(collection)),
        Box::new(|filter| filter.archived = Some(true)),
        Box::new(|filter| filter.archived = Some(false)),
        Box::new(|filter| filter.favorite = Some(true)),
        Box::new(|filter| filter.favorite = Some(false)),
        Box::new(|filter| filter.unread = Some(true)),
        Box::new(|filter| filter.unread = Some(false)),
        Box::new(|filter| filter.content_type = Some(ContentType::Pdf)),
        Box::new(move |filter| filter.saved_after = Some(at(0))),
        Box::new(move |filter| filter.saved_before = Some(at(3))),
        Box::new(move |filter| filter.updated_since = Some(at(2))),
    ];
    for word in WORDS {
        changes.push(Box::new(move |filter| filter.words.push(word.to_lowercase())));
    }
    changes
}

fn has_word(row: &StoredBookmark, word: &str) -> bool {
    let bookmark = &row.bookmark;
    [&bookmark.title, &bookmark.url].iter().any(|text| text.to_lowercase().contains(word))
}

fn matches(row: &StoredBookmark, filter: &BookmarkFilter) -> bool {
    let bookmark = &row.bookmark;
    bookmark.deleted_at.is_none()
        && filter.words.iter().all(|word| has_word(row, word))
        && filter.tag.as_ref().is_none_or(|tag| tag == "bird" && row.is_tagged)
        && filter.collection.is_none_or(|_| row.is_filed)
        && filter.archived.is_none_or(|archived| bookmark.archived == archived)
        && filter.favorite.is_none_or(|favorite| bookmark.favorite == favorite)
        && filter.unread.is_none_or(|unread| (bookmark.progress < 1.0) == unread)
        && filter.content_type.is_none_or(|kind| bookmark.content_type == kind)
        && filter.saved_after.is_none_or(|after| bookmark.saved_at > after)
        && filter.saved_before.is_none_or(|before| bookmark.saved_at < before)
        && filter.updated_since.is_none_or(|since| bookmark.updated_at >= since)
}

fn expected(rows: &[StoredBookmark], filter: &BookmarkFilter, sort: BookmarkSort) -> Vec<BookmarkId> {
    let mut found: Vec<&bookmark::Model> =
        rows.iter().filter(|row| matches(row, filter)).map(|row| &row.bookmark).collect();
    found.sort_by(|a, b| match sort {
        BookmarkSort::SavedAt => (a.saved_at, a.id).cmp(&(b.saved_at, b.id)),
        BookmarkSort::SavedAtDescending => (b.saved_at, b.id).cmp(&(a.saved_at, a.id)),
        BookmarkSort::UpdatedAt => (a.updated_at, a.id).cmp(&(b.updated_at, b.id)),
        BookmarkSort::UpdatedAtDescending => (b.updated_at, b.id).cmp(&(a.updated_at, a.id)),
        BookmarkSort::Title => (&a.title, a.id).cmp(&(&b.title, b.id)),
    });
    found.into_iter().map(|row| row.id).collect()
}

/// Reads a list page by page.
async fn list(db: &Db, filter: &BookmarkFilter, sort: BookmarkSort, steps: &[PageStep]) -> Vec<BookmarkId> {
    let (mut ids, mut after) = (Vec::new(), None::<BookmarkPosition>);
    loop {
        let page = PageBounds { sort, after: after.as_ref(), until: None, limit: 11 };
        let rows = find_page_by(db.read(), filter, page, steps).await.unwrap();
        ids.extend(rows.iter().map(|row| row.id));
        match rows.last() {
            Some(last) => after = Some(last.clone()),
            None => return ids,
        }
    }
}

/// Steps of a few rows each.
const PARTS: [PageStep; 4] =
    [PageStep::Candidates(0), PageStep::Scan(2), PageStep::Candidates(3), PageStep::Scan(6)];

async fn compare(seeds: &[BookmarkSeed]) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let (owner, other) = (UserId::new(NOW), UserId::new(NOW));
    let (filed_in, of_other) = (CollectionId::new(NOW), CollectionId::new(NOW));
    // Another user has the same titles and tags.
    store(&db, other, of_other, seeds).await;
    let rows = store(&db, owner, filed_in, seeds).await;
    let changes = changes(filed_in);

    for (number, first) in changes.iter().enumerate() {
        for second in &changes[number..] {
            let mut filter = no_filter(owner);
            first(&mut filter);
            second(&mut filter);
            for sort in SORTS {
                let expected = expected(&rows, &filter, sort);
                // In the order of the list alone, in parts of it and by candidates, and by candidates alone.
                for steps in [&[][..], &PARTS, &[PageStep::Candidates(1000)]] {
                    let listed = list(&db, &filter, sort, steps).await;
                    assert_eq!(listed, expected, "{filter:?} {sort} {steps:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 10, ..ProptestConfig::default() })]

    #[test]
    fn pages_are_the_filtered_rows_in_order(drawn in seeds()) {
        actix::System::new().block_on(compare(&drawn));
    }
}

/// A bookmark whose title is "heron", with a tag and in a collection.
const A_HERON: BookmarkSeed = (0, 0, 0, [false; 3], false, true, true, false);

/// Stores one row and returns its user, document and bookmark.
async fn store_one(db: &Db) -> (UserId, bookmark::Model) {
    let (owner, filed_in) = (UserId::new(NOW), CollectionId::new(NOW));
    let rows = store(db, owner, filed_in, &[A_HERON]).await;
    (owner, rows[0].bookmark.clone())
}

/// Explains the statements that return rows of the list, read to its end with this filter.
async fn explain_pages(
    db: &Db,
    filter: &BookmarkFilter,
    sort: BookmarkSort,
    steps: &[PageStep],
) -> Vec<QueryPlan> {
    let mut recorded = db.clone();
    let sent = recorded.record_statements();
    list(&recorded, filter, sort, steps).await;
    let mut plans = QueryPlan::of_each(db, sent.take()).await.unwrap();
    plans.retain(|plan| plan.sql.contains(r#"ORDER BY "sort_key""#));
    // The first page and those after a cursor.
    assert!(plans.len() >= 2, "{plans:#?}");
    plans
}

#[actix::test]
async fn filters_without_an_order_are_served_by_two_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let owner = UserId::new(NOW);
    store(&db, owner, CollectionId::new(NOW), &vec![A_HERON; 30]).await;
    let filter = BookmarkFilter {
        words: vec!["heron".to_owned()],
        saved_before: Some(Timestamp::from_millis(NOW.millis() + 1)),
        updated_since: Some(NOW),
        ..no_filter(owner)
    };

    for (sort, index) in SORTS.into_iter().zip(["saved", "saved", "updated", "updated", "title"]) {
        // In the order of the list, to its end and to a boundary.
        for steps in [&[][..], &[PageStep::Scan(6)]] {
            for plan in explain_pages(&db, &filter, sort, steps).await {
                let is_in_order = plan.has_step(&format!("bookmark_{index} (user_id=?")) && !plan.sorts();
                assert!(is_in_order, "{plan:#?}");
            }
        }
        // By candidates, each of which is one row.
        for plan in explain_pages(&db, &filter, sort, &[PageStep::Candidates(1000)]).await {
            assert!(plan.has_step("sqlite_autoindex_bookmark_1 (id=?)"), "{plan:#?}");
        }
    }
}

#[actix::test]
async fn part_of_the_list_is_a_range_of_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let owner = UserId::new(NOW);
    store(&db, owner, CollectionId::new(NOW), &vec![A_HERON; 30]).await;
    let by_tag = BookmarkFilter {
        tag: Some("bird".to_owned()),
        favorite: Some(false),
        content_type: Some(ContentType::Article),
        ..no_filter(owner)
    };
    let by_words = BookmarkFilter { words: vec!["heron".to_owned()], ..no_filter(owner) };

    for (filter, range) in [
        (by_tag, "name=? AND flags=? AND (saved_at,bookmark_id)>(?,?) AND (saved_at,bookmark_id)<(?,?))"),
        (by_words, "bookmark_saved (user_id=? AND (saved_at,id)>(?,?) AND (saved_at,id)<(?,?))"),
    ] {
        for sort in [BookmarkSort::SavedAt, BookmarkSort::SavedAtDescending] {
            let plans = explain_pages(&db, &filter, sort, &[PageStep::Scan(6)]).await;
            assert!(plans.iter().any(|plan| plan.has_step(range)), "{plans:#?}");
        }
    }
}

async fn found(db: &Db, user: UserId, word: &str) -> usize {
    let filter = BookmarkFilter { words: vec![word.to_owned()], ..no_filter(user) };
    list(db, &filter, BookmarkSort::Title, &[PageStep::Candidates(1000)]).await.len()
}

#[actix::test]
async fn changed_title_is_found_and_the_former_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let (owner, row) = store_one(&db).await;
    assert_eq!((found(&db, owner, "heron").await, found(&db, owner, "gull").await), (1, 0));

    document::Entity::update_owned(owner)
        .col_expr(document::Column::Title, Expr::value("A Gull"))
        .filter(document::Column::Id.eq(row.document_id))
        .exec(db.write())
        .await
        .unwrap();

    assert_eq!((found(&db, owner, "heron").await, found(&db, owner, "gull").await), (0, 1));
}

#[actix::test]
async fn changed_time_of_saving_moves_the_bookmark_in_its_tag() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let (owner, row) = store_one(&db).await;
    let later = Timestamp::from_millis(NOW.millis() + 9);

    bookmark::Entity::update_owned(owner)
        .col_expr(bookmark::Column::SavedAt, Expr::value(later))
        .filter(bookmark::Column::Id.eq(row.id))
        .exec(db.write())
        .await
        .unwrap();

    let tags = bookmark_tag::Entity::owned_by(owner).all(db.read()).await.unwrap();
    let filed = collection_bookmark::Entity::owned_by(owner).all(db.read()).await.unwrap();
    assert!(tags.iter().all(|tag| tag.saved_at == later) && filed.iter().all(|row| row.saved_at == later));
    assert_eq!((tags.len(), filed.len()), (1, 1));
}

/// Asserts that each row of a tag and of a collection has the copies that are made of its bookmark, and that there are this many of both.
async fn assert_equal_copies(db: &Db, owner: UserId, rows: usize) {
    let tags = bookmark_tag::Entity::owned_by(owner).all(db.read()).await.unwrap();
    let filed = collection_bookmark::Entity::owned_by(owner).all(db.read()).await.unwrap();
    assert_eq!((tags.len(), filed.len()), (rows, rows));
    for bookmark in bookmark::Entity::with_deleted(owner).all(db.read()).await.unwrap() {
        for tag in tags.iter().filter(|tag| tag.bookmark_id == bookmark.id) {
            assert_eq!(*tag, bookmark_tag::Model::new(&bookmark, tag.name.clone()));
        }
        for row in filed.iter().filter(|row| row.bookmark_id == bookmark.id) {
            assert_eq!(*row, collection_bookmark::Model::new(&bookmark, row.collection_id, row.added_at));
        }
    }
}

#[actix::test]
async fn flags_and_title_of_a_bookmark_are_copied_to_its_sets() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let (owner, row) = store_one(&db).await;
    let set = async |column: bookmark::Column, value: Expr| {
        bookmark::Entity::update_owned(owner).col_expr(column, value).exec(db.write()).await.unwrap();
        assert_equal_copies(&db, owner, 1).await;
    };

    set(bookmark::Column::Favorite, Expr::value(true)).await;
    set(bookmark::Column::Archived, Expr::value(true)).await;
    set(bookmark::Column::Progress, Expr::value(1.0)).await;
    document::Entity::update_owned(owner)
        .col_expr(document::Column::Title, Expr::value("\u{c4} Gull".repeat(200)))
        .exec(db.write())
        .await
        .unwrap();
    assert_equal_copies(&db, owner, 1).await;

    // Rows that are written with what the bookmark was before.
    let filed_in = collection::Entity::owned_by(owner).one(db.read()).await.unwrap().unwrap().id;
    collection_bookmark::Entity::delete_owned(owner).exec(db.write()).await.unwrap();
    let filed = collection_bookmark::Model::new(&row, filed_in, NOW);
    insert_all::<collection_bookmark::Entity>(db.write(), [filed], None).await.unwrap();
    bookmark_tag::Entity::delete_owned(owner).exec(db.write()).await.unwrap();
    let tag = bookmark_tag::Model::new(&row, "gull".to_owned());
    insert_all::<bookmark_tag::Entity>(db.write(), [tag], None).await.unwrap();
    assert_equal_copies(&db, owner, 1).await;
}

#[actix::test]
async fn titles_of_a_removed_user_leave_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let (kept, _) = store_one(&db).await;
    let (removed, _) = store_one(&db).await;

    user::Entity::delete_by_id(removed).exec(db.write()).await.unwrap();
    let (added, _) = store_one(&db).await;

    assert_eq!((found(&db, kept, "heron").await, found(&db, added, "heron").await), (1, 1));
    let left = "SELECT COUNT(*) FROM title_search WHERE title_search MATCH '\"her\"'";
    let row = db.read().query_one_raw(Statement::from_string(DbBackend::Sqlite, left)).await.unwrap();
    assert_eq!(row.unwrap().try_get_by_index::<i64>(0).unwrap(), 2);
}
