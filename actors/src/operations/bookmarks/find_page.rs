//! How a page of bookmarks is found with few reads, whatever the size of the library.
//!
//! A page with a filter by flags or a content type, by times of the list's own order, or by a tag or collection in the order of saving, is
//! a range of an index. Any other filter ends in one of two ways:
//!
//! - If few bookmarks match a filter that an index serves, these are read and sorted.
//! - Otherwise the list is read in its order, and the other filters are tested on each bookmark until the page is full. As each of them
//!   matches many bookmarks, these are few reads if the matches are spread over the list.
//!
//! Which of the two reads less is not known before: filters may hardly ever match together although each matches many, and matches may be
//! all at the end of the order. So both are tried with a bound, which grows ([`CANDIDATE_BOUNDS`]): a page reads a small multiple of what
//! the better way reads.
//!
//! Only words of one or two characters have no index: a page of a list in which they are rare reads up to the whole list of a user.

use sea_orm::sea_query::{Expr, Query, SelectStatement};
use sea_orm::{ConnectionTrait, DbErr};

use super::bookmark_set::BookmarkSet;
use super::filter::BookmarkFilter;
use super::order::BookmarkPosition;
use super::statements::PageBounds;

/// Numbers of candidates that are read and sorted for a page at most, in the order in which they are tried. Measured on SQLite, 1,000
/// candidates take 0.4 ms. Each bound is eight times the one before, so that those tried in vain cost little in comparison with the last.
const CANDIDATE_BOUNDS: [u64; 3] = [1000, 8000, 64_000];

/// Bookmarks that are read in the order of the list in the time in which one candidate is found by its id and sorted: 0.15 to 0.3
/// microseconds each.
const SCANNED_FOR_EACH_CANDIDATE: u64 = 2;

/// Returns the rows of a page, in the order of the list.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub(super) async fn find_page(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    page: PageBounds<'_>,
) -> Result<Vec<BookmarkPosition>, DbErr> {
    find_page_by(db, filter, page, &CANDIDATE_BOUNDS).await
}

/// Finds a page by candidates or in the order of the list, within each of these bounds one after the other, and then in the order of the
/// list whatever it takes.
async fn find_page_by(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    page: PageBounds<'_>,
    candidate_bounds: &[u64],
) -> Result<Vec<BookmarkPosition>, DbErr> {
    let backend = db.get_database_backend();
    let scanned = filter.scanned_set(page.sort);
    let candidates = filter.candidates(page.sort, scanned.as_ref(), backend);
    // Without candidates there is no other way.
    for bound in candidate_bounds.iter().copied().filter(|_| !candidates.is_empty()) {
        for rows in &candidates {
            if are_few(db, rows.clone(), bound).await? {
                return fetch(db, filter.select_from_candidates(rows.clone(), page, backend), page).await;
            }
        }
        let max_rows = bound.saturating_mul(SCANNED_FOR_EACH_CANDIDATE);
        if let Some(found) = scan(db, filter, scanned.as_ref(), max_rows, page).await? {
            return Ok(found);
        }
    }
    fetch(db, filter.select_in_order(scanned.as_ref(), page, backend), page).await
}

/// Looks for the page among this many rows in the order of the list. Returns `None` if they do not fill it and the list has more rows.
async fn scan(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    scanned: Option<&BookmarkSet>,
    max_rows: u64,
    page: PageBounds<'_>,
) -> Result<Option<Vec<BookmarkPosition>>, DbErr> {
    let backend = db.get_database_backend();
    let boundary = fetch(db, filter.select_boundary(scanned, max_rows, page, backend), page).await?.pop();
    let within = PageBounds { until: boundary.as_ref(), ..page };
    let found = fetch(db, filter.select_in_order(scanned, within, backend), within).await?;
    let is_full = u64::try_from(found.len()).is_ok_and(|rows| rows >= page.limit);
    Ok((is_full || boundary.is_none()).then_some(found))
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
