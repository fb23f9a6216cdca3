//! Pages that are found among candidates.

use super::*;

/// The candidates of every list here are few.
const BY_CANDIDATES: [PageStep; 1] = [PageStep::Candidates(1000)];

async fn open(folder: &tempfile::TempDir) -> Db {
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    Db::open(&url).await.unwrap()
}

/// Selects the bookmarks of a user with a word that [`A_HERON`] has.
fn herons(user: UserId) -> BookmarkFilter {
    BookmarkFilter { words: vec!["heron".to_owned()], ..no_filter(user) }
}

fn first_page(sort: BookmarkSort, limit: u64) -> PageBounds<'static> {
    PageBounds { sort, after: None, until: None, limit }
}

/// Looks for a page of three among the candidates with the words, and returns how many rows it has; `None` if they are more than `max`.
async fn rows_among(db: &Db, filter: &BookmarkFilter, sort: BookmarkSort, max: u64) -> Option<usize> {
    let candidates = filter.candidates(sort, None, max, DbBackend::Sqlite).remove(0);
    let found = find_among(db.read(), filter, candidates, max, first_page(sort, 3)).await.unwrap();
    found.map(|rows| rows.len())
}

#[actix::test]
async fn page_is_filled_although_most_candidates_do_not_match() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = UserId::new(NOW);
    // Every fifth title has the word, and half of these bookmarks are deleted. Many are saved at the same time.
    let seeds: Vec<BookmarkSeed> = (0..200_i64)
        .map(|n| {
            let title = if n % 5 == 0 { 0 } else { TITLES.len() - 1 };
            (title, n / 3 % 4, n / 7 % 4, [false; 3], false, false, false, n % 10 == 0)
        })
        .collect();
    let rows = store(&db, owner, CollectionId::new(NOW), &seeds).await;
    let filter = herons(owner);

    for sort in SORTS {
        let expected = expected(&rows, &filter, sort);
        assert_eq!(expected.len(), 20);
        assert_eq!(list(&db, &filter, sort, &BY_CANDIDATES).await, expected, "{sort}");
        // The index of titles has the other bookmarks too.
        assert_eq!(rows_among(&db, &filter, sort, 199).await, None);
        assert_eq!(rows_among(&db, &filter, sort, 200).await, Some(3));
    }
}

#[actix::test]
async fn candidates_are_read_up_to_the_maximum() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = UserId::new(NOW);
    store(&db, owner, CollectionId::new(NOW), &[A_HERON; 5]).await;
    let favorites = BookmarkFilter { favorite: Some(true), ..herons(owner) };
    let gulls = BookmarkFilter { words: vec!["gull".to_owned()], ..no_filter(owner) };

    for sort in SORTS {
        assert_eq!(rows_among(&db, &herons(owner), sort, 4).await, None);
        assert_eq!(rows_among(&db, &herons(owner), sort, 5).await, Some(3));
        assert_eq!(rows_among(&db, &favorites, sort, 5).await, Some(0));
        assert_eq!(rows_among(&db, &gulls, sort, 0).await, Some(0));
    }
}

#[actix::test]
async fn short_words_of_other_users_are_no_candidates() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let (owner, before, after) = (UserId::new(NOW), UserId::new(NOW), UserId::new(NOW));
    store(&db, before, CollectionId::new(NOW), &[A_HERON; 20]).await;
    store(&db, owner, CollectionId::new(NOW), &[A_HERON; 3]).await;
    store(&db, after, CollectionId::new(NOW), &[A_HERON; 20]).await;
    let filter = |word: &str| BookmarkFilter { words: vec![word.to_owned()], ..no_filter(owner) };

    for sort in SORTS {
        // With one trigram of the index, and with several of one bookmark.
        for word in ["he", "e"] {
            assert_eq!(rows_among(&db, &filter(word), sort, 2).await, None, "{word}");
            assert_eq!(rows_among(&db, &filter(word), sort, 3).await, Some(3), "{word}");
        }
        assert_eq!(rows_among(&db, &filter("zz"), sort, 0).await, Some(0));
    }
}

#[actix::test]
async fn bookmarks_with_two_words_are_found_whichever_is_frequent() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = UserId::new(NOW);
    // Each URL contains "example". The titles are "heron" five times, and thrice one with "reeds" as well.
    let titles = [0, 0, 0, 0, 0, 1, 1, 1];
    let seeds = titles.map(|title| (title, 0, 0, [false; 3], false, false, false, false));
    store(&db, owner, CollectionId::new(NOW), &seeds).await;
    let words =
        |words: [&str; 2]| BookmarkFilter { words: words.map(str::to_owned).to_vec(), ..no_filter(owner) };

    for sort in SORTS {
        // In the title and in the URL: only one word has few enough bookmarks, or both.
        for max in [3, 7, 8] {
            for pair in [["example", "reeds"], ["reeds", "example"]] {
                assert_eq!(rows_among(&db, &words(pair), sort, max).await, Some(3), "{pair:?} {max}");
            }
        }
        assert_eq!(rows_among(&db, &words(["example", "heron"]), sort, 7).await, None);
        assert_eq!(rows_among(&db, &words(["reeds", "heron"]), sort, 2).await, None);
        for max in [0, 7, 8] {
            assert_eq!(rows_among(&db, &words(["example", "gulls"]), sort, max).await, Some(0), "{max}");
        }
    }
}

#[actix::test]
async fn changed_time_of_saving_moves_the_bookmark_among_candidates() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = UserId::new(NOW);
    let rows = store(&db, owner, CollectionId::new(NOW), &[A_HERON; 3]).await;
    let moved = rows[1].bookmark.id;

    bookmark::Entity::update_owned(owner)
        .col_expr(bookmark::Column::SavedAt, Expr::value(Timestamp::from_millis(NOW.millis() + 9)))
        .filter(bookmark::Column::Id.eq(moved))
        .exec(db.write())
        .await
        .unwrap();

    let filter = herons(owner);
    let later = BookmarkFilter { saved_after: Some(NOW), ..herons(owner) };
    let oldest_first = list(&db, &filter, BookmarkSort::SavedAt, &BY_CANDIDATES).await;
    let newest_first = list(&db, &filter, BookmarkSort::SavedAtDescending, &BY_CANDIDATES).await;
    assert_eq!((oldest_first.len(), oldest_first.last()), (3, Some(&moved)));
    assert_eq!((newest_first.len(), newest_first.first()), (3, Some(&moved)));
    assert_eq!(list(&db, &later, BookmarkSort::SavedAt, &BY_CANDIDATES).await, [moved]);
}

#[actix::test]
async fn bookmarks_are_read_in_the_order_of_sorted_candidates() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder).await;
    let owner = UserId::new(NOW);
    store(&db, owner, CollectionId::new(NOW), &[A_HERON; 30]).await;

    for sort in [BookmarkSort::SavedAt, BookmarkSort::SavedAtDescending] {
        for plan in explain_pages(&db, &herons(owner), sort, &BY_CANDIDATES).await {
            assert!(plan.has_step("CO-ROUTINE sorted_candidate"), "{plan:#?}");
            // The candidates are sorted, and the few rows of the page; not the bookmarks between.
            let sorts = plan.steps.iter().filter(|step| step.ends_with("TEMP B-TREE FOR ORDER BY")).count();
            assert_eq!(sorts, 2, "{plan:#?}");
        }
    }
}
