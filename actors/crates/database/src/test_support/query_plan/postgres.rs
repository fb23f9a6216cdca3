//! Plans of PostgreSQL, which are trees of nodes.
//!
//! A test has few rows, and for those PostgreSQL prefers to read, hash and sort whole tables. So its plans are made for tables that it
//! believes to be large ([`large_tables`](crate::test_support::large_tables)), and as if that were expensive: they do so only where no
//! index serves the statement.

use sea_orm::{ConnectionTrait, DbErr, JsonValue, Statement};

use super::rows_read::{PartialRead, RowsRead};
use crate::test_support::schema::Schema;

/// The settings of the plan by which sorts are judged. An index that has the order is then preferred to one that finds the rows.
const WITHOUT_SORTS: [(&str, &str); 7] = [
    ("random_page_cost", "1"),
    ("enable_seqscan", "off"),
    ("enable_sort", "off"),
    ("enable_incremental_sort", "off"),
    ("enable_hashjoin", "on"),
    ("enable_mergejoin", "on"),
    ("enable_material", "on"),
];
/// The settings of the plan by which reads of whole tables are judged. A join by hash, merge or stored rows would read all rows of a
/// table in an index, because there are few.
const WITHOUT_SCANS: [(&str, &str); 7] = [
    ("random_page_cost", "1"),
    ("enable_seqscan", "off"),
    ("enable_sort", "on"),
    ("enable_incremental_sort", "on"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
];

/// The nodes that read an index.
const INDEX_SCANS: [&str; 3] = ["Index Scan", "Index Only Scan", "Bitmap Index Scan"];
/// The nodes that read all their rows before they return the first.
const COLLECTING_NODES: [&str; 6] = ["Sort", "Incremental Sort", "Aggregate", "Hash", "WindowAgg", "SetOp"];
/// The parts of a node that are printed below it.
const CONDITIONS: [&str; 5] = ["Index Cond", "Recheck Cond", "Hash Cond", "Join Filter", "Filter"];

/// The plans of a statement.
pub(super) struct PostgresPlans {
    /// The plan by which sorts are judged, printed as `EXPLAIN` does.
    pub without_sorts: Vec<String>,
    /// The plan by which reads of whole tables are judged.
    pub without_scans: Vec<String>,
    /// What the latter reads from end to end.
    pub read: RowsRead,
}

/// Explains a statement in a transaction, whose end restores the settings.
pub(super) async fn explain(
    txn: &impl ConnectionTrait,
    statement: Statement,
    schema: &Schema,
) -> Result<PostgresPlans, DbErr> {
    let sorts = plan_with(txn, &WITHOUT_SORTS, statement.clone()).await?;
    let scans = plan_with(txn, &WITHOUT_SCANS, statement).await?;
    let mut plans =
        PostgresPlans { without_sorts: Vec::new(), without_scans: Vec::new(), read: RowsRead::default() };
    print(&sorts, 0, &mut plans.without_sorts);
    print(&scans, 0, &mut plans.without_scans);
    collect(&scans, false, schema, &mut plans.read);
    Ok(plans)
}

/// Returns the root of the plan that is made with these settings.
async fn plan_with(
    txn: &impl ConnectionTrait,
    settings: &[(&str, &str)],
    statement: Statement,
) -> Result<JsonValue, DbErr> {
    for (name, value) in settings {
        txn.execute_unprepared(&format!("SET LOCAL {name} = {value}")).await?;
    }
    let sql = format!("EXPLAIN (FORMAT JSON, COSTS OFF) {}", statement.sql);
    let row = txn.query_one_raw(Statement { sql, ..statement }).await?;
    let printed: Option<JsonValue> = row.map(|row| row.try_get("", "QUERY PLAN")).transpose()?;
    let root = printed.as_ref().and_then(|printed| printed.get(0)?.get("Plan"));
    root.cloned().ok_or_else(|| DbErr::Custom("PostgreSQL returned no plan".to_owned()))
}

fn text<'a>(node: &'a JsonValue, part: &str) -> &'a str {
    node.get(part).and_then(JsonValue::as_str).unwrap_or_default()
}

fn children(node: &JsonValue) -> impl Iterator<Item = &JsonValue> {
    node.get("Plans").and_then(JsonValue::as_array).into_iter().flatten()
}

/// Returns the first line of a node, such as `Index Scan using job_due on job waiting`.
fn heading(node: &JsonValue) -> String {
    let mut heading = text(node, "Node Type").to_owned();
    for (before, part) in [(" using ", "Index Name"), (" on ", "Relation Name"), (" ", "Alias")] {
        let name = text(node, part);
        let is_repeated = part == "Alias" && name == text(node, "Relation Name");
        if !name.is_empty() && !is_repeated {
            heading.push_str(before);
            heading.push_str(name);
        }
    }
    heading
}

/// Prints a node and those below it.
fn print(node: &JsonValue, depth: usize, steps: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    steps.push(format!("{indent}->  {}", heading(node)));
    for part in CONDITIONS {
        let condition = text(node, part);
        if !condition.is_empty() {
            steps.push(format!("{indent}      {part}: {condition}"));
        }
    }
    for child in children(node) {
        print(child, depth + 1, steps);
    }
}

/// Collects what a node and those below it read from end to end. `is_limited` says that a limit above ends the read early.
fn collect(node: &JsonValue, is_limited: bool, schema: &Schema, read: &mut RowsRead) {
    let kind = text(node, "Node Type");
    // Each of them runs to its end, for a row of the node above.
    let is_subplan = ["SubPlan", "InitPlan"].contains(&text(node, "Parent Relationship"));
    let has_filter = ["Filter", "Join Filter"].iter().any(|part| !text(node, part).is_empty());
    let is_limited = is_limited && !is_subplan && !has_filter;
    // The rows that a statement gives to its triggers are a table too, without an index.
    if kind == "Seq Scan" && schema.has_table(text(node, "Relation Name")) {
        read.full_scans.push(heading(node));
    } else if INDEX_SCANS.contains(&kind) {
        collect_index_scan(node, is_limited, schema, read);
    }
    let is_limited = (is_limited || kind == "Limit") && !COLLECTING_NODES.contains(&kind);
    for child in children(node) {
        collect(child, is_limited, schema, read);
    }
}

/// Collects what a scan of an index reads from end to end: all of it, or all entries of an owner.
fn collect_index_scan(node: &JsonValue, is_limited: bool, schema: &Schema, read: &mut RowsRead) {
    let (index, condition) = (text(node, "Index Name"), text(node, "Index Cond"));
    let table = schema.table_of_index(index).unwrap_or_default().to_owned();
    let partial = || PartialRead { index: index.to_owned(), table: table.clone(), step: heading(node) };
    match (condition.is_empty(), schema.is_partial(index)) {
        (true, true) if !is_limited => read.partial_scans.push(partial()),
        (true, false) if !is_limited => read.full_scans.push(heading(node)),
        // A page in the order of the index reads no more entries than it has.
        (false, true) if names_only_owner(condition) && !is_limited => {
            read.partial_owner_scans.push(partial());
        }
        (false, false) if names_only_owner(condition) => read.owner_scans.push(table),
        _ => {}
    }
}

/// Returns whether the condition of an index, such as `(user_id = $1)`, says whose rows are read, and nothing else.
fn names_only_owner(condition: &str) -> bool {
    condition.trim_start_matches('(').starts_with("user_id = ") && !condition.contains(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(index: &str, further: &str) -> String {
        format!(
            r#"{{"Node Type": "Index Scan", "Index Name": "{index}", "Relation Name": "bird", "Alias": "bird"{further}}}"#
        )
    }

    fn below(kind: &str, node: &str) -> String {
        format!(r#"{{"Node Type": "{kind}", "Plans": [{node}]}}"#)
    }

    fn rows_read(plan: &str) -> RowsRead {
        let mut read = RowsRead::default();
        let schema = Schema::with_partial_index("bird_red", "bird");
        let plan: JsonValue = plan.parse().unwrap();
        collect(&plan, false, &schema, &mut read);
        read
    }

    #[test]
    fn index_that_is_read_without_a_condition_is_a_scan() {
        let (all, found) = (scan("bird_id", ""), scan("bird_id", r#", "Index Cond": "(id = $1)""#));
        let tested = scan("bird_id", r#", "Filter": "(color = $1)""#);
        let step = "Index Scan using bird_id on bird";

        for plan in
            [&all, &below("Sort", &all), &below("Limit", &below("Sort", &all)), &below("Limit", &tested)]
        {
            assert_eq!(rows_read(plan).full_scans, [step], "{plan}");
        }
        for plan in [&found, &below("Limit", &all), &below("Limit", &below("Nested Loop", &all))] {
            assert!(rows_read(plan).full_scans.is_empty(), "{plan}");
        }
    }

    #[test]
    fn index_that_is_read_by_the_owner_alone_is_an_owner_scan() {
        let by = |index: &str, condition: &str| {
            let further = format!(r#", "Index Cond": "{condition}", "Filter": "(color = $2)""#);
            rows_read(&below("Limit", &scan(index, &further)))
        };

        assert_eq!(by("bird_user", "(user_id = $1)").owner_scans.len(), 1);
        assert_eq!(by("bird_user", "(user_id = egg.user_id)").owner_scans.len(), 1);
        assert_eq!(by("bird_red", "(user_id = $1)").partial_owner_scans.len(), 1);
        let found = by("bird_user", "((user_id = $1) AND (id = $2))");
        assert!(found.owner_scans.is_empty() && found.full_scans.is_empty());
    }

    #[test]
    fn partial_index_that_is_read_without_a_condition_is_named() {
        let read = rows_read(&scan("bird_red", ""));

        assert!(read.full_scans.is_empty());
        assert_eq!(read.partial_scans.first().map(|read| read.table.as_str()), Some("bird"));
    }
}
