//! How a page of bookmarks is found with few reads, whatever the size of the library.
//!
//! A page with a filter by flags or a content type, by times of the list's own order, or by a tag or collection in the order of saving, is
//! a range of an index. Any other filter ends in one of two ways:
//!
//! - If at most [`MAX_CANDIDATES`] bookmarks match a filter that an index serves, these are read and sorted.
//! - Otherwise the list is read in its order, and the other filters are tested on each bookmark until the page is full. As each of them
//!   matches more than [`MAX_CANDIDATES`] bookmarks, these are few reads if the matches are spread over the list.
//!
//! Three kinds of pages may read more, up to the whole list of a user: filters that hardly ever match together although each matches
//! many; matches that are all at the end of the order; and words of one or two characters, which have no index.

use sea_orm::sea_query::{Expr, Query, SelectStatement};
use sea_orm::{ConnectionTrait, DbErr};

use super::filter::{BookmarkFilter, PageBounds};
use super::order::BookmarkPosition;

/// Maximum number of bookmarks that are read and sorted for a page. Of 200,000 bookmarks a filter that matches 1,000 fills a page of 50
/// after 10,000 bookmarks on average, which takes longer than to sort the 1,000.
const MAX_CANDIDATES: u64 = 1000;

/// Returns the rows of a page, in the order of the list.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub(super) async fn find_page(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    page: PageBounds<'_>,
) -> Result<Vec<BookmarkPosition>, DbErr> {
    find_page_by(db, filter, page, MAX_CANDIDATES).await
}

/// Finds a page by candidates if there are at most `max_candidates`.
async fn find_page_by(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    page: PageBounds<'_>,
    max_candidates: u64,
) -> Result<Vec<BookmarkPosition>, DbErr> {
    let scanned = filter.scanned_set(page.sort);
    for candidates in filter.candidates(page.sort, scanned.as_ref(), db.get_database_backend()) {
        if are_few(db, candidates.clone(), max_candidates).await? {
            return fetch(db, filter.select_from_candidates(candidates, page), page).await;
        }
    }
    let statement = match &scanned {
        Some(set) => filter.select_members(set, page),
        None => filter.select_bookmarks(page, db.get_database_backend()),
    };
    fetch(db, statement, page).await
}

/// Returns whether a statement selects at most `max` rows. Stops at the first row beyond.
async fn are_few(
    db: &impl ConnectionTrait,
    mut candidates: SelectStatement,
    max: u64,
) -> Result<bool, DbErr> {
    candidates.limit(max.saturating_add(1));
    let count = Query::select()
        .expr_as(Expr::cust("COUNT(*)"), "found")
        .from_subquery(candidates, "candidate")
        .to_owned();
    let row = db.query_one(&count).await?;
    let found: i64 = row.map_or(Ok(0), |row| row.try_get("", "found"))?;
    Ok(u64::try_from(found).is_ok_and(|found| found <= max))
}

async fn fetch(
    db: &impl ConnectionTrait,
    statement: SelectStatement,
    page: PageBounds<'_>,
) -> Result<Vec<BookmarkPosition>, DbErr> {
    let rows = db.query_all(&statement).await?;
    rows.iter().map(|row| page.sort.read(row)).collect()
}

#[cfg(test)]
mod tests;
