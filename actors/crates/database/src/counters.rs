//! SQL that compares the counters with the rows that they count, and recounts them. The triggers that keep them are in
//! `migration::counters`.

use migration::counters::{CounterTable, counter_tables, kept_columns};

/// Returns SQL that selects the `user_id` of every user of whom a counter differs from the rows, is missing, or counts nothing that
/// exists, and of whom a column is wrong by which rows count. It reads the counted tables completely.
pub fn differing_users_query() -> String {
    let of_tables = counter_tables().into_iter().map(|counts| differing_owners(&counts));
    let of_columns = kept_columns().into_iter().map(|column| column.differing_owners);
    format!("{} ORDER BY user_id", of_tables.chain(of_columns).collect::<Vec<_>>().join(" UNION "))
}

/// Selects the users whose rows in a table of counters differ from a recount.
fn differing_owners(counts: &CounterTable) -> String {
    let (table, key) = (counts.table, counts.key.join(", "));
    let each = |to_sql: &dyn Fn(&str) -> String, separator: &str| {
        counts.counts.iter().map(|count| to_sql(count)).collect::<Vec<_>>().join(separator)
    };
    let stored = format!("SELECT {key}, {}, 1 AS stored_rows FROM {table}", counts.counts.join(", "));
    let right = format!(
        "SELECT {key}, {}, -1 AS stored_rows FROM ({}) AS right_counts",
        each(&|count: &str| format!("-{count} AS {count}"), ", "),
        counts.right_counts(false)
    );
    format!(
        "SELECT user_id FROM ({stored} UNION ALL {right}) AS either GROUP BY {key} \
         HAVING {} OR SUM(stored_rows) <> 0",
        each(&|count: &str| format!("SUM({count}) <> 0"), " OR ")
    )
}

/// Returns the statements that recount a user: they correct the columns by which rows count, delete the counters, and insert those of the
/// rows, which indexes find. Run them in one
/// transaction in which nothing else of the user changes. The user's id is the only parameter of each, `$1`.
pub fn recount_statements() -> Vec<String> {
    let of_table = |counts: &CounterTable| {
        let columns = counts.key.iter().chain(&counts.counts).copied().collect::<Vec<_>>().join(", ");
        [
            format!("DELETE FROM {} WHERE user_id = $1", counts.table),
            format!("INSERT INTO {} ({columns}) {}", counts.table, counts.right_counts(true)),
        ]
    };
    let corrections = kept_columns().into_iter().map(|column| column.correction);
    corrections.chain(counter_tables().iter().flat_map(of_table)).collect()
}
