//! The merge of the index of titles on SQLite (`migration::title_search`).
//!
//! A deleted text is only marked in the index, so its trigrams stay in the file until the index is merged. The merge of the whole index is
//! done in steps, each a short transaction, because SQLite has one writer. Its state is a row, so it continues after a restart. Texts that
//! are deleted while it runs are left to the next one.

use std::time::Duration;

use database::Db;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement, Value};
use values::time::Timestamp;

/// Time from the start of a merge to the earliest start of the next one. A merge reads and writes the whole index.
const MERGE_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Pages of 4 KB that a step writes. Measured: 16 ms at the median and 44 ms at most for a step, of which 12 ms are the sync of the disk;
/// 52 steps for the index of 80,000 bookmarks.
const STEP_PAGES: i64 = 64;
/// Rows that the command `merge` changes at least if it merged anything; the command itself counts as one.
const CHANGES_OF_A_MERGE: i64 = 2;

/// Selects whether the merge that is due was begun already; no row if none is due. A time of the future is one of a clock that was wrong.
const DUE_MERGE: &str = "SELECT is_running FROM title_search_merge
    WHERE is_running OR (has_deleted_texts AND (began_at <= $1 OR began_at > $2))";
const BEGIN_MERGE: &str =
    "UPDATE title_search_merge SET has_deleted_texts = FALSE, is_running = TRUE, began_at = $1";
const END_MERGE: &str = "UPDATE title_search_merge SET is_running = FALSE";
const MERGE: &str = "INSERT INTO title_search (title_search, rank) VALUES ('merge', $1)";
const CHANGES: &str = "SELECT total_changes()";

/// Does the next step of the merge if one is due: it was begun, or texts were deleted since the last one began, a day ago or earlier.
/// Returns whether it has further steps. Does nothing on PostgreSQL.
///
/// # Errors
/// [`DbErr`] when the database fails. The step is not done then.
pub async fn merge_step(db: &Db, now: Timestamp) -> Result<bool, DbErr> {
    merge_pages(db, now, STEP_PAGES).await
}

async fn merge_pages(db: &Db, now: Timestamp, pages: i64) -> Result<bool, DbErr> {
    // Looked up by a reader first, so that the writer is not used if nothing is due.
    if db.is_postgres() || due_merge(db.read(), now).await?.is_none() {
        return Ok(false);
    }
    let txn = db.begin().await?;
    // Another process may have done the last step since then.
    let Some(is_running) = due_merge(&txn, now).await? else { return Ok(false) };
    if !is_running {
        txn.execute_raw(statement(BEGIN_MERGE, [now.into()])).await?;
    }
    let before = changes(&txn).await?;
    // A negative number begins a merge of the whole index, a positive one continues it.
    let pages = if is_running { pages } else { -pages };
    txn.execute_raw(statement(MERGE, [pages.into()])).await?;
    let is_merged = is_running && changes(&txn).await? - before < CHANGES_OF_A_MERGE;
    if is_merged {
        txn.execute_raw(statement(END_MERGE, [])).await?;
    }
    txn.commit().await?;
    Ok(!is_merged)
}

fn statement<const N: usize>(sql: &str, values: [Value; N]) -> Statement {
    Statement::from_sql_and_values(DbBackend::Sqlite, sql, values)
}

/// Returns whether the merge that is due was begun already, or `None` if none is due.
async fn due_merge(db: &impl ConnectionTrait, now: Timestamp) -> Result<Option<bool>, DbErr> {
    let due = statement(DUE_MERGE, [(now - MERGE_INTERVAL).into(), now.into()]);
    db.query_one_raw(due).await?.map(|row| row.try_get_by_index(0)).transpose()
}

/// Returns how many rows the connection has changed, in the tables of the index too.
async fn changes(db: &impl ConnectionTrait) -> Result<i64, DbErr> {
    let row = db.query_one_raw(statement(CHANGES, [])).await?;
    row.map_or(Ok(0), |row| row.try_get_by_index(0))
}

#[cfg(test)]
mod tests;
