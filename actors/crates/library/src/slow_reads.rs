//! Statements that may take longer than a request, such as reads of whole tables.

use database::{Db, Transaction};
use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, QueryResult, Statement};
use values::id::UserId;

/// Returns the column `user_id` of the rows of a query without parameters.
pub(crate) async fn read_user_ids(db: &Db, query: String) -> Result<Vec<UserId>, DbErr> {
    let statement = Statement::from_string(db.read().get_database_backend(), query);
    let rows = read_slowly(db, statement).await?;
    rows.iter().map(|row| row.try_get("", "user_id")).collect()
}

/// Returns the rows of a statement that may take longer than a request.
pub(crate) async fn read_slowly(db: &Db, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
    if !db.is_postgres() {
        // On SQLite a reader blocks no other statement, and has no time limit.
        return db.read().query_all_raw(statement).await;
    }
    // Its drop rolls the transaction back.
    let txn = db.begin().await?;
    lift_timeout(&txn).await?;
    txn.query_all_raw(statement).await
}

/// Lets the statements of a transaction of PostgreSQL take any time. SQLite has no time limit.
pub(crate) async fn lift_timeout(txn: &Transaction) -> Result<(), DbErr> {
    if txn.get_database_backend() == DatabaseBackend::Postgres {
        // The pool sets a timeout for every connection. SET LOCAL lifts it for this transaction alone.
        txn.execute_unprepared("SET LOCAL statement_timeout = 0").await?;
    }
    Ok(())
}
