//! Lets PostgreSQL plan for large tables, whatever a test has in them.
//!
//! PostgreSQL chooses by estimates. For a few rows all indexes of a table cost the same, so it may read all rows of an owner although
//! another index finds the one that is asked for, and which index it takes depends on what the test has saved and on when the server
//! counted the rows. Here the planner is given the same estimates for every table:
//!
//! - a million rows: the number in the catalog is one for each page of the file, so a table needs a page. A table without any gets one by
//!   a row that is rolled back;
//! - twenty owners, each of whom has 50,000 rows: to read all rows of an owner costs more than to look up hundreds;
//! - distinct ids, hashes and URLs otherwise, each of which a few rows have. Of other columns the planner then believes what it does without
//!   statistics: a value is that of one row of 200;
//! - a null in half of the rows, where a column allows one. Without statistics the planner believes that few rows have one, and so that
//!   the rows that are not deleted are few.
//!
//! With one page for all rows the pages cost nothing. What a plan costs is the number of rows that it reads.

use sea_orm::{ConnectionTrait, DbErr};

/// The statements, which need a superuser. They stay in the transaction.
const STATEMENTS: [&str; 7] = [
    // The server counts the rows of a table at any time. It waits for the transaction.
    "LOCK TABLE pg_statistic IN SHARE ROW EXCLUSIVE MODE",
    // Without foreign keys and triggers.
    "SET LOCAL session_replication_role = replica",
    "DO $$
     DECLARE
       empty RECORD;
     BEGIN
       FOR empty IN
         SELECT pg_class.oid::regclass AS name, string_agg(quote_ident(attname), ', ') AS columns,
                string_agg(CASE WHEN atttypid = 'uuid'::regtype THEN 'gen_random_uuid()'
                  WHEN attndims > 0 THEN '''{0}''' ELSE '''0''' END, ', ') AS cells
         FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
         WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_relation_size(pg_class.oid) = 0
           AND attnum > 0 AND attgenerated = '' AND NOT attisdropped
         GROUP BY pg_class.oid
       LOOP
         EXECUTE format('INSERT INTO %s (%s) VALUES (%s)', empty.name, empty.columns, empty.cells);
       END LOOP;
     END
     $$",
    "SET LOCAL session_replication_role = origin",
    "DELETE FROM pg_statistic
     WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)",
    "INSERT INTO pg_statistic (starelid, staattnum, stainherit, stanullfrac, stawidth, stadistinct,
       stakind1, stakind2, stakind3, stakind4, stakind5, staop1, staop2, staop3, staop4, staop5,
       stacoll1, stacoll2, stacoll3, stacoll4, stacoll5)
     SELECT attrelid, attnum, FALSE, CASE WHEN attnotnull THEN 0 ELSE 0.5 END, 16,
       CASE WHEN attname = 'user_id' THEN 20
         WHEN atttypid IN ('uuid'::regtype, 'bytea'::regtype) OR attname LIKE '%url' THEN -0.1 ELSE 0 END,
       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped",
    "UPDATE pg_class SET reltuples = 1000000,
       relpages = GREATEST(1, pg_relation_size(oid) / current_setting('block_size')::bigint)
     WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')",
];

/// Makes the planner believe, until the end of a transaction on PostgreSQL, that all tables are large. The transaction must be rolled back.
///
/// # Errors
/// [`DbErr`] when the user of the database is no superuser, or when a table is locked.
pub(super) async fn assume_large_tables(txn: &impl ConnectionTrait) -> Result<(), DbErr> {
    for statement in STATEMENTS {
        txn.execute_unprepared(statement).await?;
    }
    Ok(())
}
