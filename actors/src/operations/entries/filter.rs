//! Selects entries by filters, so that an index has each selection in the order of the list.
//!
//! No index has the order of the list for each filter that leaves a mark open, and a list of few entries among many would read all of
//! them. So the entries are selected in parts: one for each combination of marks. The database merges the parts in their order.
//!
//! The list is in the order of `sorted_at`, but the times of a filter are publication times. Of nearly all entries both are the same,
//! so those parts are bounded by `sorted_at`. The others are one more part: entries that were dated in the future when they arrived,
//! or whose publication time the feed changed. A partial index has only these.

use database::compare_rows;
use entity::entry::{Column, Entity};
use sea_orm::sea_query::{
    Asterisk, BinOper, Expr, ExprTrait, Func, Order, Query, SelectStatement, UnionType,
};
use sea_orm::{ColumnTrait, Condition, DbBackend, QueryFilter, QueryTrait, Select};
use uuid::Uuid;
use values::id::{EntryId, FeedId, UserId};
use values::time::Timestamp;

/// The last entry of a page: its place in the order of the list.
pub(super) type ListedEntry = (Timestamp, EntryId);

/// The entries that match all filters.
pub(super) struct EntryFilter {
    /// Their owner.
    pub(super) user: UserId,
    /// Entries of these feeds, each named once and at least one; `None` for all feeds.
    pub(super) feeds: Option<Vec<FeedId>>,
    /// Read entries, or unread ones.
    pub(super) read: Option<bool>,
    /// Starred entries, or others.
    pub(super) starred: Option<bool>,
    /// Entries published after this time.
    pub(super) after: Option<Timestamp>,
    /// Entries published before this time.
    pub(super) before: Option<Timestamp>,
    /// Entries from the start of the list to this place. Not together with a time.
    pub(super) up_to: Option<ListedEntry>,
}

impl EntryFilter {
    /// Returns the statement that selects the matching entries behind `last`, newest first.
    pub(super) fn page(&self, last: Option<ListedEntry>, limit: u64, backend: DbBackend) -> SelectStatement {
        let parts = self.parts(last);
        // SQLite merges parts that are in the order of an index. PostgreSQL does not see their order, unless each part has its own.
        let sorts_parts = parts.len() > 1 && backend == DbBackend::Postgres;
        let parts = parts.into_iter().map(|part| {
            let part = part.into_query();
            if sorts_parts { sorted_part(part, limit) } else { part }
        });
        let all = parts.reduce(|mut all, part| {
            all.union(UnionType::All, part);
            all
        });
        let mut page = all.unwrap_or_default();
        sort(&mut page, limit);
        page
    }

    /// Returns selections without an order, at least one. Together they have the matching entries behind `last`, each entry once.
    pub(super) fn parts(&self, last: Option<ListedEntry>) -> Vec<Select<Entity>> {
        // One part for each feed: no index has the entries of several feeds in the order of the list.
        let feeds: Vec<Option<FeedId>> = match &self.feeds {
            None => vec![None],
            Some(feeds) => feeds.iter().copied().map(Some).collect(),
        };
        let marks = self.combinations_of_marks();
        let mut parts = Vec::with_capacity(feeds.len() * marks.len());
        for feed in feeds {
            parts.extend(marks.iter().map(|marks| self.part(feed, marks.clone(), last)));
        }
        if self.has_times() {
            parts.push(self.moved_part(last));
        }
        parts
    }

    fn has_times(&self) -> bool {
        self.after.is_some() || self.before.is_some()
    }

    fn combinations_of_marks(&self) -> Vec<Condition> {
        if self.read.is_none() && self.starred.is_none() {
            return vec![Condition::all()];
        }
        let values = |mark: Option<bool>| mark.map_or_else(|| vec![false, true], |mark| vec![mark]);
        let starred = values(self.starred);
        let mut combinations = Vec::new();
        for read in values(self.read) {
            for starred in &starred {
                combinations
                    .push(Condition::all().add(Column::Read.eq(read)).add(Column::Starred.eq(*starred)));
            }
        }
        combinations
    }

    /// Selects entries of a feed, or of all, with these marks. If the filter has times, only those that are sorted by their publication time.
    fn part(&self, feed: Option<FeedId>, marks: Condition, last: Option<ListedEntry>) -> Select<Entity> {
        // No id is less than the nil one, so all entries before the time are behind this place.
        let before = self.before.map(|before| (before, EntryId(Uuid::nil())));
        // The one of both that is further behind: with two upper ends SQLite may choose an index by the wrong one.
        let end = [last, before].into_iter().flatten().min();
        let times = Condition::all()
            .add_option(end.map(is_behind))
            .add_option(self.up_to.map(is_not_behind))
            .add_option(self.after.map(|after| sort_time().gt(after)))
            .add_option(self.has_times().then(|| sort_time().eq(publication_time())));
        let feed = Condition::all().add_option(feed.map(|feed| Column::FeedId.eq(feed)));
        Entity::owned_by(self.user).filter(feed).filter(marks).filter(times)
    }

    /// Selects entries whose publication time differs from the time by which they are sorted.
    fn moved_part(&self, last: Option<ListedEntry>) -> Select<Entity> {
        // `COALESCE` keeps SQLite from choosing an index of these columns, which would have all entries of the feed or of the mark.
        let each = |condition: Expr| Expr::from(Func::coalesce([condition, Expr::value(false)]));
        let filters = Condition::all()
            // As in the condition of the index `entry_user_moved`.
            .add(sort_time().ne(publication_time()))
            .add_option(last.map(is_behind))
            .add_option(self.feeds.as_ref().map(|feeds| each(Column::FeedId.is_in(feeds.iter().copied()))))
            .add_option(self.read.map(|read| each(Column::Read.eq(read))))
            .add_option(self.starred.map(|starred| each(Column::Starred.eq(starred))))
            .add_option(self.after.map(|after| publication_time().gt(after)))
            .add_option(self.before.map(|before| publication_time().lt(before)));
        Entity::owned_by(self.user).filter(filters)
    }
}

/// Selects the first entries of a part.
fn sorted_part(mut part: SelectStatement, limit: u64) -> SelectStatement {
    sort(&mut part, limit);
    Query::select().column(Asterisk).from_subquery(part, "part").take()
}

/// Sorts entries, the newest first, and keeps the first ones.
fn sort(entries: &mut SelectStatement, limit: u64) {
    // Not by the publication time: an entry that is dated in the future would stay first until then.
    entries.order_by(Column::SortedAt, Order::Desc).order_by(Column::Id, Order::Desc).limit(limit);
}

fn sort_time() -> Expr {
    Expr::col((Entity, Column::SortedAt))
}

/// Returns the expression for the time at which an entry was published, or arrived if its feed names no time.
fn publication_time() -> Expr {
    let times = [Column::PublishedAt, Column::CreatedAt].map(|column| Expr::col((Entity, column)));
    Func::coalesce(times).into()
}

/// Returns the condition that an entry is behind this place in the list.
fn is_behind(place: ListedEntry) -> Expr {
    compare_to(place, BinOper::SmallerThan)
}

/// Returns the condition that an entry is at this place in the list or before it.
fn is_not_behind(place: ListedEntry) -> Expr {
    compare_to(place, BinOper::GreaterThanOrEqual)
}

fn compare_to((at, id): ListedEntry, comparison: BinOper) -> Expr {
    let columns = [sort_time(), Column::Id.into_expr()];
    compare_rows(columns, comparison, [Expr::value(at), Expr::value(id)])
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan, insert_all};
    use entity::entry;
    use sea_orm::{ConnectionTrait, FromQueryResult};

    use super::super::test_feeds::{FollowedFeeds, NOW, at, open};
    use super::*;

    /// Returns entries of all feeds and marks, of which some are dated in the future, some have no date, and some share their time.
    fn entries(feeds: &FollowedFeeds) -> Vec<entry::Model> {
        let times = |n: i64| {
            // Three entries share each time.
            let arrived = at(n / 3 * 3);
            let published = match n % 6 {
                0 => None,
                1 => Some(at(n + 40)),
                2 => Some(at(n / 2)),
                _ => Some(arrived),
            };
            // Entries whose publication time the feed changed keep their place.
            let sorted = if n % 6 == 2 { arrived } else { Ord::min(published.unwrap_or(arrived), arrived) };
            (published, sorted, arrived)
        };
        let row = |n: i64| {
            let (published_at, sorted_at, created_at) = times(n);
            let feed_id = feeds.ids[usize::from(n % 5 == 0)];
            let (read, starred) = (n % 4 == 0, n % 7 == 0);
            entry::Model { feed_id, published_at, sorted_at, created_at, read, starred, ..feeds.entry(n) }
        };
        (0..96).map(row).collect()
    }

    /// Returns all filters of two feeds, marks and times.
    fn filters(user: UserId, feed: FeedId) -> Vec<EntryFilter> {
        let marks = [None, Some(false), Some(true)];
        let times = [(None, None), (Some(at(30)), None), (None, Some(at(60))), (Some(at(20)), Some(at(70)))];
        let mut filters = Vec::new();
        for feed in [None, Some(feed)] {
            for (read, starred) in marks.into_iter().flat_map(|read| marks.map(|starred| (read, starred))) {
                for (after, before) in times {
                    let feeds = feed.map(|feed| vec![feed]);
                    filters.push(EntryFilter { user, feeds, read, starred, after, before, up_to: None });
                }
            }
        }
        filters
    }

    fn is_match(filter: &EntryFilter, row: &entry::Model) -> bool {
        let published = row.published_at.unwrap_or(row.created_at);
        filter.feeds.as_ref().is_none_or(|feeds| feeds.contains(&row.feed_id))
            && filter.read.is_none_or(|read| row.read == read)
            && filter.starred.is_none_or(|starred| row.starred == starred)
            && filter.after.is_none_or(|after| published > after)
            && filter.before.is_none_or(|before| published < before)
    }

    async fn read(db: &Db, page: &SelectStatement) -> Vec<entry::Model> {
        let statement = db.read().get_database_backend().build(page);
        entry::Model::find_by_statement(statement).all(db.read()).await.unwrap()
    }

    #[actix::test]
    async fn pages_of_each_filter_have_the_matching_entries_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let feeds = FollowedFeeds::insert(&db).await;
        let backend = db.read().get_database_backend();
        let mut all = entries(&feeds);
        insert_all::<Entity>(db.write(), all.clone(), None).await.unwrap();
        all.sort_by_key(|row| std::cmp::Reverse((row.sorted_at, row.id)));

        for filter in filters(feeds.user, feeds.ids[1]) {
            let expected: Vec<EntryId> =
                all.iter().filter(|row| is_match(&filter, row)).map(|row| row.id).collect();
            let (mut found, mut last) = (Vec::new(), None);
            loop {
                let rows = read(&db, &filter.page(last, 7, backend)).await;
                let Some(end) = rows.last() else { break };
                last = Some((end.sorted_at, end.id));
                found.extend(rows.iter().map(|row| row.id));
            }
            assert_eq!(found, expected);
        }
    }

    #[actix::test]
    async fn pages_of_each_filter_are_read_in_the_order_of_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let backend = db.read().get_database_backend();
        let last = Some((at(50), EntryId(Uuid::nil())));

        for filter in filters(UserId::new(NOW), FeedId::new(NOW)) {
            for page in [filter.page(None, 7, backend), filter.page(last, 7, backend)] {
                let plan = QueryPlan::of(&db, backend.build(&page)).await.unwrap();
                let has_marks = filter.read.is_some() || filter.starred.is_some();
                let index = match (filter.feeds.is_some(), has_marks) {
                    (false, false) => "entry_user ",
                    (false, true) => "entry_user_marks ",
                    (true, false) => "entry_user_feed ",
                    (true, true) => "entry_feed_marks ",
                };
                let mut searches = plan.steps.iter().filter(|step| step.starts_with("SEARCH"));
                assert!(!plan.sorts() && plan.full_scans().is_empty(), "{plan:#?}");
                assert!(
                    searches.all(|step| step.contains(index) || step.contains("entry_user_moved ")),
                    "{plan:#?}"
                );
            }
        }
    }

    #[actix::test]
    async fn entries_of_several_feeds_end_at_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let feeds = FollowedFeeds::insert(&db).await;
        let backend = db.read().get_database_backend();
        let mut all = entries(&feeds);
        insert_all::<Entity>(db.write(), all.clone(), None).await.unwrap();
        all.sort_by_key(|row| std::cmp::Reverse((row.sorted_at, row.id)));
        let place = (all[20].sorted_at, all[20].id);
        let filter = EntryFilter {
            user: feeds.user,
            feeds: Some(feeds.ids.to_vec()),
            read: Some(false),
            starred: None,
            after: None,
            before: None,
            up_to: Some(place),
        };

        let page = filter.page(None, 100, backend);
        let found: Vec<EntryId> = read(&db, &page).await.iter().map(|row| row.id).collect();
        let plan = QueryPlan::of(&db, backend.build(&page)).await.unwrap();

        let expected: Vec<EntryId> = all[..=20].iter().filter(|row| !row.read).map(|row| row.id).collect();
        assert_eq!(found, expected);
        assert!(plan.has_step("entry_feed_marks ") && !plan.sorts(), "{plan:#?}");
    }
}
