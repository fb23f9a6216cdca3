//! Direct reads return what reads through the pool return, and run through it where they cannot run in place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sea_orm::Statement;
use uuid::Uuid;

use super::*;
use crate::tests::TestDatabase;

/// Counts the statements that run on direct connections.
fn count_direct_reads(db: &mut Db) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    db.direct.set_statement_callback(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    count
}

fn query(sql: &str) -> DirectQuery {
    DirectQuery::of_sql(|_| sql.to_owned())
}

fn number(row: &DirectRow<'_>) -> Result<i64, DbErr> {
    row.get(0)
}

/// Finds a number by the index of the table of the test database.
fn find_number() -> DirectQuery {
    query("SELECT n FROM number WHERE n = $1")
}

type Sample =
    (Option<Uuid>, Option<bool>, Option<i32>, Option<i64>, Option<f64>, Option<String>, Option<Vec<u8>>);

fn sample(row: &DirectRow<'_>) -> Result<Sample, DbErr> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
}

/// Inserts a row of every type that columns have, and one of NULLs, with the ids 1 and 2. Returns the rows.
async fn insert_samples(db: &Db) -> [Sample; 2] {
    let table = "CREATE TABLE sample (id INTEGER PRIMARY KEY, u UUID, b BOOLEAN, i INTEGER, l BIGINT, d DOUBLE PRECISION, t TEXT,
        y BLOB)";
    db.write().execute_unprepared(table).await.unwrap();
    let text = "reeds, \u{1f426}".to_owned();
    let full = (
        Some(Uuid::from_u128(7)),
        Some(true),
        Some(-3),
        Some(i64::MAX),
        Some(0.25),
        Some(text),
        Some(vec![0, 255]),
    );
    let empty = (None, None, None, None, None, None, None);
    for (id, (u, b, i, l, d, t, y)) in [(1_i64, full.clone()), (2, empty.clone())] {
        let insert = "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let values: [Value; 8] =
            [id.into(), u.into(), b.into(), i.into(), l.into(), d.into(), t.into(), y.into()];
        let insert = Statement::from_sql_and_values(DatabaseBackend::Sqlite, insert, values);
        db.write().execute_raw(insert).await.unwrap();
    }
    [full, empty]
}

#[tokio::test]
async fn row_is_the_same_directly_and_through_the_pool() {
    let database = TestDatabase::new();
    let mut db = database.with_numbers().await;
    let rows = insert_samples(&db).await;
    let direct_reads = count_direct_reads(&mut db);
    let by_id = query("SELECT u, b, i, l, d, t, y FROM sample WHERE id = $1");

    for (id, row) in [(1_i64, &rows[0]), (2, &rows[1])] {
        assert_eq!(db.direct().query_one(&by_id, [id.into()], sample).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(direct_reads.load(Ordering::SeqCst), 2);

    let held = db.direct.hold_all();
    for (id, row) in [(1_i64, &rows[0]), (2, &rows[1])] {
        assert_eq!(db.direct().query_one(&by_id, [id.into()], sample).await.unwrap().as_ref(), Some(row));
    }
    drop(held);
    assert_eq!(direct_reads.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn every_type_of_a_value_is_bound_as_the_pool_binds_it() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    let rows = insert_samples(&db).await;
    let [(u, b, i, l, d, t, y), _] = rows;
    let equal = query(
        "SELECT count(*) FROM sample WHERE u = $1 AND b = $2 AND i = $3 AND l = $4 AND d = $5 AND t = $6 AND y = $7 AND $8 IS NULL",
    );
    let none: Option<i64> = None;
    let values: [Value; 8] =
        [u.into(), b.into(), i.into(), l.into(), d.into(), t.into(), y.into(), none.into()];

    let direct = db.direct().query_one(&equal, values.clone(), number).await.unwrap();
    let held = db.direct.hold_all();
    let pooled = db.direct().query_one(&equal, values, number).await.unwrap();

    assert_eq!((direct, pooled), (Some(1), Some(1)));
    drop(held);
}

#[tokio::test]
async fn missing_row_is_none_and_all_rows_are_listed() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    db.write().execute_unprepared("INSERT INTO number VALUES (2), (3)").await.unwrap();
    let from = query("SELECT n FROM number WHERE n >= $1 ORDER BY n");

    assert_eq!(db.direct().query_one(&find_number(), [9.into()], number).await.unwrap(), None);
    assert_eq!(db.direct().query_one(&from, [2.into()], number).await.unwrap(), Some(2));
    assert_eq!(db.direct().query_all(&from, [2.into()], number).await.unwrap(), [2, 3]);
}

#[tokio::test]
async fn value_of_another_type_is_an_error_that_hides_it() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    let error = db.direct().query_one(&query("SELECT 'heron'"), [], number).await.unwrap_err();

    assert!(matches!(error, DbErr::Type(_)) && !error.to_string().contains("heron"), "{error}");
}

#[tokio::test]
async fn long_statement_runs_through_the_pool() {
    let database = TestDatabase::new();
    let mut db = database.with_numbers().await;
    let direct_reads = count_direct_reads(&mut db);
    let count = query(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT max(i) FROM n",
    );

    assert_eq!(db.direct().query_one(&count, [100_000.into()], number).await.unwrap(), Some(100_000));
    assert_eq!(direct_reads.load(Ordering::SeqCst), 0);
    // SQLite counts the steps of a statement over all its runs: the bound is that of one run.
    for _ in 0..300 {
        assert_eq!(db.direct().query_one(&count, [50.into()], number).await.unwrap(), Some(50));
    }
    assert_eq!(direct_reads.load(Ordering::SeqCst), 300);
}

#[tokio::test]
async fn direct_read_sees_what_was_committed_before_it() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    for number_written in 2..20_i64 {
        let insert = format!("INSERT INTO number VALUES ({number_written})");
        db.write().execute_unprepared(&insert).await.unwrap();

        let found = db.direct().query_one(&find_number(), [number_written.into()], number).await.unwrap();
        assert_eq!(found, Some(number_written));
    }
}

#[tokio::test]
async fn removed_database_is_read_directly() {
    let database = TestDatabase::new();
    let mut db = database.with_numbers().await;
    let direct_reads = count_direct_reads(&mut db);

    for suffix in ["", "-wal", "-shm"] {
        std::fs::remove_file(database.file(suffix)).unwrap();
    }

    for _ in 0..20 {
        assert_eq!(db.direct().query_one(&find_number(), [1.into()], number).await.unwrap(), Some(1));
    }
    assert_eq!(direct_reads.load(Ordering::SeqCst), 20);
}

#[tokio::test]
async fn direct_read_blocks_no_checkpoint() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    db.write().execute_unprepared("INSERT INTO number VALUES (2)").await.unwrap();
    // The first row only: the statement has another one.
    let all = query("SELECT n FROM number");
    assert!(db.direct().query_one(&all, [], number).await.unwrap().is_some());

    let checkpoint = Statement::from_string(DatabaseBackend::Sqlite, "PRAGMA wal_checkpoint(TRUNCATE)");
    let row = db.read().query_one_raw(checkpoint).await.unwrap().unwrap();

    assert_eq!(row.try_get_by_index::<i64>(0).unwrap(), 0, "the checkpoint was blocked");
    assert_eq!(database.file("-wal").metadata().unwrap().len(), 0);
}

#[tokio::test]
async fn closed_database_is_not_read_directly() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    assert_eq!(db.direct().query_one(&find_number(), [1.into()], number).await.unwrap(), Some(1));

    db.clone().close().await.unwrap();

    db.direct().query_one(&find_number(), [1.into()], number).await.unwrap_err();
    assert!(!database.file("-wal").exists());
}

#[tokio::test]
async fn parameters_are_numbered_alike_on_every_database() {
    let difference = query("SELECT CAST($2 AS BIGINT) - CAST($1 AS BIGINT)");
    let database = TestDatabase::new();
    let mut opened = vec![database.with_numbers().await, Db::connect("sqlite::memory:").await.unwrap()];
    assert!(!opened[0].direct.is_empty() && opened[1].direct.is_empty());
    if let Ok(server) = std::env::var("CARREL_TEST_POSTGRES") {
        opened.push(Db::connect(&server).await.unwrap());
    }

    for db in opened {
        let values: [Value; 2] = [2_i64.into(), 5_i64.into()];
        assert_eq!(db.direct().query_one(&difference, values, number).await.unwrap(), Some(3));
    }
}

#[tokio::test]
async fn direct_statements_are_recorded_with_their_values() {
    let database = TestDatabase::new();
    let mut db = database.with_numbers().await;
    let sent = db.record_statements();

    db.direct().query_one(&find_number(), [1.into()], number).await.unwrap();
    let held = db.direct.hold_all();
    db.direct().query_one(&find_number(), [1.into()], number).await.unwrap();
    drop(held);

    let sent = sent.take();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1]);
}

#[test]
fn url_that_says_how_to_access_the_file_has_none() {
    assert!(has_usual_access("sqlite:///a.db?mode=rwc&cache=private"));
    assert!(has_usual_access("sqlite:a.db"));
    assert!(!has_usual_access("sqlite:a.db?mode=ro&immutable=true"));
    assert!(!has_usual_access("sqlite:a.db?vfs=unix-none"));
}
