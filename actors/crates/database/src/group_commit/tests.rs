//! Which transactions share a commit, and what a failure leaves of each.

use std::cell::Cell;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join;
use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, Statement};
use tokio::task::JoinHandle;

use super::super::db::Db;
use super::super::fault::StorageFault;
use super::super::tests::{TestDatabase, numbers_of, poll_times};
use super::super::transaction::Transaction;

/// Opens a database with the number 1, whose groups take members for any time.
async fn open(database: &TestDatabase) -> Db {
    let mut db = database.with_numbers().await;
    if let Some(queue) = &mut db.queue {
        queue.max_age = Duration::MAX;
    }
    db
}

/// Returns how many numbers the readers see.
async fn visible_numbers(db: &Db) -> usize {
    let select = Statement::from_string(DatabaseBackend::Sqlite, "SELECT n FROM number");
    db.read().query_all_raw(select).await.unwrap().len()
}

async fn insert(txn: &Transaction, number: i64) -> Result<(), DbErr> {
    txn.execute_unprepared(&format!("INSERT INTO number VALUES ({number})")).await.map(drop)
}

/// Begins a transaction that inserts a number, and returns it before its commit.
async fn inserting(db: &Db, number: i64) -> Transaction {
    let txn = db.begin_in_group().await.unwrap();
    insert(&txn, number).await.unwrap();
    txn
}

/// Returns once a transaction waits that may join a group.
async fn wait_for_joining(db: &Db) {
    while !db.queue.as_ref().unwrap().has_waiting_to_join() {
        tokio::task::yield_now().await;
    }
}

/// Commits a transaction while another waits. Returns its commit, which has not ended, and the other transaction, which has inserted
/// `number`.
async fn group_of_two(
    db: &Db,
    first: Transaction,
    number: i64,
) -> (JoinHandle<Result<(), DbErr>>, Transaction) {
    let waiting = db.clone();
    let second = tokio::spawn(async move { inserting(&waiting, number).await });
    wait_for_joining(db).await;
    let first = tokio::spawn(first.commit());
    let second = second.await.unwrap();
    (first, second)
}

#[tokio::test]
async fn waiting_transactions_share_a_commit() {
    let database = TestDatabase::new();
    let db = open(&database).await;

    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    assert_eq!(visible_numbers(&db).await, 1);
    assert!(!first.is_finished(), "the first was answered before the commit of the group");
    second.commit().await.unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(numbers_of(&database.url).await, [1, 2, 3]);
}

#[tokio::test]
async fn transaction_that_may_not_join_waits_for_the_commit() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    let alone = db.clone();
    let alone = tokio::spawn(async move { alone.begin().await });
    tokio::task::yield_now().await;
    drop(second);
    let alone = alone.await.unwrap().unwrap();

    first.await.unwrap().unwrap();
    drop(alone);
    assert_eq!(numbers_of(&database.url).await, [1, 2]);
}

#[tokio::test]
async fn group_that_is_old_takes_no_more_members() {
    let database = TestDatabase::new();
    let mut db = open(&database).await;
    db.queue.as_mut().unwrap().max_age = Duration::ZERO;
    let first = inserting(&db, 2).await;
    let waiting = db.clone();
    let second = tokio::spawn(async move { inserting(&waiting, 3).await });
    wait_for_joining(&db).await;

    first.commit().await.unwrap();

    assert_eq!(visible_numbers(&db).await, 2);
    drop(second.await.unwrap());
}

#[tokio::test]
async fn failed_member_is_rolled_back_alone() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    let failed = insert(&second, 1).await.unwrap_err();
    assert_eq!(second.commit().await.unwrap_err().to_string(), failed.to_string());

    first.await.unwrap().unwrap();
    assert_eq!(numbers_of(&database.url).await, [1, 2]);
}

#[tokio::test]
async fn dropped_member_is_rolled_back_alone() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    drop(second);

    first.await.unwrap().unwrap();
    assert_eq!(numbers_of(&database.url).await, [1, 2]);
}

#[tokio::test]
async fn member_dropped_at_any_poll_leaves_the_others() {
    let database = TestDatabase::new();
    let db = open(&database).await;

    for polls in 1.. {
        let (of_first, of_member) = (2 * polls, 2 * polls + 1);
        let first = inserting(&db, of_first).await;
        let commits = Cell::new(false);
        let member = async {
            let txn = db.begin_in_group().await?;
            insert(&txn, of_member).await?;
            commits.set(true);
            txn.commit().await
        };
        // The member is polled first, so it waits when the other commits.
        let (ended, first) = join(poll_times(Box::pin(member), polls), first.commit()).await;

        first.unwrap();
        // It begins once the group has ended.
        drop(db.begin().await.unwrap());
        let numbers = numbers_of(&database.url).await;
        assert!(numbers.contains(&of_first), "dropped after {polls} polls: {numbers:?}");
        let is_kept = numbers.contains(&of_member);
        if let Some(ended) = ended {
            ended.unwrap();
            assert!(is_kept && polls > 1, "{polls} polls: {numbers:?}");
            return;
        }
        // A commit that has begun completes although its caller has gone.
        assert!(is_kept == commits.get(), "dropped after {polls} polls: {numbers:?}");
        assert!(polls < 1000, "it never ends");
    }
}

#[tokio::test]
async fn all_members_fail_when_sqlite_has_rolled_back() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    // Like a full disk, this makes SQLite roll back the whole transaction.
    second.execute_unprepared("INSERT OR ROLLBACK INTO number VALUES (1)").await.unwrap_err();
    drop(second);

    first.await.unwrap().unwrap_err();
    assert_eq!(numbers_of(&database.url).await, [1]);
    inserting(&db, 4).await.commit().await.unwrap();
    assert_eq!(numbers_of(&database.url).await, [1, 4]);
}

#[tokio::test]
async fn all_members_fail_with_the_commit_of_their_group() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let child = "CREATE TABLE child (parent INTEGER REFERENCES number (n) DEFERRABLE INITIALLY DEFERRED)";
    db.write().execute_unprepared(child).await.unwrap();
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    // Only the commit finds that the parent is missing.
    second.execute_unprepared("INSERT INTO child VALUES (77)").await.unwrap();
    let second = second.commit().await.unwrap_err();

    assert_eq!(first.await.unwrap().unwrap_err().to_string(), second.to_string());
    assert_eq!(numbers_of(&database.url).await, [1]);
    inserting(&db, 4).await.commit().await.unwrap();
    assert_eq!(numbers_of(&database.url).await, [1, 4]);
}

#[tokio::test]
async fn all_members_fail_when_a_file_was_removed() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    std::fs::rename(database.file(""), database.file(".moved")).unwrap();

    for error in [second.commit().await.unwrap_err(), first.await.unwrap().unwrap_err()] {
        assert_eq!(StorageFault::of(&error), Some(StorageFault::Removed), "{error}");
    }
}

#[tokio::test]
async fn group_is_committed_although_its_callers_are_gone() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    first.abort();
    drop(second);

    // It begins once the group has ended.
    drop(db.begin().await.unwrap());
    assert_eq!(numbers_of(&database.url).await, [1, 2]);
}

#[tokio::test]
async fn open_group_is_committed_before_the_database_is_closed() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    let first = inserting(&db, 2).await;
    let (first, second) = group_of_two(&db, first, 3).await;

    drop(second);
    db.close().await.unwrap();

    first.await.unwrap().unwrap();
    assert_eq!(numbers_of(&database.url).await, [1, 2]);
}

#[tokio::test]
async fn connection_is_replaced_after_a_commit_whose_caller_went_away() {
    let database = TestDatabase::new();
    let db = open(&database).await;
    assert!(!db.health().take_writer_distrust());

    // Polled once, which sends the commit, and dropped. On a busy machine it may be done before that poll ends.
    let mut number = 2;
    while inserting(&db, number).await.commit().now_or_never().is_some() {
        number += 1;
    }

    assert!(db.health().take_writer_distrust());
    inserting(&db, number + 1).await.commit().await.unwrap();
    assert!(!db.health().take_writer_distrust());
}
