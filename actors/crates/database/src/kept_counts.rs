//! SQL that compares the kept counts with the rows that they count, and recounts them. The triggers that keep them are in
//! `migration::kept_counts`.

use migration::kept_counts::{CountTable, count_tables};

/// Returns SQL that selects the `user_id` of every user of whom a count differs from the rows, is missing, or counts nothing that
/// exists. It reads the counted tables completely.
pub fn differing_users_query() -> String {
    let of_tables: Vec<String> = count_tables().iter().map(differing_owners).collect();
    format!("{} ORDER BY user_id", of_tables.join(" UNION "))
}

/// Selects the users whose rows in a table of counts differ from a recount.
fn differing_owners(counts: &CountTable) -> String {
    let (table, key) = (counts.table, counts.key.join(", "));
    let each = |to_sql: &dyn Fn(&str) -> String, separator: &str| {
        counts.counts.iter().map(|count| to_sql(count)).collect::<Vec<_>>().join(separator)
    };
    let kept = format!("SELECT {key}, {}, 1 AS kept_rows FROM {table}", counts.counts.join(", "));
    let right = format!(
        "SELECT {key}, {}, -1 AS kept_rows FROM ({}) AS right_counts",
        each(&|count: &str| format!("-{count} AS {count}"), ", "),
        counts.right_counts(false)
    );
    format!(
        "SELECT user_id FROM ({kept} UNION ALL {right}) AS either GROUP BY {key} \
         HAVING {} OR SUM(kept_rows) <> 0",
        each(&|count: &str| format!("SUM({count}) <> 0"), " OR ")
    )
}

/// Returns the statements that recount a user: they delete the counts and insert those of the rows, which indexes find. Run them in one
/// transaction in which nothing else of the user changes. The user's id is the only parameter of each, `$1`.
pub fn recount_statements() -> Vec<String> {
    let of_table = |counts: &CountTable| {
        let columns = counts.key.iter().chain(&counts.counts).copied().collect::<Vec<_>>().join(", ");
        [
            format!("DELETE FROM {} WHERE user_id = $1", counts.table),
            format!("INSERT INTO {} ({columns}) {}", counts.table, counts.right_counts(true)),
        ]
    };
    count_tables().iter().flat_map(of_table).collect()
}
