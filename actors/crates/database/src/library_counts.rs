//! SQL that compares the counters of the bytes of libraries with the rows that they count. The triggers that keep the counters, and the
//! list of the counted tables, are in `migration::library_usage`.

use migration::library_usage::{COUNTED_TABLES, CountedTable};

pub use migration::library_usage::ROW_BYTES;

/// Returns the names of the counted tables.
pub fn counted_tables() -> Vec<&'static str> {
    COUNTED_TABLES.iter().map(|counted| counted.table).collect()
}

/// Returns every counted column as a pair of table and column.
pub fn counted_columns() -> Vec<(&'static str, &'static str)> {
    let of_table = |counted: &CountedTable| {
        let table = counted.table;
        counted.columns.iter().map(move |column| (table, *column))
    };
    COUNTED_TABLES.iter().flat_map(of_table).collect()
}

/// Returns the sums of every counted table as one select with the columns `user_id`, `bytes`, `responses` and `response_bytes`,
/// over the rows of the `FROM` clauses that `from` makes.
fn sums_query(from: fn(&CountedTable) -> String) -> String {
    let of_table = |counted: &CountedTable| {
        let table = counted.table;
        let bytes = counted.stored_bytes(&format!("{table}."));
        let (responses, response_bytes) =
            if counted.is_stored_response { ("1", bytes.as_str()) } else { ("0", "0") };
        format!(
            "SELECT {table}.user_id AS user_id, {bytes} AS bytes, {responses} AS responses, \
             {response_bytes} AS response_bytes FROM {}",
            from(counted)
        )
    };
    let rows = COUNTED_TABLES.iter().map(of_table).collect::<Vec<_>>().join(" UNION ALL ");
    // On PostgreSQL the sum of BIGINT is NUMERIC, which no integer of Rust decodes.
    format!(
        "SELECT user_id, CAST(SUM(bytes) AS BIGINT) AS bytes, CAST(SUM(responses) AS BIGINT) AS responses, \
         CAST(SUM(response_bytes) AS BIGINT) AS response_bytes FROM ({rows}) AS counted GROUP BY user_id"
    )
}

/// Returns SQL that selects by how much a user's rows differ from the counters: `bytes`, `responses` and `response_bytes`, each
/// to be added to its counter. Selects no row if there are no counters for the user. The user's id is the only parameter, `$1`.
/// Every table is read by an index.
pub fn difference_query() -> String {
    format!(
        "SELECT COALESCE(sums.bytes, 0) - counter.bytes AS bytes,
           COALESCE(sums.responses, 0) - counter.responses AS responses,
           COALESCE(sums.response_bytes, 0) - counter.response_bytes AS response_bytes
         FROM library_usage AS counter LEFT JOIN ({}) AS sums ON sums.user_id = counter.user_id
         WHERE counter.user_id = $1",
        sums_query(CountedTable::rows_of_user)
    )
}

/// Returns SQL that selects the `user_id` of every user of whom a counter differs from the rows, or is missing. It reads the counted tables
/// completely.
pub fn differing_users_query() -> String {
    format!(
        r#"SELECT "user".id AS user_id FROM "user"
           LEFT JOIN library_usage AS counter ON counter.user_id = "user".id
           LEFT JOIN ({}) AS sums ON sums.user_id = "user".id
           WHERE counter.user_id IS NULL OR counter.bytes <> COALESCE(sums.bytes, 0)
             OR counter.responses <> COALESCE(sums.responses, 0)
             OR counter.response_bytes <> COALESCE(sums.response_bytes, 0)
           ORDER BY "user".id"#,
        sums_query(|counted| counted.table.to_owned())
    )
}
