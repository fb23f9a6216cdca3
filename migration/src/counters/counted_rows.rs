//! SQL that recounts the rows of each counter.

use super::sum_counters::{
    ACCOUNT_COUNTERS, FEED_COUNTERS, PENDING_JOBS, PROJECT_COUNTERS, SumCounter, SumCounterTable,
};

/// A table of counters, and the rows that it counts.
pub struct CounterTable {
    /// Its name.
    pub table: &'static str,
    /// The columns of its primary key, of which `user_id` is the first.
    pub key: &'static [&'static str],
    /// The columns with the numbers.
    pub counts: Vec<&'static str>,
    /// Selects of the counted rows. Each selects the columns of the key and the values that are added to the numbers, in this order.
    /// A select of zeros stands for the rows that the table has although nothing is counted.
    rows: Vec<RowSelect>,
}

/// A select of counted rows.
struct RowSelect {
    /// The select, up to the condition.
    select: String,
    /// The column of the owner.
    owner: &'static str,
    /// The condition that a row counts; `None` if all do.
    condition: Option<&'static str>,
}

impl CounterTable {
    /// Returns a select of the right numbers: the columns of the key, then those with the numbers. With `only_of_user` it counts
    /// those of the user `$1`; an index finds the rows.
    pub fn right_counts(&self, only_of_user: bool) -> String {
        let rows = self.rows.iter().map(|rows| rows.to_sql(only_of_user)).collect::<Vec<_>>();
        let key = self.key.join(", ");
        // On PostgreSQL the sum of BIGINT is NUMERIC, which no integer of Rust decodes.
        let sums = self.counts.iter().map(|count| format!("CAST(SUM({count}) AS BIGINT) AS {count}"));
        let sums = sums.collect::<Vec<_>>().join(", ");
        format!("SELECT {key}, {sums} FROM ({}) AS counted GROUP BY {key}", rows.join(" UNION ALL "))
    }
}

impl RowSelect {
    fn to_sql(&self, only_of_user: bool) -> String {
        let of_user = only_of_user.then(|| format!("{} = $1", self.owner));
        let conditions: Vec<String> = of_user.into_iter().chain(self.condition.map(str::to_owned)).collect();
        if conditions.is_empty() {
            self.select.clone()
        } else {
            format!("{} WHERE {}", self.select, conditions.join(" AND "))
        }
    }
}

/// The counters of accounts.
pub(super) fn accounts() -> CounterTable {
    let zeros =
        "SELECT \"user\".id AS user_id, ".to_owned() + &values(&ACCOUNT_COUNTERS, "") + " FROM \"user\"";
    let owners = RowSelect { select: zeros, owner: "\"user\".id", condition: None };
    of_counters(&ACCOUNT_COUNTERS, owners)
}

/// The counters of followed feeds.
pub(super) fn feeds() -> CounterTable {
    let zeros = "SELECT user_id, id AS feed_id, ".to_owned() + &values(&FEED_COUNTERS, "") + " FROM feed";
    of_counters(&FEED_COUNTERS, RowSelect { select: zeros, owner: "user_id", condition: None })
}

/// The counters of projects.
pub(super) fn projects() -> CounterTable {
    let zeros =
        "SELECT user_id, id AS project_id, ".to_owned() + &values(&PROJECT_COUNTERS, "") + " FROM project";
    let owners = RowSelect { select: zeros, owner: "user_id", condition: None };
    // Through the projects, as the members of collections below.
    let items = RowSelect {
        select: "SELECT project.user_id AS user_id, project.id AS project_id, ".to_owned()
            + &values(&PROJECT_COUNTERS, "project_item")
            + " FROM project CROSS JOIN project_item",
        owner: "project.user_id",
        condition: Some("project_item.project_id = project.id"),
    };
    of_rows(&PROJECT_COUNTERS, vec![owners, items])
}

fn of_counters(counts: &SumCounterTable, owners: RowSelect) -> CounterTable {
    let of_source = |source: &'static str| {
        let key = counts.key.join(", ");
        let select = format!("SELECT {key}, {} FROM {source}", values(counts, source));
        // The index of the jobs of a user has only those that wait or run.
        let condition = (source == PENDING_JOBS.source).then_some("state IN ('queued', 'running')");
        RowSelect { select, owner: "user_id", condition }
    };
    of_rows(counts, std::iter::once(owners).chain(counts.sources().into_iter().map(of_source)).collect())
}

fn of_rows(counts: &SumCounterTable, rows: Vec<RowSelect>) -> CounterTable {
    let names = counts.counters.iter().map(|counter| counter.column).collect();
    CounterTable { table: counts.table, key: counts.key, counts: names, rows }
}

/// The values of a row of a counted table: zero for the numbers of other tables.
fn values(counts: &SumCounterTable, source: &str) -> String {
    let value = |counter: &SumCounter| {
        let value = if counter.source == source { counter.value_of("") } else { "0".to_owned() };
        format!("{value} AS {}", counter.column)
    };
    counts.counters.iter().map(value).collect::<Vec<_>>().join(", ")
}

const BOOKMARK_IS_NOT_DELETED: &str = "bookmark.deleted_at IS NULL";

/// The counters of tags. A tag that no bookmark has any more has no row.
pub(super) fn tags() -> CounterTable {
    let select = "SELECT bookmark_tag.user_id AS user_id, bookmark_tag.name AS name, 1 AS bookmarks \
                  FROM bookmark_tag JOIN bookmark ON bookmark.id = bookmark_tag.bookmark_id";
    let tagged = RowSelect {
        select: select.to_owned(),
        owner: "bookmark_tag.user_id",
        condition: Some(BOOKMARK_IS_NOT_DELETED),
    };
    CounterTable {
        table: "tag_count",
        key: &["user_id", "name"],
        counts: vec!["bookmarks"],
        rows: vec![tagged],
    }
}

/// The counters of collections.
pub(super) fn collections() -> CounterTable {
    let zeros = "SELECT user_id, id AS collection_id, 0 AS bookmarks FROM collection";
    // Through the collections, because no index of the memberships begins with the owner. A cross join, because SQLite keeps its
    // order.
    let select = "SELECT collection.user_id AS user_id, collection.id AS collection_id, 1 AS bookmarks \
                  FROM collection CROSS JOIN collection_bookmark CROSS JOIN bookmark";
    let members = RowSelect {
        select: select.to_owned(),
        owner: "collection.user_id",
        condition: Some(
            "collection_bookmark.collection_id = collection.id AND bookmark.id = collection_bookmark.bookmark_id \
             AND bookmark.deleted_at IS NULL",
        ),
    };
    let rows = vec![RowSelect { select: zeros.to_owned(), owner: "user_id", condition: None }, members];
    CounterTable {
        table: "collection_count",
        key: &["user_id", "collection_id"],
        counts: vec!["bookmarks"],
        rows,
    }
}
