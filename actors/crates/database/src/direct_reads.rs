//! Direct reads, on the thread of their caller: where they run, and what happens where they cannot.

use std::path::PathBuf;

use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, Value};
use tracing::warn;
use url::form_urlencoded;

use super::db::Db;
use super::direct::{DirectConnections, DirectQuery, DirectReadFailure, DirectRow};
use super::statement_counts::StatementRoute;

/// Runs queries on the thread of their caller ([`Db::direct`]).
pub struct DirectReads<'a> {
    db: &'a Db,
}

impl Db {
    /// Returns the connections for reads on the thread of the caller. Use them for one row or a few that an index finds, and
    /// [`Self::read`] for a statement whose cost depends on what a user has: a filter, a list, a count.
    ///
    /// A direct read waits for no lock and no connection, only for the disk, and its work is bounded. Where no connection is free, SQLite
    /// is busy or fails, or the statement takes more than 20,000 instructions of SQLite, the same SQL with the same values runs through
    /// the pool of readers instead; on PostgreSQL and for a database in memory all of them do. The metric
    /// `carrel_direct_read_fallbacks_total` counts the former.
    ///
    /// ```ignore
    /// static TITLE: LazyLock<DirectQuery> = LazyLock::new(|| {
    ///     DirectQuery::of_sql(|_| r#"SELECT "title" FROM "document" WHERE "user_id" = $1 AND "id" = $2"#.to_owned())
    /// });
    ///
    /// let title = db.direct().query_one(&TITLE, [user.into(), id.into()], |row| row.get::<String>(0)).await?;
    /// ```
    pub fn direct(&self) -> DirectReads<'_> {
        DirectReads { db: self }
    }

    /// Opens the direct connections of the file that is open. There are none for a database in memory and for a URL that says how the file
    /// is accessed, and none if they cannot be opened: the pool serves their reads then.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be read.
    pub(super) async fn open_direct_connections(&self, url: &str) -> Result<DirectConnections, DbErr> {
        let file = self.file().await?.filter(|_| has_usual_access(url));
        Ok(file.and_then(|file| self.open_direct_connections_to(file)).unwrap_or_default())
    }

    fn open_direct_connections_to(&self, file: PathBuf) -> Option<DirectConnections> {
        // Tested before and after: they must not read another file than the readers do.
        if !self.health.are_files_in_place() {
            return None;
        }
        let opened = DirectConnections::open(&file).inspect_err(|cause| {
            warn!(%cause, "could not open the database on the threads that answer requests: reads are slower");
        });
        opened.ok().filter(|_| self.health.are_files_in_place())
    }
}

/// Returns whether a URL leaves it to the defaults how SQLite accesses the file.
fn has_usual_access(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes()).all(|(name, _)| name != "vfs" && name != "immutable")
}

impl DirectReads<'_> {
    /// Returns the first row of a query as `decode` reads it; `None` if there is no row. The query needs no `LIMIT`.
    ///
    /// `values` are those of `$1`, `$2` and so on. `decode` may run again if the statement fails after its row.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be read, or when `decode` fails.
    pub async fn query_one<T>(
        &self,
        query: &DirectQuery,
        values: impl IntoIterator<Item = Value>,
        decode: impl Fn(&DirectRow<'_>) -> Result<T, DbErr>,
    ) -> Result<Option<T>, DbErr> {
        let values: Vec<Value> = values.into_iter().collect();
        if let Some(found) = self.read_in_place(query, &values, 1, &decode) {
            return Ok(found?.pop());
        }
        let row = self.db.read.query_one_raw(query.statement(self.backend(), values)).await?;
        row.map(|row| decode(&DirectRow::of_pool(&row))).transpose()
    }

    /// Returns every row of a query as `decode` reads it. The query must bound their number.
    ///
    /// `values` are those of `$1`, `$2` and so on. `decode` may run again for a row if the statement fails after it.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be read, or when `decode` fails.
    pub async fn query_all<T>(
        &self,
        query: &DirectQuery,
        values: impl IntoIterator<Item = Value>,
        decode: impl Fn(&DirectRow<'_>) -> Result<T, DbErr>,
    ) -> Result<Vec<T>, DbErr> {
        let values: Vec<Value> = values.into_iter().collect();
        if let Some(found) = self.read_in_place(query, &values, usize::MAX, &decode) {
            return found;
        }
        self.query_pool(query, values, decode).await
    }

    /// Returns every row of a query as [`Self::query_all`] does, through the pool of readers: for more rows than the thread of a caller
    /// should read.
    ///
    /// # Errors
    /// The same errors as [`Self::query_all`].
    pub async fn query_pool<T>(
        &self,
        query: &DirectQuery,
        values: impl IntoIterator<Item = Value>,
        decode: impl Fn(&DirectRow<'_>) -> Result<T, DbErr>,
    ) -> Result<Vec<T>, DbErr> {
        let statement = query.statement(self.backend(), values.into_iter().collect());
        let rows = self.db.read.query_all_raw(statement).await?;
        rows.iter().map(|row| decode(&DirectRow::of_pool(row))).collect()
    }

    fn backend(&self) -> DatabaseBackend {
        self.db.read.get_database_backend()
    }

    /// Runs a query on a direct connection. Returns `None` if it has to run through the pool.
    fn read_in_place<T>(
        &self,
        query: &DirectQuery,
        values: &[Value],
        max_rows: usize,
        decode: impl Fn(&DirectRow<'_>) -> Result<T, DbErr>,
    ) -> Option<Result<Vec<T>, DbErr>> {
        let connections = &self.db.direct;
        if connections.is_empty() {
            return None;
        }
        let failure = match connections.read(query, values, max_rows, decode) {
            Ok(found) => {
                self.db.health.statements.add(StatementRoute::Direct);
                return Some(Ok(found));
            }
            Err(DirectReadFailure::Decode(error)) => return Some(Err(error)),
            Err(failure) => failure,
        };
        if failure.is_damage() {
            // The pool may answer from its cache.
            self.db.health.record_damage();
        }
        metrics::counter!("carrel_direct_read_fallbacks_total", "reason" => failure.label()).increment(1);
        None
    }
}

#[cfg(test)]
mod tests;
