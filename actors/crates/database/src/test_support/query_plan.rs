//! How the database runs a statement, for tests that every statement finds its rows by an index.

mod conditions;
mod postgres;
mod residual;
mod rows_read;
mod sqlite;

use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, Statement};

use super::large_tables::assume_large_tables;
use super::schema::Schema;
use crate::db::Db;
use rows_read::RowsRead;

pub use residual::ResidualFilter;
pub use rows_read::PartialRead;

/// The commands that both databases explain.
const EXPLAINED_COMMANDS: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];
/// The nodes by which PostgreSQL sorts.
const POSTGRES_SORTS: [&str; 2] = ["Sort", "Incremental Sort"];

/// The plan by which the database runs a statement.
///
/// A test has few rows, and for those PostgreSQL prefers to read and sort whole tables. So its plans are made for tables that it believes
/// to be large, and as if both were expensive: they do so only where no index serves the statement. They do not depend on the rows that
/// a test has. SQLite plans without statistics, as the server does.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// The SQL of the statement.
    pub sql: String,
    /// The steps, as the database prints them. On PostgreSQL those of the plan that sorts only if no index has the order.
    pub steps: Vec<String>,
    /// On PostgreSQL the steps of the plan that may sort, by which it is judged what a statement reads; empty on SQLite.
    pub steps_with_sorts: Vec<String>,
    /// What is read from end to end.
    read: RowsRead,
    /// The tables of which every row of an owner is read, and returned or changed.
    owner_reads: Vec<String>,
    /// The searches on SQLite that leave conditions to be tested.
    residual_filters: Vec<ResidualFilter>,
}

impl QueryPlan {
    /// Explains a statement without running it.
    ///
    /// # Errors
    /// [`DbErr`] when the database refuses the statement.
    pub async fn of(db: &Db, statement: Statement) -> Result<Self, DbErr> {
        let mut plans = Self::of_each(db, [statement]).await?;
        plans.pop().ok_or_else(|| DbErr::Custom("the statement has no plan".to_owned()))
    }

    /// Explains a statement through a connection. On PostgreSQL it is in a transaction in which the tables are large.
    pub(super) async fn through(
        db: &impl ConnectionTrait,
        schema: &Schema,
        statement: Statement,
    ) -> Result<Self, DbErr> {
        let sql = statement.sql.clone();
        let mut plan = if db.get_database_backend() == DatabaseBackend::Postgres {
            let plans = postgres::explain(db, statement, schema).await?;
            Self {
                sql,
                steps: plans.without_sorts,
                steps_with_sorts: plans.without_scans,
                read: plans.read,
                owner_reads: Vec::new(),
                residual_filters: Vec::new(),
            }
        } else {
            let steps = sqlite::explain(db, statement).await?;
            let read = sqlite::rows_read(&sql, &steps, schema);
            let residual_filters = residual::residual_filters(&sql, &steps, schema);
            Self { sql, steps, steps_with_sorts: Vec::new(), read, owner_reads: Vec::new(), residual_filters }
        };
        plan.ignore_needed_rows();
        Ok(plan)
    }

    /// Does not count as a scan of an owner's rows what reads no more of them than a statement returns or changes.
    fn ignore_needed_rows(&mut self) {
        // A page of a list without filters.
        if self.has_limit() && !self.sorts() && self.tests_only_owner() {
            self.read.owner_scans.clear();
            self.read.partial_owner_scans.clear();
        } else if self.has_only_owner() {
            self.owner_reads.append(&mut self.read.owner_scans);
        }
        self.read.partial_scans.append(&mut self.read.partial_owner_scans);
    }

    /// Explains each of these statements once, whatever its values are. Commands without a plan, such as `PRAGMA`, are left out.
    ///
    /// # Errors
    /// [`DbErr`] when the database refuses one of the statements.
    pub async fn of_each(
        db: &Db,
        statements: impl IntoIterator<Item = Statement>,
    ) -> Result<Vec<Self>, DbErr> {
        if db.is_postgres() {
            // Its drop rolls back what it changes in the catalog.
            let txn = db.begin().await?;
            assume_large_tables(&txn).await?;
            Self::of_distinct(&txn, statements).await
        } else {
            Self::of_distinct(db.read(), statements).await
        }
    }

    async fn of_distinct(
        db: &impl ConnectionTrait,
        statements: impl IntoIterator<Item = Statement>,
    ) -> Result<Vec<Self>, DbErr> {
        let schema = Schema::read(db).await?;
        let mut plans: Vec<Self> = Vec::new();
        for statement in statements {
            if Self::exists_for(&statement) && plans.iter().all(|plan| plan.sql != statement.sql) {
                plans.push(Self::through(db, &schema, statement).await?);
            }
        }
        Ok(plans)
    }

    /// Returns whether a statement has a plan: commands such as `PRAGMA` have none.
    pub(super) fn exists_for(statement: &Statement) -> bool {
        EXPLAINED_COMMANDS.iter().any(|command| statement.sql.starts_with(command))
    }

    /// Returns whether SQLite made the plan.
    pub fn is_of_sqlite(&self) -> bool {
        self.steps_with_sorts.is_empty()
    }

    /// Returns whether a step contains these words: the name of an index or, on SQLite, also the columns by which it is searched.
    pub fn has_step(&self, words: &str) -> bool {
        self.steps.iter().any(|step| step.contains(words))
    }

    /// Returns the steps that read every row of a table, in the table or in an index of all rows. On PostgreSQL a step that a limit ends
    /// and that tests no row is none of them.
    pub fn full_scans(&self) -> &[String] {
        &self.read.full_scans
    }

    /// Returns the steps that read every entry of a partial index, or every entry that an owner has in one, except pages of a list.
    /// Indexes of all rows that are not deleted count as indexes of all rows.
    pub fn partial_reads(&self) -> &[PartialRead] {
        &self.read.partial_scans
    }

    /// Returns the tables of which it reads all rows of an owner, in the table or in an index of all rows, to find some of them or to
    /// count.
    pub fn owner_scans(&self) -> &[String] {
        &self.read.owner_scans
    }

    /// Returns the tables of which it returns or changes all rows of an owner, without a limit.
    pub fn owner_reads(&self) -> &[String] {
        &self.owner_reads
    }

    /// Returns the searches that find rows by an owner, a parent, a kind or a state, and test further equality conditions on each of
    /// them. Only plans of SQLite are looked at, and of their conditions those that are sure to be of the search.
    pub fn residual_filters(&self) -> &[ResidualFilter] {
        &self.residual_filters
    }

    /// Returns whether each condition names the owner, joins tables, or says that a row is not deleted, as all rows of the indexes of lists
    /// are.
    fn tests_only_owner(&self) -> bool {
        conditions::of_each_where(&self.sql)
            .iter()
            .flatten()
            .all(|condition| conditions::is_met_by_rows_of_owner(condition))
    }

    /// Returns whether the only condition is the owner, and all rows are returned or changed: they are neither counted nor limited.
    fn has_only_owner(&self) -> bool {
        let counts = ["COUNT(", "SUM(", "MAX(", "MIN("].iter().any(|function| self.sql.contains(function));
        let mut tested = conditions::of_each_where(&self.sql).into_iter().flatten();
        let is_owner = tested.next().is_some_and(conditions::names_owner);
        !counts && !self.has_limit() && is_owner && tested.next().is_none()
    }

    /// Returns whether the rows are sorted, because no index has their order.
    pub fn sorts(&self) -> bool {
        self.steps.iter().any(|step| {
            let node = step.trim_start().trim_start_matches("->").trim_start();
            // `FOR json_group_array(ORDER BY)` sorts the few values of an aggregate.
            POSTGRES_SORTS.contains(&node) || (step.contains("TEMP B-TREE") && step.ends_with(" ORDER BY"))
        })
    }

    /// Returns whether a limit bounds the rows that the statement itself returns. If it [sorts](Self::sorts), it nevertheless reads all
    /// of them.
    pub fn has_limit(&self) -> bool {
        conditions::has_outer_limit(&self.sql)
    }

    /// Returns whether the statement or one of its subqueries has a limit.
    pub fn contains_limit(&self) -> bool {
        self.sql.contains(" LIMIT ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TestDatabase;

    fn statement(sql: &str) -> Statement {
        Statement::from_string(DatabaseBackend::Sqlite, sql)
    }

    #[tokio::test]
    async fn full_scans_and_sorts_are_told_from_reads_of_an_index() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        for sql in [
            "CREATE TABLE bird (n INTEGER, color TEXT)",
            "CREATE INDEX bird_red ON bird (n) WHERE color = 'red'",
            "CREATE VIRTUAL TABLE song USING fts5(text, content='', tokenize='trigram', detail=none)",
            "CREATE VIRTUAL TABLE term USING fts5vocab('song', 'instance')",
        ] {
            db.write().execute_unprepared(sql).await.unwrap();
        }

        let [found, listed, aliased, sorted, red, heard, songs, range, terms] = [
            "SELECT n FROM number WHERE n = 1",
            "SELECT n FROM number",
            "SELECT \"kept\".\"n\" FROM \"number\" AS \"kept\"",
            "SELECT n FROM bird ORDER BY color LIMIT 1",
            "SELECT n FROM bird WHERE color = 'red'",
            "SELECT rowid FROM song WHERE song MATCH '\"abc\"' AND rowid BETWEEN 1 AND 9",
            "SELECT rowid FROM song",
            "SELECT doc FROM term WHERE term >= 'ab' AND term < 'ac'",
            "SELECT doc FROM term",
        ]
        .map(|sql| QueryPlan::of(&db, statement(sql)));
        let (found, listed, aliased) = (found.await.unwrap(), listed.await.unwrap(), aliased.await.unwrap());
        let (sorted, red) = (sorted.await.unwrap(), red.await.unwrap());
        let (heard, songs) = (heard.await.unwrap(), songs.await.unwrap());

        assert!(found.full_scans().is_empty() && found.has_step("(n=?)") && !found.has_limit(), "{found:#?}");
        assert_eq!(listed.full_scans(), listed.steps);
        assert!(aliased.has_step("SCAN kept") && aliased.full_scans() == aliased.steps, "{aliased:#?}");
        assert!(sorted.full_scans() == ["SCAN bird"] && sorted.sorts() && sorted.has_limit(), "{sorted:#?}");
        assert!(heard.full_scans().is_empty() && songs.full_scans() == songs.steps, "{heard:#?} {songs:#?}");
        let (range, terms) = (range.await.unwrap(), terms.await.unwrap());
        assert!(range.full_scans().is_empty() && terms.full_scans() == terms.steps, "{range:#?} {terms:#?}");
        assert!(red.full_scans().is_empty() && red.has_step("bird_red") && !red.sorts(), "{red:#?}");
        let partial: Vec<&str> = red.partial_reads().iter().map(|read| read.index.as_str()).collect();
        assert_eq!(partial, ["bird_red"], "{red:#?}");
    }

    #[tokio::test]
    async fn owner_scan_is_told_from_a_page_and_a_look_up() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        for sql in [
            "CREATE TABLE bird (id INTEGER, user_id INTEGER, color TEXT)",
            "CREATE INDEX bird_user ON bird (user_id, id)",
            "CREATE INDEX bird_red ON bird (user_id) WHERE color = 'red'",
        ] {
            db.write().execute_unprepared(sql).await.unwrap();
        }
        let by_user = "FROM bird WHERE \"user_id\" = ?";
        let plan = async |sql: &str| {
            let values: Vec<sea_orm::Value> = vec![1_i64.into(); sql.matches('?').count()];
            let statement = Statement::from_sql_and_values(DatabaseBackend::Sqlite, sql, values);
            QueryPlan::of(&db, statement).await.unwrap()
        };
        let scans = async |sql: &str| plan(sql).await.owner_scans().to_vec();

        for sql in [
            format!("SELECT COUNT(*) {by_user}"),
            format!("SELECT id {by_user} AND color = 'blue'"),
            format!("SELECT id {by_user} ORDER BY color LIMIT 1"),
            format!("DELETE {by_user} AND color = 'blue'"),
        ] {
            assert_eq!(scans(&sql).await, ["bird"], "{sql}");
        }
        for sql in [
            format!("SELECT id {by_user} AND id = ?"),
            format!("SELECT id {by_user} ORDER BY id LIMIT 1"),
            format!("SELECT COUNT(*) {by_user} AND color = 'red'"),
            format!("DELETE {by_user}"),
        ] {
            assert!(scans(&sql).await.is_empty(), "{sql}");
        }
        let (page, red) = (
            format!("SELECT id {by_user} ORDER BY id LIMIT 1"),
            format!("SELECT 1 {by_user} AND color = 'red'"),
        );
        assert_eq!(plan(&format!("DELETE {by_user}")).await.owner_reads(), ["bird"]);
        assert!(plan(&page).await.owner_reads().is_empty());
        assert_eq!(plan(&red).await.partial_reads().len(), 1);
    }

    #[tokio::test]
    async fn statement_is_explained_once_whatever_its_values() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        let find = |n: i64| {
            let sql = "SELECT n FROM number WHERE n = ?";
            Statement::from_sql_and_values(DatabaseBackend::Sqlite, sql, [n.into()])
        };

        let plans =
            QueryPlan::of_each(&db, [find(1), statement("PRAGMA user_version"), find(2)]).await.unwrap();

        assert_eq!(plans.len(), 1, "{plans:#?}");
    }
}
