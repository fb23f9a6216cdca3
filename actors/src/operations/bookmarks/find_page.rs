//! How a page of bookmarks is found with few reads, whatever the size of the library.
//!
//! A page with a filter by flags or a content type, by times of the list's own order, or by a tag or collection and flags in the order of
//! saving or of titles, is a range of an index. Any other filter ends in one of two ways:
//!
//! - If few bookmarks match a filter that an index serves, these candidates are read and sorted ([`super::candidates`]).
//! - Otherwise the list is read in its order, and the other filters are tested on each bookmark until the page is full. As each of them
//!   matches many bookmarks, these are few reads if the matches are spread over the list.
//!
//! Which of the two reads less is not known before: filters may hardly ever match together although each matches many, and matches may be
//! all at the end of the order. So both are tried in turn with bounds that grow ([`STEPS_BY_TIME`], [`STEPS_BY_TITLE`]): a page reads a
//! small multiple of what the better way reads.
//!
//! # What a page costs at most
//!
//! | Filters | Rows of the user that a page reads |
//! |---|---|
//! | a range of an index | those of the page |
//! | one that matches few | what it matches; above 2,000 also the parts of the list that are tried before |
//! | some that each match many, and often together | those of the list until the page is full |
//! | some that each match many, and rarely together | the whole list, as no index has both, and its first parts repeatedly |
//! | words that have no index on PostgreSQL, and are rare | the whole list |
//!
//! The index of PostgreSQL has parts of three letters or digits. Words without one, of one or two characters or such as `c++`, are only tested
//! on the bookmarks of the list, or on the candidates of another filter. PostgreSQL may also read the bookmarks for a word in another way, if
//! it expects by its statistics that many have it; then the limit of the candidates is reached soon.

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

/// The steps in their order, of lists by times. A word that more than 2,000 of 200,000 titles have, spread over the list, fills a page of 51
/// with about 5,000 rows of the list, which costs as much as 500 candidates: bookmarks that were saved or changed one after the other are
/// beside each other in their table. The bounds grow by factors of eight, so that steps that do not find the page cost little in
/// comparison with the last.
const STEPS_BY_TIME: [PageStep; 6] = [
    PageStep::Candidates(2000),
    PageStep::Scan(8000),
    PageStep::Candidates(16_000),
    PageStep::Scan(64_000),
    PageStep::Candidates(128_000),
    PageStep::Scan(512_000),
];

/// The steps of lists by title, whose bookmarks are anywhere in the table: a row of the list costs more than a candidate.
const STEPS_BY_TITLE: [PageStep; 7] = [
    PageStep::Candidates(2000),
    PageStep::Scan(1000),
    PageStep::Candidates(16_000),
    PageStep::Scan(8000),
    PageStep::Candidates(128_000),
    PageStep::Scan(64_000),
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
    if filter.query.is_impossible {
        return Ok(Vec::new());
    }
    let is_by_time = page.sort.is_by_saving() || page.sort.is_by_change();
    let steps: &[PageStep] = if is_by_time { &STEPS_BY_TIME } else { &STEPS_BY_TITLE };
    find_page_by(db, filter, page, steps).await
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
    let candidates = |max| filter.candidates(page.sort, scanned.as_ref(), max, backend);
    // Without candidates there is no other way.
    let steps = if candidates(0).is_empty() { &[] } else { steps };
    for step in steps {
        let found = match *step {
            PageStep::Scan(max_rows) => scan(db, filter, scanned.as_ref(), max_rows, page).await?,
            PageStep::Candidates(max) => find_in_any(db, filter, candidates(max), max, page).await?,
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
    candidates: Vec<SelectStatement>,
    max: u64,
    page: PageBounds<'_>,
) -> Result<Option<Vec<BookmarkPosition>>, DbErr> {
    for rows in candidates {
        if let Some(found) = find_among(db, filter, rows, max, page).await? {
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
