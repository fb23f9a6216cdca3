//! The statements that find a page of a list of bookmarks among candidates: the rows that an index has for one of the filters. They are
//! not in the order of the list, so they are sorted.
//!
//! A statement counts the candidates, and finds the page only if there are few enough. All filters are tested on the bookmarks of the
//! candidates. A list in the order of saving sorts the candidates before that, so only those are tested that come before the last row of
//! the page; other orders are by columns of the bookmarks.

use database::tested_only;
use entity::bookmark;
use library::bookmarks::{BookmarkSet, is_saved_after, is_saved_before};
use sea_orm::sea_query::{
    CommonTableExpression, Expr, ExprTrait, Query, SelectStatement, WithClause, WithQuery,
};
use sea_orm::{ColumnTrait, Condition, DbBackend, JoinType};

use super::filter::BookmarkFilter;
use super::order::{BookmarkSort, ID, SORT_KEY};
use super::statements::{PageBounds, add_conditions, is_bookmark, position_conditions, union_all};
use super::title_words;

/// Column of the statement: the number of candidates that were read, one more than the maximum if the page was not looked for.
pub(super) const CANDIDATE_COUNT: &str = "candidate_count";

/// The names of the tables that the statement makes.
const CANDIDATE_TABLE: &str = "candidate";
const SORTED_TABLE: &str = "sorted_candidate";
const PAGE_TABLE: &str = "page";
const COUNT_TABLE: &str = "count";

impl BookmarkFilter {
    /// Selects candidates in each way that an index serves and the order of the list does not, with the columns of
    /// [`BookmarkSort::select_candidate`]. If the list is read in the order of `scanned`, that set is not one of them. They are for
    /// [`Self::select_from_candidates`] with the same `max`.
    pub(super) fn candidates(
        &self,
        sort: BookmarkSort,
        scanned: Option<&BookmarkSet>,
        max: u64,
        backend: DbBackend,
    ) -> Vec<SelectStatement> {
        let mut candidates = Vec::new();
        let words = self.looked_up_words();
        candidates.extend(title_words::select_candidates(self.user, &words, sort, max, backend));
        candidates.extend(self.query_candidates(sort, max, backend));
        for set in self.sets().iter().filter(|set| Some(*set) != scanned) {
            let mut rows = set.select_with_flags(self.user, self.flags());
            sort.select_candidate(&mut rows, set.bookmark_id(), set.saved_at());
            candidates.push(rows);
        }
        let saved = bookmark::Column::SavedAt.into_expr();
        let by_saving = [
            self.saved_after.map(|time| is_saved_after(saved.clone(), time)),
            self.saved_before.map(|time| is_saved_before(saved.clone(), time)),
        ];
        let by_change = [self.updated_since.map(|since| bookmark::Column::UpdatedAt.gte(since))];
        if !sort.is_by_saving() {
            candidates.extend(self.select_range(sort, by_saving));
        }
        if !sort.is_by_change() {
            candidates.extend(self.select_range(sort, by_change));
        }
        // The rows of a set are found by their flags, and not by the content type.
        if scanned.is_some() && self.content_type.is_some() {
            candidates.push(self.select_by_flags_and_type(sort));
        }
        candidates
    }

    /// Selects the bookmarks in a range of times; `None` without a bound.
    fn select_range(
        &self,
        sort: BookmarkSort,
        bounds: impl IntoIterator<Item = Option<Expr>>,
    ) -> Option<SelectStatement> {
        let bounds: Vec<Expr> = bounds.into_iter().flatten().collect();
        (!bounds.is_empty()).then(|| self.select_visible(sort, bounds))
    }

    /// Selects the bookmarks with the flags and the content type of the filter.
    fn select_by_flags_and_type(&self, sort: BookmarkSort) -> SelectStatement {
        union_all(self.flag_and_type_ranges().into_iter().map(|range| self.select_visible(sort, range)))
    }

    /// Selects the bookmarks of the user that pass these tests.
    pub(super) fn select_visible(&self, sort: BookmarkSort, tests: Vec<Expr>) -> SelectStatement {
        let mut rows = Query::select();
        let (id, saved_at) = (bookmark::Column::Id.into_expr(), bookmark::Column::SavedAt.into_expr());
        sort.select_candidate(&mut rows, id, saved_at);
        rows.from(bookmark::Entity);
        add_conditions(&mut rows, self.visible_conditions());
        add_conditions(&mut rows, tests);
        rows
    }

    /// Selects a page from candidates, which another statement selects, if there are at most `max`. Each row also has the number of
    /// candidates ([`CANDIDATE_COUNT`]); without a bookmark in the page there is one row, whose other columns are null.
    pub(super) fn select_from_candidates(
        &self,
        mut candidates: SelectStatement,
        max: u64,
        page: PageBounds<'_>,
        backend: DbBackend,
    ) -> WithQuery {
        candidates.limit(max.saturating_add(1));
        // Otherwise the candidates would be read once to be counted, and once more for the page.
        let mut candidate = CommonTableExpression::new();
        candidate.table_name(CANDIDATE_TABLE).query(candidates).materialized(true);
        let mut clause = WithClause::new();
        clause.cte(candidate);

        let mut rows = Query::select();
        rows.expr_as(Expr::col((COUNT_TABLE, CANDIDATE_COUNT)), CANDIDATE_COUNT)
            .expr_as(Expr::col((PAGE_TABLE, SORT_KEY)), SORT_KEY)
            .expr_as(Expr::col((PAGE_TABLE, ID)), ID)
            .from_subquery(count_candidates(), COUNT_TABLE)
            .join_subquery(
                JoinType::LeftJoin,
                self.select_page(max, page, backend),
                PAGE_TABLE,
                Expr::cust("TRUE"),
            );
        // SQL does not promise that a join keeps the order of its subquery.
        page.sort.sort(&mut rows, page.limit);
        rows.with(clause)
    }

    /// Selects the page from the candidates of the statement.
    fn select_page(&self, max: u64, page: PageBounds<'_>, backend: DbBackend) -> SelectStatement {
        let mut rows = if page.sort.is_by_saving() {
            self.join_sorted_candidates(max, page)
        } else {
            self.join_candidates(max, page)
        };
        rows
            // Otherwise SQLite would read all bookmarks of the user after the cursor for each candidate.
            .and_where(tested_only(bookmark::Column::UserId.into_expr(), backend).eq(self.user))
            .and_where(bookmark::Column::DeletedAt.is_null());
        add_conditions(&mut rows, self.flag_and_type_conditions());
        add_conditions(&mut rows, self.times_of_other_orders(page.sort, backend));
        add_conditions(&mut rows, self.set_conditions(None));
        add_conditions(&mut rows, self.word_conditions(backend));
        add_conditions(&mut rows, self.query_tests(backend));
        page.sort.sort(&mut rows, page.limit);
        rows
    }

    /// Joins the bookmarks with the candidates, and selects those between the first and the last row of the page.
    fn join_candidates(&self, max: u64, page: PageBounds<'_>) -> SelectStatement {
        let (key, id) = (page.sort.key(), bookmark::Column::Id.into_expr());
        let mut rows = Query::select();
        rows.expr_as(key.clone(), SORT_KEY)
            .expr_as(id.clone(), ID)
            .from(CANDIDATE_TABLE)
            // SQLite keeps the order of a cross join. Otherwise it could read all bookmarks, because an index has the order of the list.
            .join(JoinType::CrossJoin, bookmark::Entity, Condition::all())
            .and_where(is_bookmark(Expr::col((CANDIDATE_TABLE, ID))))
            .and_where(are_at_most(max));
        add_conditions(&mut rows, self.times_of_order(&key, page));
        add_conditions(&mut rows, position_conditions(page, &key, &id));
        rows
    }

    /// Joins the bookmarks with the candidates between the first and the last row of the page, in the order of saving. A database
    /// that reads the bookmark of one candidate after the other has the rows in the order of the list, and stops when the page is full.
    fn join_sorted_candidates(&self, max: u64, page: PageBounds<'_>) -> SelectStatement {
        let (key, id) = (Expr::col((CANDIDATE_TABLE, SORT_KEY)), Expr::col((CANDIDATE_TABLE, ID)));
        let mut sorted = Query::select();
        sorted
            .expr_as(key.clone(), SORT_KEY)
            .expr_as(id.clone(), ID)
            .from(CANDIDATE_TABLE)
            .and_where(are_at_most(max));
        add_conditions(&mut sorted, self.times_of_order(&key, page));
        add_conditions(&mut sorted, position_conditions(page, &key, &id));
        // Without a limit SQLite would leave out this order, because the outer statement has one.
        page.sort.sort(&mut sorted, max);

        let mut rows = Query::select();
        rows.expr_as(Expr::col((SORTED_TABLE, SORT_KEY)), SORT_KEY)
            .expr_as(Expr::col((SORTED_TABLE, ID)), ID)
            .from_subquery(sorted, SORTED_TABLE)
            // SQLite keeps the order of a cross join.
            .join(JoinType::CrossJoin, bookmark::Entity, Condition::all())
            .and_where(is_bookmark(Expr::col((SORTED_TABLE, ID))));
        rows
    }
}

/// Selects the number of candidates.
fn count_candidates() -> SelectStatement {
    Query::select().expr_as(Expr::cust("COUNT(*)"), CANDIDATE_COUNT).from(CANDIDATE_TABLE).take()
}

/// Returns the condition that there are at most this many candidates.
fn are_at_most(max: u64) -> Expr {
    Expr::from(count_candidates()).lte(i64::try_from(max).unwrap_or(i64::MAX))
}
