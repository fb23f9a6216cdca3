//! The statements that find the rows of a list of bookmarks in the order of the list.
//!
//! | Rows of | are found by | in the order of |
//! |---|---|---|
//! | the bookmarks | `bookmark_saved`, `bookmark_updated`, `bookmark_title` | the list |
//! | those with flags | `bookmark_flags_*`: one range for each matching combination, merged | the list |
//! | those with a content type | `bookmark_type_*`, in the same way | the list |
//! | a tag or a collection | `bookmark_tag_*`, `collection_bookmark_*`, in the same way | the time of saving, or titles |
//!
//! Each statement tests all filters, also those that its index does not serve. On SQLite, which chooses without statistics, a column that
//! is only tested is written so that no index is searched by it ([`database::tested_only`]).

use database::is_null_tested;
use entity::bookmark;
use library::bookmarks::{BookmarkSet, is_saved_after, is_saved_before};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement, UnionType};
use sea_orm::{ColumnTrait, Condition, DbBackend, JoinType};

use super::filter::BookmarkFilter;
use super::order::{BookmarkPosition, BookmarkSort, ID, SORT_KEY};

/// The part of a list that a statement returns.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageBounds<'a> {
    pub sort: BookmarkSort,
    /// The row after which the page begins; `None` for the first page.
    pub after: Option<&'a BookmarkPosition>,
    /// The last row that is read; `None` to read until the page is full or the list ends.
    pub until: Option<&'a BookmarkPosition>,
    /// Maximum number of rows.
    pub limit: u64,
}

impl BookmarkFilter {
    /// Selects a page from the rows of this set, or else from all bookmarks, read in the order of the list.
    pub(super) fn select_in_order(
        &self,
        scanned: Option<&BookmarkSet>,
        page: PageBounds<'_>,
        backend: DbBackend,
    ) -> SelectStatement {
        match scanned {
            Some(set) => self.select_members(set, page, backend),
            None => {
                let mut tests = self.times_of_other_orders(page.sort, backend);
                tests.extend(self.set_conditions(None));
                tests.extend(self.word_conditions(backend));
                tests.extend(self.query_tests(backend));
                self.select_ranges(&tests, page, backend)
            }
        }
    }

    /// Selects one row: the one before which this many rows of the page's range are read. It does not exist in a shorter range. `scanned`
    /// as in [`Self::select_in_order`].
    pub(super) fn select_boundary(
        &self,
        scanned: Option<&BookmarkSet>,
        rows: u64,
        page: PageBounds<'_>,
        backend: DbBackend,
    ) -> SelectStatement {
        // PostgreSQL sorts that many rows of each range.
        let page = PageBounds { limit: rows.saturating_add(1), ..page };
        let mut statement = match scanned {
            Some(set) => self.select_member_ranges(set, None, page, backend),
            None => self.select_ranges(&[], page, backend),
        };
        statement.limit(1).offset(rows);
        statement
    }

    /// Selects the bookmarks that pass these tests, in the order of the list.
    fn select_ranges(&self, tests: &[Expr], page: PageBounds<'_>, backend: DbBackend) -> SelectStatement {
        let ranges = self.flag_and_type_ranges().into_iter().map(|range| {
            let (key, id) = (page.sort.key(), bookmark::Column::Id.into_expr());
            let mut rows = bookmark_rows(key.clone());
            add_conditions(&mut rows, self.visible_conditions());
            add_conditions(&mut rows, range);
            add_conditions(&mut rows, self.times_of_order(&key, page));
            add_conditions(&mut rows, tests.iter().cloned());
            add_conditions(&mut rows, position_conditions(page, &key, &id));
            rows
        });
        merge_ranges(ranges.collect(), page, backend)
    }

    /// Selects a page from the rows of a set, in the order of the list.
    fn select_members(&self, set: &BookmarkSet, page: PageBounds<'_>, backend: DbBackend) -> SelectStatement {
        let mut tests = self.flag_and_type_conditions();
        tests.extend(self.times_of_other_orders(page.sort, backend));
        tests.extend(self.set_conditions(Some(set)));
        tests.extend(self.word_conditions(backend));
        tests.extend(self.query_tests(backend));
        self.select_member_ranges(set, Some(&tests), page, backend)
    }

    /// Selects the rows of a set with the flags of the filter, in the order of the list: those whose bookmarks pass these tests and are not
    /// deleted, or with `None` all, without a look at the bookmarks.
    fn select_member_ranges(
        &self,
        set: &BookmarkSet,
        tests: Option<&[Expr]>,
        page: PageBounds<'_>,
        backend: DbBackend,
    ) -> SelectStatement {
        let (key, id) = (page.sort.key_in(set), set.bookmark_id());
        let ranges = self.flag_ranges(&set.flags()).into_iter().map(|has_flags| {
            let mut rows = set.select(self.user);
            rows.expr_as(key.clone(), SORT_KEY).expr_as(id.clone(), ID).and_where(has_flags);
            add_conditions(&mut rows, self.times_of_order(&key, page));
            add_conditions(&mut rows, position_conditions(page, &key, &id));
            if let Some(tests) = tests {
                // SQLite keeps the order of a cross join.
                rows.join(JoinType::CrossJoin, bookmark::Entity, Condition::all())
                    .and_where(is_bookmark(id.clone()))
                    .and_where(is_null_tested(bookmark::Column::DeletedAt.into_expr()));
                add_conditions(&mut rows, tests.iter().cloned());
            }
            rows
        });
        merge_ranges(ranges.collect(), page, backend)
    }

    /// Returns the conditions on the time by which the list is sorted. A bound that the first or the last row of the page implies is left
    /// out: SQLite searches an index by one lower and one upper bound, and the row is the narrower one. The cursor is of a list with the
    /// same filters (`list_name`), so its row is within the bound.
    pub(super) fn times_of_order(&self, key: &Expr, page: PageBounds<'_>) -> Vec<Expr> {
        let (lower, upper) = if page.sort.is_by_saving() {
            (
                self.saved_after.map(|time| is_saved_after(key.clone(), time)),
                self.saved_before.map(|time| is_saved_before(key.clone(), time)),
            )
        } else if page.sort.is_by_change() {
            (self.updated_since.map(|since| key.clone().gte(since)), None)
        } else {
            (None, None)
        };
        let (begins, ends) = (page.after.is_some(), page.until.is_some());
        let (has_lower, has_upper) = if page.sort.is_descending() { (ends, begins) } else { (begins, ends) };
        [lower.filter(|_| !has_lower), upper.filter(|_| !has_upper)].into_iter().flatten().collect()
    }
}

/// Selects the sort key and the id of bookmarks.
fn bookmark_rows(key: Expr) -> SelectStatement {
    let mut rows = Query::select();
    rows.expr_as(key, SORT_KEY).expr_as(bookmark::Column::Id.into_expr(), ID).from(bookmark::Entity);
    rows
}

/// Selects the rows of all these statements, of which there is at least one.
pub(super) fn union_all(selects: impl IntoIterator<Item = SelectStatement>) -> SelectStatement {
    let all = selects.into_iter().reduce(|mut all, select| {
        all.union(UnionType::All, select);
        all
    });
    all.unwrap_or_default()
}

/// Selects a page from ranges of an index, each of which is in the order of the list.
fn merge_ranges(ranges: Vec<SelectStatement>, page: PageBounds<'_>, backend: DbBackend) -> SelectStatement {
    // SQLite merges ranges that are in the order of an index. PostgreSQL does not see their order, unless each range has its own.
    let sorts_ranges = ranges.len() > 1 && backend == DbBackend::Postgres;
    let ranges = ranges.into_iter().map(|rows| if sorts_ranges { sorted_range(rows, page) } else { rows });
    let mut statement = union_all(ranges);
    page.sort.sort(&mut statement, page.limit);
    statement
}

/// Selects the first rows of a range.
fn sorted_range(mut rows: SelectStatement, page: PageBounds<'_>) -> SelectStatement {
    page.sort.sort(&mut rows, page.limit);
    Query::select().column(SORT_KEY).column(ID).from_subquery(rows, "range").take()
}

/// Returns the condition that the bookmark of the statement has this id.
pub(super) fn is_bookmark(id: Expr) -> Expr {
    id.equals((bookmark::Entity, bookmark::Column::Id))
}

/// Returns the conditions that a row is between the first and the last row that are read.
pub(super) fn position_conditions(page: PageBounds<'_>, key: &Expr, id: &Expr) -> Vec<Expr> {
    let after = page.after.map(|after| page.sort.is_after(key.clone(), id.clone(), after));
    let until = page.until.map(|until| page.sort.is_until(key.clone(), id.clone(), until));
    [after, until].into_iter().flatten().collect()
}

/// Adds conditions to a statement.
pub(super) fn add_conditions(statement: &mut SelectStatement, conditions: impl IntoIterator<Item = Expr>) {
    for condition in conditions {
        statement.and_where(condition);
    }
}
