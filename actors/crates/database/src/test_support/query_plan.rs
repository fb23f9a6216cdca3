//! How the database runs a statement, for tests that every statement finds its rows by an index.

use sea_orm::{ConnectionTrait, DbErr, QueryResult, Statement};

use crate::db::Db;

/// The commands that both databases explain.
const EXPLAINED_COMMANDS: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];
/// The nodes by which PostgreSQL sorts.
const POSTGRES_SORTS: [&str; 2] = ["Sort", "Incremental Sort"];

/// The plan by which the database runs a statement.
///
/// A test has few rows, and for those PostgreSQL prefers to read and sort whole tables. So its plans are made as if both were
/// expensive: they do so only where no index serves the statement. SQLite plans without statistics, as the server does.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// The SQL of the statement.
    pub sql: String,
    /// The steps, as the database prints them.
    pub steps: Vec<String>,
    /// The steps that read every row of a table.
    full_scans: Vec<String>,
    /// The tables of which a step reads every row of an owner.
    owner_walks: Vec<String>,
}

impl QueryPlan {
    /// Explains a statement without running it.
    ///
    /// # Errors
    /// [`DbErr`] when the database refuses the statement.
    pub async fn of(db: &Db, statement: Statement) -> Result<Self, DbErr> {
        let sql = statement.sql.clone();
        let steps = if db.is_postgres() {
            explain_on_postgres(db, statement).await?
        } else {
            explain_on_sqlite(db, statement).await?
        };
        let (mut full_scans, mut owner_walks) = (Vec::new(), Vec::new());
        for step in &steps {
            if db.is_postgres() {
                full_scans.extend(step.contains("Seq Scan on ").then(|| step.clone()));
            } else if let Some(scan) = step.strip_prefix("SCAN ") {
                full_scans.extend(table_read_on_sqlite(db, &sql, scan).await?.map(|_| step.clone()));
            } else if let Some(search) = step.strip_prefix("SEARCH ").filter(|search| is_by_owner(search)) {
                owner_walks.extend(table_read_on_sqlite(db, &sql, search).await?);
            }
        }
        let plan = Self { sql, steps, full_scans, owner_walks: Vec::new() };
        // A page of a list without filters, and what concerns all rows, read no more rows of the owner than they are to return or to change.
        let is_page = plan.has_limit() && !plan.sorts() && plan.tests_only_owner();
        let reads_needed_rows = is_page || plan.has_only_owner();
        Ok(if reads_needed_rows { plan } else { Self { owner_walks, ..plan } })
    }

    /// Explains each of these statements once, whatever its values are. Commands without a plan, such as `PRAGMA`, are left out.
    ///
    /// # Errors
    /// [`DbErr`] when the database refuses one of the statements.
    pub async fn of_each(
        db: &Db,
        statements: impl IntoIterator<Item = Statement>,
    ) -> Result<Vec<Self>, DbErr> {
        let mut plans: Vec<Self> = Vec::new();
        for statement in statements {
            let has_plan = EXPLAINED_COMMANDS.iter().any(|command| statement.sql.starts_with(command));
            if has_plan && plans.iter().all(|plan| plan.sql != statement.sql) {
                plans.push(Self::of(db, statement).await?);
            }
        }
        Ok(plans)
    }

    /// Returns whether a step contains these words: the name of an index or, on SQLite, also the columns by which it is searched.
    pub fn has_step(&self, words: &str) -> bool {
        self.steps.iter().any(|step| step.contains(words))
    }

    /// Returns the steps that read every row of a table, in the table or in an index of all rows. A partial index may be read from
    /// end to end.
    pub fn full_scans(&self) -> &[String] {
        &self.full_scans
    }

    /// Returns the tables of which it reads all rows of an owner, in the table or in an index of all rows, to find some of them or to
    /// count. Only plans of SQLite are looked at: PostgreSQL chooses between indexes by statistics, which a test does not have.
    pub fn owner_walks(&self) -> &[String] {
        &self.owner_walks
    }

    /// Returns whether the owner is the only value of the conditions. Those without a value join tables, or say that a row is not deleted, as
    /// all rows of the indexes of lists are.
    fn tests_only_owner(&self) -> bool {
        let conditions = self.sql.split(" WHERE ").skip(1).flat_map(|rest| {
            let conditions = [" ORDER BY ", " LIMIT ", " UNION ", "), "]
                .iter()
                .fold(rest, |part, word| part.split(word).next().unwrap_or(part));
            conditions.split(" AND ")
        });
        let is_of_owner = |condition: &str| {
            !condition.contains('?') || condition.trim_end_matches(')').ends_with(r#""user_id" = ?"#)
        };
        conditions.into_iter().all(is_of_owner)
    }

    /// Returns whether the only condition is the owner, and all rows are returned or changed: they are neither counted nor limited.
    fn has_only_owner(&self) -> bool {
        let counts = ["COUNT(", "SUM(", "MAX(", "MIN("].iter().any(|function| self.sql.contains(function));
        let condition = self.sql.split_once(" WHERE ").map_or("", |(_, condition)| condition);
        let condition = condition.split(" ORDER BY ").next().unwrap_or_default();
        !counts
            && !self.has_limit()
            && condition.ends_with("\"user_id\" = ?")
            && !condition.contains(" AND ")
            && !condition.contains("SELECT")
    }

    /// Returns whether the rows are sorted, because no index has their order.
    pub fn sorts(&self) -> bool {
        self.steps.iter().any(|step| {
            let node = step.trim_start().trim_start_matches("->").trim_start();
            // `FOR json_group_array(ORDER BY)` sorts the few values of an aggregate.
            POSTGRES_SORTS.contains(&node) || (step.contains("TEMP B-TREE") && step.ends_with(" ORDER BY"))
        })
    }

    /// Returns whether a limit bounds the rows that the statement returns. If it [sorts](Self::sorts), it nevertheless reads all of
    /// them.
    pub fn has_limit(&self) -> bool {
        self.sql.contains(" LIMIT ")
    }
}

fn explained(command: &str, statement: Statement) -> Statement {
    Statement { sql: format!("{command} {}", statement.sql), ..statement }
}

fn read_texts(rows: &[QueryResult], column: &str) -> Result<Vec<String>, DbErr> {
    rows.iter().map(|row| row.try_get("", column)).collect()
}

async fn explain_on_sqlite(db: &Db, statement: Statement) -> Result<Vec<String>, DbErr> {
    read_texts(&db.read().query_all_raw(explained("EXPLAIN QUERY PLAN", statement)).await?, "detail")
}

async fn explain_on_postgres(db: &Db, statement: Statement) -> Result<Vec<String>, DbErr> {
    // SET LOCAL holds for this transaction alone, whose drop rolls it back.
    let txn = db.begin().await?;
    for setting in ["enable_seqscan", "enable_sort", "enable_incremental_sort"] {
        txn.execute_unprepared(&format!("SET LOCAL {setting} = off")).await?;
    }
    read_texts(&txn.query_all_raw(explained("EXPLAIN (COSTS OFF)", statement)).await?, "QUERY PLAN")
}

/// Returns the tables that a name in a plan may stand for: the one of this name, and those that the SQL calls so
/// (`FROM "job" AS "waiting"`). A subquery or an expression before `AS` is not one of them.
fn tables_named(sql: &str, name: &str) -> Vec<String> {
    let is_quote = |c: char| !(c.is_alphanumeric() || c == '_');
    let words: Vec<&str> = sql.split_whitespace().collect();
    let aliased = words.windows(4).filter_map(|words| match words {
        [before, table, by, alias]
            if precedes_table(before)
                && !table.contains(['(', ')', '.'])
                && by.eq_ignore_ascii_case("AS")
                && alias.trim_matches(is_quote) == name =>
        {
            Some(table.trim_matches(is_quote).to_owned())
        }
        _ => None,
    });
    aliased.chain([name.to_owned()]).collect()
}

/// Returns whether the name of a table may follow this word.
fn precedes_table(word: &str) -> bool {
    word.ends_with(',') || ["FROM", "JOIN", "UPDATE"].iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// Returns whether a step of SQLite reads rows of FTS5 by words, or a range of its terms.
fn is_search_of_fts5(step: &str) -> bool {
    // The bits by which FTS5 notes a lower and an upper bound of the terms.
    const TERM_BOUNDS: u32 = 0x600;
    let Some((_, plan)) = step.split_once(" VIRTUAL TABLE INDEX ") else { return false };
    // `M` stands for MATCH.
    let number = plan.split(':').next().and_then(|number| number.parse::<u32>().ok());
    plan.starts_with("0:M") || number.is_some_and(|number| number & TERM_BOUNDS == TERM_BOUNDS)
}

/// Returns whether a step of SQLite searches an index by the owner alone.
fn is_by_owner(search: &str) -> bool {
    search.contains("(user_id=?)")
}

/// Returns the table that a step of SQLite reads, in itself or in an index of all rows. `step` is what follows `SCAN` or `SEARCH`. It may
/// also read a constant row, a subquery or a partial index, which has few of the rows unless it has all that are not deleted.
async fn table_read_on_sqlite(db: &Db, sql: &str, step: &str) -> Result<Option<String>, DbErr> {
    if is_search_of_fts5(step) {
        return Ok(None);
    }
    let name = step.split(' ').next().unwrap_or(step);
    let index = step.split_once("INDEX ").and_then(|(_, index)| index.split(' ').next()).unwrap_or_default();
    let named = "SELECT 1 FROM sqlite_master AS tables WHERE type = 'table' AND name = ? AND NOT EXISTS
        (SELECT 1 FROM sqlite_master
         WHERE type = 'index' AND name = ? AND sql LIKE '%WHERE %' AND sql NOT LIKE '%WHERE deleted_at IS NULL')";
    let backend = db.read().get_database_backend();
    for table in tables_named(sql, name) {
        let named = Statement::from_sql_and_values(backend, named, [table.as_str().into(), index.into()]);
        if db.read().query_one_raw(named).await?.is_some() {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use sea_orm::DatabaseBackend;

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
    }

    #[tokio::test]
    async fn owner_walk_is_told_from_a_page_and_a_look_up() {
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
        let walks = async |sql: &str| {
            let values: Vec<sea_orm::Value> = vec![1_i64.into(); sql.matches('?').count()];
            let statement = Statement::from_sql_and_values(DatabaseBackend::Sqlite, sql, values);
            QueryPlan::of(&db, statement).await.unwrap().owner_walks().to_vec()
        };

        for sql in [
            format!("SELECT COUNT(*) {by_user}"),
            format!("SELECT id {by_user} AND color = 'blue'"),
            format!("SELECT id {by_user} ORDER BY color LIMIT 1"),
            format!("DELETE {by_user} AND color = 'blue'"),
        ] {
            assert_eq!(walks(&sql).await, ["bird"], "{sql}");
        }
        for sql in [
            format!("SELECT id {by_user} AND id = ?"),
            format!("SELECT id {by_user} ORDER BY id LIMIT 1"),
            format!("SELECT COUNT(*) {by_user} AND color = 'red'"),
            format!("DELETE {by_user}"),
        ] {
            assert!(walks(&sql).await.is_empty(), "{sql}");
        }
    }

    #[test]
    fn subqueries_and_columns_are_no_tables() {
        let tables = |sql: &str| tables_named(sql, "kept");

        for sql in [
            r#"SELECT "n" FROM "job" AS "kept""#,
            r#"SELECT "n" FROM "bird" JOIN "job" AS "kept" ON TRUE"#,
            r#"SELECT "n" FROM "bird", "job" AS "kept""#,
            r#"SELECT EXISTS(SELECT 1 FROM "job" AS "kept") AS "found""#,
        ] {
            assert_eq!(tables(sql), ["job", "kept"], "{sql}");
        }
        for sql in [
            r#"SELECT "n" FROM (SELECT "n" FROM "job") AS "kept""#,
            r#"SELECT "n", "job"."n" AS "kept" FROM "bird""#,
            r#"SELECT COUNT("n") AS "kept" FROM "job""#,
        ] {
            assert_eq!(tables(sql), ["kept"], "{sql}");
        }
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
