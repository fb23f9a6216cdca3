//! How a page of bookmarks is found with few reads, whatever the size of the library.
//!
//! A page with a filter by flags or a content type, by times of the list's own order, or by a tag or collection in the order of saving, is
//! a range of an index. Any other filter ends in one of two ways:
//!
//! - If few bookmarks match a filter that an index serves, these candidates are read and sorted ([`super::candidates`]).
//! - Otherwise the list is read in its order, and the other filters are tested on each bookmark until the page is full. As each of them
//!   matches many bookmarks, these are few reads if the matches are spread over the list.
//!
//! Which of the two reads less is not known before: filters may hardly ever match together although each matches many, and matches may be
//! all at the end of the order. So both are tried in turn with bounds that grow ([`STEPS`]): a page reads a small multiple of what the
//! better way reads.
//!
//! On PostgreSQL words of one or two characters have no index: a page of a list in which they are rare reads up to the whole list of a user.

use library::bookmarks::BookmarkSet;
use sea_orm::sea_query::SelectStatement;
use sea_orm::{ConnectionTrait, DbErr};
use values::id::BookmarkId;

use super::candidates::CANDIDATE_COUNT;
use super::filter::BookmarkFilter;
use super::order::{BookmarkPosition, ID};
use super::statements::PageBounds;

/// A bounded attempt to find a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageStep {
    /// Reads at most this many rows in the order of the list.
    Scan(u64),
    /// Reads and sorts the candidates of each filter that has at most this many.
    Candidates(u64),
}

/// The steps in their order. A word that more than 2,000 of 200,000 titles have, spread over the list, fills a page of 51 with about 5,000
/// rows of the list, which costs as much as 1,000 candidates (`tests/bench/growth.py`, lists by q). The bounds grow by factors of four to
/// eight, so that steps that do not find the page cost little in comparison with the last.
const STEPS: [PageStep; 8] = [
    PageStep::Candidates(500),
    PageStep::Scan(1000),
    PageStep::Candidates(2000),
    PageStep::Scan(8000),
    PageStep::Candidates(16_000),
    PageStep::Scan(64_000),
    PageStep::Candidates(128_000),
    PageStep::Scan(512_000),
];

/// Returns the rows of a page, in the order of the list.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub(super) async fn find_page(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    page: PageBounds<'_>,
) -> Result<Vec<BookmarkPosition>, DbErr> {
    find_page_by(db, filter, page, &STEPS).await
}

/// Finds a page by these steps one after the other, and then in the order of the list whatever it takes.
async fn find_page_by(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    page: PageBounds<'_>,
    steps: &[PageStep],
) -> Result<Vec<BookmarkPosition>, DbErr> {
    let backend = db.get_database_backend();
    let scanned = filter.scanned_set(page.sort);
    let candidates = filter.candidates(page.sort, scanned.as_ref(), backend);
    // Without candidates there is no other way.
    let steps = if candidates.is_empty() { &[] } else { steps };
    for step in steps {
        let found = match *step {
            PageStep::Scan(max_rows) => scan(db, filter, scanned.as_ref(), max_rows, page).await?,
            PageStep::Candidates(max) => find_in_any(db, filter, &candidates, max, page).await?,
        };
        if let Some(found) = found {
            return Ok(found);
        }
    }
    fetch(db, filter.select_in_order(scanned.as_ref(), page, backend), page).await
}

/// Looks for the page in the first of these statements that selects at most `max` candidates. Returns `None` if each selects more.
async fn find_in_any(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    candidates: &[SelectStatement],
    max: u64,
    page: PageBounds<'_>,
) -> Result<Option<Vec<BookmarkPosition>>, DbErr> {
    for rows in candidates {
        if let Some(found) = find_among(db, filter, rows.clone(), max, page).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Looks for the page among the candidates that a statement selects. Returns `None` if they are more than `max`: it reads one more.
async fn find_among(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    candidates: SelectStatement,
    max: u64,
    page: PageBounds<'_>,
) -> Result<Option<Vec<BookmarkPosition>>, DbErr> {
    let statement = filter.select_from_candidates(candidates, max, page, db.get_database_backend());
    let rows = db.query_all(&statement).await?;
    let read: i64 = rows.first().map_or(Ok(0), |row| row.try_get("", CANDIDATE_COUNT))?;
    if u64::try_from(read).is_ok_and(|read| read > max) {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        // An empty page is a row without a bookmark.
        if row.try_get::<Option<BookmarkId>>("", ID)?.is_some() {
            found.push(page.sort.read(row)?);
        }
    }
    Ok(Some(found))
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
