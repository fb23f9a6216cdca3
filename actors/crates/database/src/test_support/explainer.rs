//! Explains statements apart from the database to which they were sent.

use std::time::Duration;

use migration::{Migrator, MigratorTrait};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbErr, Statement,
    TransactionTrait,
};

use super::large_tables::assume_large_tables;
use super::query_plan::QueryPlan;
use super::schema::Schema;
use super::triggers::{postgres_functions, sqlite_statements};

/// How long a connection to PostgreSQL may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A separate connection that explains statements. It must be used in the runtime in which it was opened.
pub struct Explainer {
    session: Session,
    schema: Schema,
}

/// Where statements are explained.
enum Session {
    Sqlite(DatabaseConnection),
    /// A transaction in which all tables are large. Its drop rolls it back.
    Postgres(DatabaseTransaction),
}

impl Explainer {
    /// Creates empty tables in the memory of SQLite. Without statistics, which no database of the server has, SQLite makes the same plans
    /// for them as for tables with rows. So statements can be explained whatever happened to the file to which they were sent.
    ///
    /// # Errors
    /// [`DbErr`] when a migration fails.
    pub async fn of_empty_tables() -> Result<Self, DbErr> {
        let mut options = ConnectOptions::new("sqlite::memory:");
        // A second connection, or one that replaces the first, would have a database without tables.
        options.max_connections(1).idle_timeout(None::<Duration>).max_lifetime(None::<Duration>);
        options.sqlx_logging(false);
        let connection = Database::connect(options).await?;
        let txn = connection.begin().await?;
        Migrator::up(&txn, None).await?;
        txn.commit().await?;
        let schema = Schema::read(&connection).await?;
        Ok(Self { session: Session::Sqlite(connection), schema })
    }

    /// Connects to PostgreSQL as a superuser. Plans are made as if all tables were large, whatever rows they have.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be reached, when its user is no superuser, or when a table is locked.
    pub async fn of_postgres(url: &str) -> Result<Self, DbErr> {
        let mut options = ConnectOptions::new(url);
        options.max_connections(1).acquire_timeout(CONNECT_TIMEOUT).sqlx_logging(false);
        let connection = Database::connect(options).await?;
        let txn = connection.begin().await?;
        // A test may hold a lock of a table until it ends.
        txn.execute_unprepared("SET LOCAL lock_timeout = '2s'").await?;
        assume_large_tables(&txn).await?;
        let schema = Schema::read(&txn).await?;
        Ok(Self { session: Session::Postgres(txn), schema })
    }

    /// Explains a statement without running it. Returns `None` for commands without a plan, such as `PRAGMA`.
    ///
    /// # Errors
    /// [`DbErr`] when the database refuses the statement.
    pub async fn explain(&self, statement: Statement) -> Result<Option<QueryPlan>, DbErr> {
        if !QueryPlan::exists_for(&statement) {
            return Ok(None);
        }
        match &self.session {
            Session::Sqlite(connection) => {
                QueryPlan::through(connection, &self.schema, statement).await.map(Some)
            }
            Session::Postgres(txn) => {
                // A refused statement leaves the transaction as it was, and locks of the statement are released.
                let savepoint = txn.begin().await?;
                let plan = QueryPlan::through(&savepoint, &self.schema, statement).await;
                savepoint.rollback().await?;
                plan.map(Some)
            }
        }
    }

    /// Explains each statement that the triggers run, and on SQLite their conditions.
    ///
    /// # Errors
    /// [`DbErr`] when the database refuses one of the statements.
    pub async fn explain_triggers(&self) -> Result<Vec<QueryPlan>, DbErr> {
        let mut plans = Vec::new();
        match &self.session {
            Session::Sqlite(connection) => {
                for statement in sqlite_statements(connection).await? {
                    plans.push(QueryPlan::through(connection, &self.schema, statement).await?);
                }
            }
            Session::Postgres(txn) => {
                for function in postgres_functions(txn).await? {
                    let savepoint = txn.begin().await?;
                    for table in function.row_tables() {
                        savepoint.execute_unprepared(&table).await?;
                    }
                    for statement in function.statements {
                        plans.push(QueryPlan::through(&savepoint, &self.schema, statement).await?);
                    }
                    savepoint.rollback().await?;
                }
            }
        }
        Ok(plans)
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::DatabaseBackend;

    use super::*;

    #[tokio::test]
    async fn statements_are_explained_by_the_tables_of_the_migrations() {
        let explainer = Explainer::of_empty_tables().await.unwrap();
        let explain = async |sql: &str| {
            explainer.explain(Statement::from_string(DatabaseBackend::Sqlite, sql)).await.unwrap()
        };

        let scan = explain(r#"SELECT "title" FROM "document""#).await.unwrap();
        let found = explain(r#"SELECT "title" FROM "document" WHERE "id" = 1"#).await.unwrap();

        assert_eq!(scan.full_scans().len(), 1, "{scan:#?}");
        assert!(found.full_scans().is_empty(), "{found:#?}");
        assert!(explain("PRAGMA user_version").await.is_none());
    }
}
