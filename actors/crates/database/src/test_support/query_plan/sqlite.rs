//! Plans of SQLite, which are lists of steps.

use sea_orm::{ConnectionTrait, DbErr, Statement};

use super::rows_read::{PartialRead, RowsRead};
use crate::test_support::schema::Schema;

/// Explains a statement.
pub(super) async fn explain(db: &impl ConnectionTrait, statement: Statement) -> Result<Vec<String>, DbErr> {
    let explained = Statement { sql: format!("EXPLAIN QUERY PLAN {}", statement.sql), ..statement };
    db.query_all_raw(explained).await?.iter().map(|row| row.try_get("", "detail")).collect()
}

/// Returns what the steps of a statement read from end to end.
pub(super) fn rows_read(sql: &str, steps: &[String], schema: &Schema) -> RowsRead {
    let mut read = RowsRead::default();
    for step in steps {
        let (access, is_scan) = match (step.strip_prefix("SCAN "), step.strip_prefix("SEARCH ")) {
            (Some(access), _) => (access, true),
            // SQLite makes the index for this statement alone, from all rows.
            (None, Some(access)) if access.contains(" USING AUTOMATIC ") => (access, true),
            (None, Some(access)) if is_by_owner(access) => (access, false),
            (None, _) => continue,
        };
        let Some(table) = table_read(sql, access, schema) else { continue };
        let partial = index_of(access).filter(|index| schema.is_partial(index));
        match (partial, is_scan) {
            (None, true) => read.full_scans.push(step.clone()),
            (None, false) => read.owner_scans.push(table),
            (Some(index), is_scan) => {
                let partial = PartialRead { index: index.to_owned(), table, step: step.clone() };
                let reads = if is_scan { &mut read.partial_scans } else { &mut read.partial_owner_scans };
                reads.push(partial);
            }
        }
    }
    read
}

/// Returns the table that a step reads, in itself or in an index. `access` is what follows `SCAN` or `SEARCH`. It may also read a
/// constant row, a subquery, or the words of FTS5.
pub(super) fn table_read(sql: &str, access: &str, schema: &Schema) -> Option<String> {
    if is_search_of_fts5(access) {
        return None;
    }
    let name = access.split(' ').next().unwrap_or(access);
    tables_named(sql, name).into_iter().find(|table| schema.has_table(table))
}

/// Returns the index that a step reads.
pub(super) fn index_of(access: &str) -> Option<&str> {
    access.split_once("INDEX ").and_then(|(_, index)| index.split(' ').next())
}

/// Returns the tables that a name in a plan may stand for: the one of this name, and those that the SQL calls so
/// (`FROM "job" AS "waiting"`). A subquery or an expression before `AS` is not one of them.
fn tables_named(sql: &str, name: &str) -> Vec<String> {
    let is_quote = |c: char| !(c.is_alphanumeric() || c == '_');
    let words: Vec<&str> = sql.split_whitespace().collect();
    let aliased = words.windows(4).filter_map(|words| match words {
        [before, table, by, alias]
            if precedes_table(before)
                && !table.contains(['(', ')', '.'])
                && by.eq_ignore_ascii_case("AS")
                && alias.trim_matches(is_quote) == name =>
        {
            Some(table.trim_matches(is_quote).to_owned())
        }
        _ => None,
    });
    aliased.chain([name.to_owned()]).collect()
}

/// Returns whether the name of a table may follow this word.
fn precedes_table(word: &str) -> bool {
    word.ends_with(',') || ["FROM", "JOIN", "UPDATE"].iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// Returns whether a step reads rows of FTS5 by words or by their numbers, or a range of its terms.
fn is_search_of_fts5(access: &str) -> bool {
    // The bits by which FTS5 notes a lower and an upper bound of the terms.
    const TERM_BOUNDS: u32 = 0x600;
    let Some((_, plan)) = access.split_once(" VIRTUAL TABLE INDEX ") else { return false };
    // `M` stands for MATCH, `=` for the number of a row.
    let number = plan.split(':').next().and_then(|number| number.parse::<u32>().ok());
    plan.starts_with("0:M")
        || plan.starts_with("0:=")
        || number.is_some_and(|number| number & TERM_BOUNDS == TERM_BOUNDS)
}

/// Returns whether a step searches an index by the owner alone.
fn is_by_owner(access: &str) -> bool {
    access.contains("(user_id=?)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subqueries_and_columns_are_no_tables() {
        let tables = |sql: &str| tables_named(sql, "kept");

        for sql in [
            r#"SELECT "n" FROM "job" AS "kept""#,
            r#"SELECT "n" FROM "bird" JOIN "job" AS "kept" ON TRUE"#,
            r#"SELECT "n" FROM "bird", "job" AS "kept""#,
            r#"SELECT EXISTS(SELECT 1 FROM "job" AS "kept") AS "found""#,
        ] {
            assert_eq!(tables(sql), ["job", "kept"], "{sql}");
        }
        for sql in [
            r#"SELECT "n" FROM (SELECT "n" FROM "job") AS "kept""#,
            r#"SELECT "n", "job"."n" AS "kept" FROM "bird""#,
            r#"SELECT COUNT("n") AS "kept" FROM "job""#,
        ] {
            assert_eq!(tables(sql), ["kept"], "{sql}");
        }
    }
}
