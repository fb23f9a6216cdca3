//! How many statements were sent to the database.

use std::sync::atomic::{AtomicU64, Ordering};

/// The connections through which a statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementRoute {
    /// The thread of its caller ([`crate::Db::direct`]).
    Direct,
    /// The readers.
    Read,
    /// The writer. BEGIN and COMMIT are counted too.
    Write,
}

impl StatementRoute {
    /// All of them.
    pub const ALL: [StatementRoute; 3] = [Self::Direct, Self::Read, Self::Write];

    /// Returns the name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// The numbers of statements since the database was opened. Statements that no caller asked for, such as migrations and checks of
/// connections, are not counted.
#[derive(Debug, Default)]
pub(super) struct StatementCounts {
    direct: AtomicU64,
    read: AtomicU64,
    write: AtomicU64,
}

impl StatementCounts {
    /// Counts a statement.
    pub fn add(&self, route: StatementRoute) {
        self.of(route).fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of statements that were sent this way.
    pub fn get(&self, route: StatementRoute) -> u64 {
        self.of(route).load(Ordering::Relaxed)
    }

    fn of(&self, route: StatementRoute) -> &AtomicU64 {
        match route {
            StatementRoute::Direct => &self.direct,
            StatementRoute::Read => &self.read,
            StatementRoute::Write => &self.write,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use sea_orm::ConnectionTrait;

    use super::*;
    use crate::db::Db;
    use crate::direct::DirectQuery;

    static ONE: LazyLock<DirectQuery> = LazyLock::new(|| DirectQuery::of_sql(|_| "SELECT 1".to_owned()));

    fn counts(db: &Db) -> [u64; 3] {
        StatementRoute::ALL.map(|route| db.statement_count(route))
    }

    #[tokio::test]
    async fn statements_are_counted_by_their_route() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::connect(&url).await.unwrap();
        let [direct, read, write] = counts(&db);

        db.direct().query_one(&ONE, [], |row| row.get::<i64>(0)).await.unwrap();
        db.read().execute_unprepared("SELECT 1").await.unwrap();
        db.write().execute_unprepared("CREATE TABLE number (n INTEGER)").await.unwrap();
        let txn = db.begin().await.unwrap();
        txn.execute_unprepared("INSERT INTO number VALUES (1)").await.unwrap();
        txn.commit().await.unwrap();

        assert_eq!(counts(&db), [direct + 1, read + 1, write + 4]);
    }
}
