//! Equality conditions that a search on SQLite leaves to be tested on each row that it finds.

use super::{conditions, sqlite};
use crate::test_support::schema::Schema;

/// The columns that many rows have in common: owners, parents, and kinds and states of rows. A search by these alone finds a number of
/// rows that grows. All others are ids, hashes and the like: what a search by one of those leaves to be tested are a few rows.
const SHARED_COLUMNS: [&str; 19] = [
    "collection_id",
    "content_type",
    "feed_id",
    "flags",
    "import_id",
    "kind",
    "name",
    "outcome",
    "pinned",
    "priority",
    "project_id",
    "read",
    "starred",
    "state",
    "status",
    "surface",
    "track",
    "unread",
    "user_id",
];
/// The parents of rows. All rows of one belong to the same owner, so a condition that names the owner too leaves none out.
const PARENTS: [&str; 4] = ["collection_id", "feed_id", "import_id", "project_id"];

/// A search that binds only some of the equality conditions of its `WHERE`, so that it reads rows that it does not return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualFilter {
    /// The table.
    pub table: String,
    /// The index; empty if the table itself is searched.
    pub index: String,
    /// The step, as [`QueryPlan::steps`](super::QueryPlan::steps) has it.
    pub step: String,
    /// The columns whose conditions are tested on each row.
    pub columns: Vec<String>,
}

/// The columns that a search binds.
struct Bound<'a> {
    /// All of them.
    columns: Vec<&'a str>,
    /// Those that are bound to a value, and not to a range.
    equal: Vec<&'a str>,
}

/// Returns the searches that leave an equality condition to be tested. Only what the SQL tells for sure is looked at:
///
/// - searches by [`SHARED_COLUMNS`], but not those by the owner alone, which are owner scans,
/// - conditions `column = value` and `column IN (values)` in a `WHERE` that also names each column that the search binds; columns
///   without their table count only in a statement with one table,
/// - not those that the condition of a partial index contains.
///
/// A limit is no excuse: a search that tests rows reads past any number of them before it finds enough.
pub(super) fn residual_filters(sql: &str, steps: &[String], schema: &Schema) -> Vec<ResidualFilter> {
    let scopes = conditions::of_each_where(sql);
    let is_alone = scopes.len() == 1 && !sql.contains(" JOIN ") && !sql.contains(" ON CONFLICT ");
    let mut found = Vec::new();
    for step in steps {
        let Some(access) = step.strip_prefix("SEARCH ") else { continue };
        let Some(table) = sqlite::table_read(sql, access, schema) else { continue };
        let Some(bound) = Bound::of(access) else { continue };
        if !bound.finds_shared_rows() {
            continue;
        }
        let index = sqlite::index_of(access).unwrap_or_default();
        let name = access.split(' ').next().unwrap_or(access);
        let mut columns: Vec<String> = scopes
            .iter()
            .filter(|scope| is_alone || bound.columns.iter().all(|column| names_column(scope, name, column)))
            .flatten()
            .filter_map(|condition| equality_column(condition, name, is_alone))
            .filter(|column| bound.leaves(column) && !schema.condition(index).contains(column))
            .map(str::to_owned)
            .collect();
        columns.sort_unstable();
        columns.dedup();
        if !columns.is_empty() {
            found.push(ResidualFilter { table, index: index.to_owned(), step: step.clone(), columns });
        }
    }
    found
}

impl<'a> Bound<'a> {
    /// Reads the columns from a step, such as `job USING INDEX job_due (track=? AND priority=? AND (queue_position,id)>(?,?))`.
    fn of(access: &'a str) -> Option<Self> {
        let (_, terms) = access.split_once(" (")?;
        let mut bound = Self { columns: Vec::new(), equal: Vec::new() };
        for term in terms.split(" AND ") {
            let (names, _) = term.split_once(['=', '<', '>'])?;
            bound.columns.extend(names.trim_matches(['(', ')']).split(','));
            if term.contains("=?") {
                bound.equal.push(names);
            }
        }
        Some(bound)
    }

    /// Returns whether the rows have in common what they are found by, and the search binds more than the owner.
    fn finds_shared_rows(&self) -> bool {
        !self.equal.is_empty()
            && self.columns != ["user_id"]
            && self.equal.iter().all(|column| SHARED_COLUMNS.contains(column))
    }

    /// Returns whether a condition on this column is left to be tested.
    fn leaves(&self, column: &str) -> bool {
        let is_owner_of_parent =
            column == "user_id" && self.equal.iter().any(|column| PARENTS.contains(column));
        !self.columns.contains(&column) && !is_owner_of_parent
    }
}

/// Returns whether one of the conditions names this column of a table, outside of subqueries.
fn names_column(scope: &[&str], table: &str, column: &str) -> bool {
    let (quoted, plain) = (format!(r#""{table}"."{column}""#), format!("{table}.{column}"));
    scope.iter().any(|condition| {
        let outer = condition.split("SELECT ").next().unwrap_or(condition);
        outer.contains(&quoted) || outer.contains(&plain)
    })
}

/// Returns the column of a table that a condition compares with values. `is_alone` says that each column is of this table.
fn equality_column<'a>(condition: &'a str, table: &str, is_alone: bool) -> Option<&'a str> {
    let condition = condition.trim();
    let compared = conditions::without_parentheses(condition).split_once(" = ");
    let is_one = compared.is_some_and(|(_, value)| conditions::is_value(value));
    let listed = condition.trim_start_matches('(').split_once(" IN (");
    let is_list = listed.is_some_and(|(_, values)| values.starts_with('?') && !values.contains(" OR "));
    let found = if is_one { compared } else { listed.filter(|_| is_list) };
    let (side, _) = found?;
    if side.contains([' ', '(']) {
        return None;
    }
    match side.rsplit_once('.') {
        Some((of_table, column)) => (of_table.trim_matches('"') == table).then(|| column.trim_matches('"')),
        None => is_alone.then(|| side.trim_matches('"')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_TRACK: &str = "SEARCH job USING INDEX job_due (track=? AND priority<?)";

    fn columns(sql: &str, step: &str) -> Vec<String> {
        let schema = Schema::with_partial_index("job_due", "job");
        let found = residual_filters(sql, &[step.to_owned()], &schema);
        found.into_iter().flat_map(|filter| filter.columns).collect()
    }

    #[test]
    fn conditions_that_a_search_does_not_bind_are_named() {
        let by_track = |more: &str| {
            format!(r#"SELECT "n" FROM "job" WHERE "job"."track" = ? AND "job"."priority" < ?{more} LIMIT ?"#)
        };

        assert_eq!(columns(&by_track(r#" AND "job"."kind" IN (?, ?)"#), BY_TRACK), ["kind"]);
        assert_eq!(columns(&by_track(r#" AND "job"."user_id" = ?"#), BY_TRACK), ["user_id"]);
        assert_eq!(
            columns("DELETE FROM job WHERE track = ? AND priority < ? AND kind = ?", BY_TRACK),
            ["kind"]
        );
        for other in [
            "",
            r#" AND ("job"."kind" = ? OR "job"."kind" IS NULL)"#,
            r#" AND "job"."subject" = "document"."id""#,
            r#" AND "job"."id" IN (SELECT "id" FROM "egg" WHERE "egg"."kind" = ?)"#,
            r#" AND EXISTS(SELECT 1 FROM "job" WHERE "job"."kind" = ?)"#,
        ] {
            assert!(columns(&by_track(other), BY_TRACK).is_empty(), "{other}");
        }
    }

    #[test]
    fn search_by_an_id_leaves_a_few_rows() {
        let sql = r#"SELECT "n" FROM "job" WHERE "job"."subject" = ? AND "job"."kind" = ?"#;

        assert!(columns(sql, "SEARCH job USING INDEX job_subject (subject=?)").is_empty());
    }
}
