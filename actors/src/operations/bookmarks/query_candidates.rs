//! The candidates for the groups of a query: the bookmarks that an index has for each of their terms.

use entity::{bookmark, document};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement, UnionType};
use sea_orm::{ColumnTrait, Condition, DbBackend, JoinType};
use values::kind::DocumentStatus;

use super::filter::BookmarkFilter;
use super::order::{BookmarkSort, ID, SORT_KEY};
use super::query_conditions::{ResolvedCondition, ResolvedGroup, ResolvedTerm};
use super::title_words;

/// The name of the table of one alternative.
const ALTERNATIVE_TABLE: &str = "alternative";

impl BookmarkFilter {
    /// Selects candidates for each group of the query of which an index has all terms, with the columns of
    /// [`BookmarkSort::select_candidate`]. Each statement selects a bookmark once, and more than `max` if the index has more.
    pub(super) fn query_candidates(
        &self,
        sort: BookmarkSort,
        max: u64,
        backend: DbBackend,
    ) -> Vec<SelectStatement> {
        let groups = self.query.groups.iter();
        groups.filter_map(|group| self.group_candidates(group, sort, max, backend)).collect()
    }

    fn group_candidates(
        &self,
        group: &ResolvedGroup,
        sort: BookmarkSort,
        max: u64,
        backend: DbBackend,
    ) -> Option<SelectStatement> {
        let mut alternatives = Vec::new();
        for term in &group.terms {
            alternatives.extend(self.term_candidates(term, sort, max, backend)?);
        }
        unite(alternatives, sort, max)
    }

    /// Selects the bookmarks that a term can match, by the statements together. Returns `None` if no index has them.
    fn term_candidates(
        &self,
        term: &ResolvedTerm,
        sort: BookmarkSort,
        max: u64,
        backend: DbBackend,
    ) -> Option<Vec<SelectStatement>> {
        if term.is_excluded {
            return None;
        }
        match &term.condition {
            ResolvedCondition::Text(text) | ResolvedCondition::Host(text) => {
                let words = [text.clone()];
                title_words::select_candidates(self.user, &words, sort, max, backend).map(|rows| vec![rows])
            }
            ResolvedCondition::Sets(sets) => {
                let rows = sets.iter().map(|set| {
                    let mut rows = set.select_with_flags(self.user, self.flags());
                    sort.select_candidate(&mut rows, set.bookmark_id(), set.saved_at());
                    rows
                });
                Some(rows.collect())
            }
            // As the index `bookmark_started` says it.
            ResolvedCondition::Started => {
                let started = Expr::cust(r#""bookmark"."progress" > 0 AND "bookmark"."progress" < 1"#);
                Some(vec![self.select_visible(sort, vec![started])])
            }
            ResolvedCondition::Status(DocumentStatus::Failed) => {
                // Both values, so that the index `document_failed` is searched by them. It also has documents whose newer text failed.
                let is_failed =
                    Expr::cust(r#"("document"."status" = 'failed' OR "document"."error" IS NOT NULL)"#);
                let of_any_job = document::Column::HasPendingJob.is_in([true, false]);
                Some(vec![self.select_by_document(sort, [is_failed, of_any_job])])
            }
            ResolvedCondition::Status(DocumentStatus::Processing) => {
                let is_processing = Expr::cust(r#""document"."status" = 'processing'"#);
                Some(vec![self.select_by_document(sort, [is_processing])])
            }
            ResolvedCondition::Feeds(feeds) => {
                let is_saved = Expr::cust(r#""document"."bookmark_id" IS NOT NULL"#);
                let of_feeds = document::Column::FeedId.is_in(feeds.iter().copied());
                Some(vec![self.select_of_documents(sort, [is_saved, of_feeds])])
            }
            ResolvedCondition::Status(DocumentStatus::Ready)
            | ResolvedCondition::Flag(..)
            | ResolvedCondition::Type(_)
            | ResolvedCondition::SavedBefore(_)
            | ResolvedCondition::SavedFrom(_)
            | ResolvedCondition::MaxWords(_)
            | ResolvedCondition::Nothing => None,
        }
    }

    /// Selects the bookmarks of visible documents that pass these tests.
    fn select_by_document(
        &self,
        sort: BookmarkSort,
        tests: impl IntoIterator<Item = Expr>,
    ) -> SelectStatement {
        let is_visible = Expr::cust(r#""document"."hidden_at" IS NULL"#);
        self.select_of_documents(sort, tests.into_iter().chain([is_visible]))
    }

    /// Selects the bookmarks of documents that pass these tests.
    fn select_of_documents(
        &self,
        sort: BookmarkSort,
        tests: impl IntoIterator<Item = Expr>,
    ) -> SelectStatement {
        let mut rows = Query::select();
        let (id, saved_at) = (bookmark::Column::Id.into_expr(), bookmark::Column::SavedAt.into_expr());
        sort.select_candidate(&mut rows, id, saved_at);
        rows.from(document::Entity)
            // A cross join, because SQLite keeps its order: the documents first, then the bookmark of each.
            .join(JoinType::CrossJoin, bookmark::Entity, Condition::all())
            .and_where(document::Column::UserId.eq(self.user))
            .and_where(bookmark::Column::UserId.eq(self.user))
            .and_where(
                bookmark::Column::DocumentId.into_expr().equals((document::Entity, document::Column::Id)),
            );
        for test in tests {
            rows.and_where(test);
        }
        rows
    }
}

/// Selects the rows of all these statements once, of each at most one more than `max`. Returns `None` without a statement.
fn unite(mut alternatives: Vec<SelectStatement>, sort: BookmarkSort, max: u64) -> Option<SelectStatement> {
    if alternatives.len() < 2 {
        return alternatives.pop();
    }
    let bounded = alternatives.into_iter().map(|mut rows| {
        rows.limit(max.saturating_add(1));
        let mut bounded = Query::select();
        bounded.column(ID).from_subquery(rows, ALTERNATIVE_TABLE);
        if sort.is_by_saving() {
            bounded.column(SORT_KEY);
        }
        bounded
    });
    bounded.reduce(|mut all, rows| {
        all.union(UnionType::Distinct, rows);
        all
    })
}
