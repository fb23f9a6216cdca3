//! Reads the highlights of bookmarks, as search finds them.

use std::collections::HashMap;

use database::{Db, padded};
use entity::highlight;
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use values::id::{BookmarkId, UserId};

/// Highlights that are read at a time: a megabyte if they are all of maximum length.
const HIGHLIGHTS_PER_READ: u64 = 250;
/// Characters that are read of a highlight, and of the note on it.
const MAX_HIGHLIGHT_CHARS: usize = 2_000;

fn select_highlights(user: UserId, bookmarks: &[BookmarkId]) -> Select<highlight::Entity> {
    let start = |column: &str| Expr::cust(format!("substr(highlight.{column}, 1, {MAX_HIGHLIGHT_CHARS})"));
    highlight::Entity::owned_by(user)
        .filter(highlight::Column::BookmarkId.is_in(padded(bookmarks)))
        // In the order of the index `highlight_user_bookmark`.
        .order_by_asc(highlight::Column::BookmarkId)
        .order_by_asc(highlight::Column::StartOffset)
        .order_by_asc(highlight::Column::Id)
        .select_only()
        .column(highlight::Column::BookmarkId)
        .column_as(start("text"), "words")
        .column_as(start("note"), "words_of_note")
}

/// Reads the highlights of each of these bookmarks with the notes on them, in the order of the text, until those of the bookmark have this
/// many characters. The bound is that of each bookmark: one with many highlights takes nothing from the others.
///
/// # Errors
/// The database fails.
pub(super) async fn read_highlights(
    db: &Db,
    user: UserId,
    mut bookmarks: Vec<BookmarkId>,
    max_chars: usize,
) -> Result<HashMap<BookmarkId, Vec<String>>, Error> {
    let mut highlights: HashMap<BookmarkId, HighlightTexts> = HashMap::new();
    // Rows that were read of the first bookmark that has any left. A highlight that is made or deleted meanwhile may shift the next ones:
    // its document is unindexed then, and is read again.
    let mut read_of_first: u64 = 0;
    while !bookmarks.is_empty() {
        let rows = select_highlights(user, &bookmarks).offset(read_of_first).limit(HIGHLIGHTS_PER_READ);
        let rows = rows.into_tuple::<(BookmarkId, String, Option<String>)>().all(db.read()).await?;
        let is_full = u64::try_from(rows.len()).is_ok_and(|count| count == HIGHLIGHTS_PER_READ);
        let last = rows.last().map(|(bookmark, ..)| *bookmark);
        for (bookmark, text, note) in rows {
            highlights.entry(bookmark).or_default().add(text, note, max_chars);
        }
        let Some(last) = last.filter(|_| is_full) else { break };
        // In the order of the rows the others are before the last one, and all of theirs were read.
        bookmarks.retain(|bookmark| *bookmark == last || !highlights.contains_key(bookmark));
        read_of_first = highlights.get(&last).map_or(0, |texts| texts.rows);
        if highlights.get(&last).is_some_and(|texts| texts.chars >= max_chars) {
            bookmarks.retain(|bookmark| *bookmark != last);
            read_of_first = 0;
        }
    }
    Ok(highlights.into_iter().map(|(bookmark, texts)| (bookmark, texts.texts)).collect())
}

/// The highlights of a bookmark, as far as they are read.
#[derive(Default)]
struct HighlightTexts {
    /// The highlights and the notes on them.
    texts: Vec<String>,
    /// The characters of the texts, one more for each.
    chars: usize,
    /// The number of highlights that were read.
    rows: u64,
}

impl HighlightTexts {
    /// Adds a highlight, unless there are as many characters as the maximum.
    fn add(&mut self, text: String, note: Option<String>, max_chars: usize) {
        self.rows += 1;
        for text in [Some(text), note].into_iter().flatten() {
            if self.chars < max_chars {
                self.chars += text.chars().count() + 1;
                self.texts.push(text);
            }
        }
    }
}

/// Returns the first highlight of each of these bookmarks, of those that have one.
///
/// # Errors
/// The database fails.
pub(super) async fn first_highlights(
    db: &Db,
    user: UserId,
    bookmarks: Vec<BookmarkId>,
) -> Result<HashMap<BookmarkId, String>, Error> {
    let highlights = read_highlights(db, user, bookmarks, 1).await?;
    Ok(highlights.into_iter().filter_map(|(id, texts)| Some((id, texts.into_iter().next()?))).collect())
}

#[cfg(test)]
mod tests {
    use database::{QueryPlan, insert_all};
    use entity::{bookmark, document};
    use sea_orm::{DbBackend, QueryTrait};
    use uuid::Uuid;
    use values::id::HighlightId;
    use values::kind::{AnchorState, BookmarkKind, ContentType};

    use super::*;
    use crate::retrieval::test_library::{NOON, add_user, open_database};

    /// Adds a bookmark with this many highlights, each the number of its place.
    async fn add_bookmark(db: &Db, owner: UserId, highlights: i32) -> BookmarkId {
        let id = BookmarkId::new(NOON);
        let url = format!("https://marsh.example/{id}");
        let row = document::Model::pending(owner, ContentType::Article, url.clone(), NOON);
        let document = row.id;
        insert_all::<document::Entity>(db.write(), [row], None).await.unwrap();
        let row = bookmark::Model {
            id,
            user_id: owner,
            document_id: document,
            kind: BookmarkKind::Page,
            content_type: ContentType::Article,
            url: url.clone(),
            normalized_url: url,
            title: String::new(),
            favorite: false,
            archived: false,
            progress: 0.0,
            saved_at: NOON,
            created_at: NOON,
            updated_at: NOON,
            deleted_at: None,
        };
        insert_all::<bookmark::Entity>(db.write(), [row], None).await.unwrap();
        let rows = (0..highlights).map(|place| highlight::Model {
            id: HighlightId::new(NOON),
            user_id: owner,
            bookmark_id: id,
            text: place.to_string(),
            note: None,
            color: None,
            start_offset: place,
            end_offset: place + 1,
            anchor_state: AnchorState::Exact,
            created_at: NOON,
        });
        insert_all::<highlight::Entity>(db.write(), rows, None).await.unwrap();
        id
    }

    #[tokio::test]
    async fn highlights_of_each_bookmark_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        let counts = [250, 3, 0, 601, 1];
        let mut bookmarks = Vec::new();
        for count in counts {
            bookmarks.push(add_bookmark(&db, owner, count).await);
        }

        let found = read_highlights(&db, owner, bookmarks.clone(), 100_000).await.unwrap();

        for (bookmark, count) in bookmarks.iter().zip(counts) {
            let expected: Vec<String> = (0..count).map(|place| place.to_string()).collect();
            assert_eq!(found.get(bookmark).cloned().unwrap_or_default(), expected, "{count}");
        }
        let first = first_highlights(&db, owner, bookmarks.clone()).await.unwrap();
        assert_eq!(first.len(), 4, "one of them has no highlight");
        assert!(first.values().all(|text| text == "0"));
    }

    #[tokio::test]
    async fn highlights_beyond_the_maximum_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        let bookmarks = vec![add_bookmark(&db, owner, 600).await, add_bookmark(&db, owner, 600).await];

        // Each of the first ten has one character, and counts as two.
        let found = read_highlights(&db, owner, bookmarks, 20).await.unwrap();

        assert_eq!(found.len(), 2);
        assert!(found.values().all(|texts| texts.len() == 10));
    }

    #[tokio::test]
    async fn highlights_of_many_bookmarks_are_found_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let bookmarks: Vec<BookmarkId> = (0..200).map(|id| BookmarkId(Uuid::from_u128(id))).collect();

        let select = select_highlights(UserId(Uuid::nil()), &bookmarks).build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&db, select).await.unwrap();

        assert!(plan.has_step("highlight_user_bookmark (user_id=? AND bookmark_id=?)"), "{plan:#?}");
        assert!(!plan.has_step("TEMP B-TREE"), "{plan:#?}");
    }
}
