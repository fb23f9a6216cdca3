//! Compares the counters (`migration::counters`) with the rows that they count, and corrects them.

use database::{Db, counters};
use errors::Error;
use sea_orm::{ConnectionTrait, Statement};
use values::id::UserId;

use crate::owned_transaction::begin_owned;
use crate::slow_reads::{lift_timeout, read_user_ids};

/// Returns the users of whom a counter differs from the rows: none, unless the tables or their triggers were changed by hand. Reads
/// every counted table completely.
pub async fn find_miscounted_users(db: &Db) -> Result<Vec<UserId>, Error> {
    Ok(read_user_ids(db, counters::differing_users_query()).await?)
}

/// Recounts the rows of a user. Meanwhile no other transaction changes the counters of the user; on SQLite none changes those of any user.
pub async fn recount(db: &Db, user: UserId) -> Result<(), Error> {
    let txn = begin_owned(db, user).await?;
    lift_timeout(&txn).await?;
    let backend = txn.get_database_backend();
    for statement in counters::recount_statements() {
        txn.execute_raw(Statement::from_sql_and_values(backend, statement, [user.into()])).await?;
    }
    Ok(txn.commit().await?)
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::DbBackend;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn rows_of_one_user_are_counted_by_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let user = UserId(Uuid::from_u128(7));

        for statement in counters::recount_statements() {
            let recount = Statement::from_sql_and_values(DbBackend::Sqlite, statement, [user.into()]);
            let plan = QueryPlan::of(&db, recount).await.unwrap();

            assert!(plan.full_scans().is_empty(), "{plan:#?}");
        }
    }
}
