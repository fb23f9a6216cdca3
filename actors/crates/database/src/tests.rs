//! Opening, and what a storage fault leaves behind.

use std::cell::Cell;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::Poll;

use migration::{Migrator, MigratorTrait};
use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, Statement};

use super::db::Db;
use super::fault::StorageFault;
use super::file_names::LOG_SUFFIX;
use super::integrity::StartCheckBounds;
use super::open_error::OpenError;
use super::session_lock::{LockHolder, SessionLock};
use super::sqlite::{self, reader_count};

pub(super) struct TestDatabase {
    pub(super) url: String,
    _folder: tempfile::TempDir,
}

impl TestDatabase {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Self { url, _folder: folder }
    }

    /// Returns the database file, or one whose name is longer by this suffix.
    pub(super) fn file(&self, suffix: &str) -> PathBuf {
        self._folder.path().join(format!("a.db{suffix}"))
    }

    /// Opened, with a table of unique numbers that holds 1.
    pub(super) async fn with_numbers(&self) -> Db {
        let db = sqlite::connect(&self.url).await.unwrap();
        db.write().execute_unprepared("CREATE TABLE number (n INTEGER UNIQUE)").await.unwrap();
        insert(db.write(), 1).await.unwrap();
        db
    }

    /// A closed database of some hundred pages.
    pub(super) async fn large_file(&self) -> PathBuf {
        let db = self.with_numbers().await;
        let rows = "WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 50000)";
        db.write().execute_unprepared(&format!("{rows} INSERT INTO number SELECT n FROM n")).await.unwrap();
        db.close().await.unwrap();
        self.file("")
    }

    /// Returns the numbers that another process reads.
    async fn numbers(&self) -> Vec<i64> {
        numbers_of(&self.url).await
    }
}

/// Returns the numbers of the database at this URL.
pub(super) async fn numbers_of(url: &str) -> Vec<i64> {
    let db = sqlite::connect(url).await.unwrap();
    let select = Statement::from_string(DatabaseBackend::Sqlite, "SELECT n FROM number ORDER BY n");
    let rows = db.read().query_all_raw(select).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}

async fn open_checked(url: &str) -> Result<Db, OpenError> {
    let db = Db::connect(url).await?;
    db.prepare().await?;
    Ok(db)
}

async fn insert(db: &impl ConnectionTrait, number: i64) -> Result<(), DbErr> {
    db.execute_unprepared(&format!("INSERT INTO number VALUES ({number})")).await.map(drop)
}

/// A statement that fails and, like a full disk, makes SQLite roll back the whole transaction.
async fn fail_and_roll_back(db: &impl ConnectionTrait) -> DbErr {
    db.execute_unprepared("INSERT OR ROLLBACK INTO number VALUES (1)").await.unwrap_err()
}

#[tokio::test]
async fn new_file_can_be_opened_many_times_at_once() {
    for _ in 0..20 {
        let database = TestDatabase::new();

        let opened = futures_util::future::join_all((0..4).map(|_| sqlite::connect(&database.url))).await;

        for one in opened {
            one.unwrap().close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn lock_is_held_by_one_until_its_database_is_closed() {
    let database = TestDatabase::new();
    let (one, other) = (database.with_numbers().await, sqlite::connect(&database.url).await.unwrap());

    assert!(one.hold_lock(SessionLock::Index).await.unwrap());
    assert!(one.hold_lock(SessionLock::Index).await.unwrap());
    assert!(!other.hold_lock(SessionLock::Index).await.unwrap());

    one.clone().close().await.unwrap();
    one.hold_lock(SessionLock::Index).await.unwrap_err();
    assert!(other.hold_lock(SessionLock::Index).await.unwrap());
}

#[tokio::test]
async fn lock_is_the_same_for_every_path_of_a_database() {
    let database = TestDatabase::new();
    let one = database.with_numbers().await;
    let links = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(database._folder.path(), links.path().join("link")).unwrap();
    let url = format!("sqlite:{}", links.path().join("link/a.db").display());
    let other = sqlite::connect(&url).await.unwrap();

    assert!(one.hold_lock(SessionLock::Index).await.unwrap());

    assert!(!other.hold_lock(SessionLock::Index).await.unwrap());
}

#[tokio::test]
async fn database_in_memory_needs_no_lock() {
    let (one, other) = (
        sqlite::connect("sqlite::memory:").await.unwrap(),
        sqlite::connect("sqlite::memory:").await.unwrap(),
    );

    assert!(one.hold_lock(SessionLock::Index).await.unwrap());
    assert!(other.hold_lock(SessionLock::Index).await.unwrap());
}

#[tokio::test]
async fn postgres_session_takes_its_lock_once() {
    let Ok(server) = std::env::var("CARREL_TEST_POSTGRES") else { return };
    let db = Db::connect(&server).await.unwrap();
    let LockHolder::Session(session) = &db.locks else { panic!("PostgreSQL has locks of sessions") };
    let release = format!("SELECT pg_advisory_unlock({})", SessionLock::Index.number());
    let release = || Statement::from_string(DatabaseBackend::Postgres, release.clone());

    assert!(db.hold_lock(SessionLock::Index).await.unwrap());
    assert!(db.hold_lock(SessionLock::Index).await.unwrap());

    for was_held in [true, false] {
        let released = session.query_one_raw(release()).await.unwrap().unwrap();
        assert_eq!(released.try_get_by_index::<bool>(0).unwrap(), was_held);
    }
    db.close().await.unwrap();
}

#[tokio::test]
async fn pending_migrations_are_counted_without_applying_them() {
    let database = TestDatabase::new();

    let connected = Db::connect(&database.url).await.unwrap();
    assert_eq!(connected.pending_migrations().await.unwrap(), Migrator::migrations().len());
    assert_eq!(connected.pending_migrations().await.unwrap(), Migrator::migrations().len());

    let opened = Db::open(&database.url).await.unwrap();
    assert_eq!(opened.pending_migrations().await.unwrap(), 0);
}

#[tokio::test]
async fn database_of_another_build_is_refused_in_words() {
    let database = TestDatabase::new();
    let db = Db::open(&database.url).await.unwrap();
    // As a build records it whose first migration has other SQL.
    let rename = "UPDATE seaql_migrations SET version = 'm0001_accounts' WHERE version LIKE 'm0001_%'";
    db.write().execute_unprepared(rename).await.unwrap();
    db.close().await.unwrap();

    let refused = Db::open(&database.url).await.err().unwrap().to_string();

    assert!(refused.contains("another build of Carrel") && refused.contains("m0001_accounts;"), "{refused}");
}

#[tokio::test]
async fn file_of_a_url_is_the_one_that_is_opened() {
    let database = TestDatabase::new();
    let folder = database._folder.path();
    for (name, written) in [("a.db", "a.db"), ("a b?c%d.db", "a b%3Fc%25d.db")] {
        for scheme in ["sqlite:", "sqlite://"] {
            let url = format!("{scheme}{}?mode=rwc", folder.join(written).display());

            let db = Db::connect(&url).await.unwrap();

            assert_eq!(Db::file_of(&url), Some(folder.join(name)), "{url}");
            assert_eq!(db.file().await.unwrap(), Some(folder.join(name)), "{url}");
        }
    }
    assert_eq!(Db::file_of("postgres://reader@localhost/carrel"), None);
}

#[tokio::test]
async fn writer_survives_a_transaction_that_sqlite_ended() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    let txn = db.begin().await.unwrap();
    insert(&txn, 2).await.unwrap();
    fail_and_roll_back(&txn).await;
    drop(txn);

    // After an ordinary failure, writes with and without a transaction must be visible to another process.
    let txn = db.begin().await.unwrap();
    insert(&txn, 1).await.unwrap_err();
    drop(txn);
    let txn = db.begin().await.unwrap();
    insert(&txn, 3).await.unwrap();
    txn.commit().await.unwrap();
    insert(db.write(), 4).await.unwrap();
    assert_eq!(database.numbers().await, [1, 3, 4]);
}

#[tokio::test]
async fn writer_is_replaced_when_a_statement_left_a_transaction_open() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    // The driver does not know of a transaction that was begun as a plain statement.
    db.write().execute_unprepared("BEGIN IMMEDIATE").await.unwrap();
    insert(db.write(), 2).await.unwrap();
    db.write().execute_unprepared("SAVEPOINT outer").await.unwrap();
    let txn = db.begin().await.unwrap();
    insert(&txn, 3).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(database.numbers().await, [1, 2, 3]);
}

#[tokio::test]
async fn transaction_refuses_everything_after_a_failed_statement() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    let txn = db.begin().await.unwrap();
    let failure = fail_and_roll_back(&txn).await;
    let later = insert(&txn, 2).await.unwrap_err();
    let committed = txn.commit().await.unwrap_err();

    assert_eq!([later.to_string(), committed.to_string()], [failure.to_string(), failure.to_string()]);
    assert_eq!(database.numbers().await, [1]);
}

#[tokio::test]
async fn writer_is_replaced_when_it_is_distrusted() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    // A temporary table lives as long as its connection, so it shows whether the connection was replaced.
    db.write().execute_unprepared("CREATE TEMP TABLE mark (n INTEGER)").await.unwrap();
    db.write().execute_unprepared("SELECT * FROM mark").await.unwrap();

    db.health().distrust_writer();

    db.write().execute_unprepared("SELECT * FROM mark").await.unwrap_err();
    insert(db.write(), 2).await.unwrap();
    assert_eq!(database.numbers().await, [1, 2]);
}

#[tokio::test]
async fn damaged_database_takes_no_writes() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    db.health().set_damaged();

    let refused = [insert(db.write(), 2).await.unwrap_err(), db.begin().await.err().unwrap()];
    for error in refused {
        assert_eq!(StorageFault::of(&error), Some(StorageFault::Corrupt));
    }
    let select = Statement::from_string(DatabaseBackend::Sqlite, "SELECT n FROM number");
    assert_eq!(db.read().query_all_raw(select).await.unwrap().len(), 1);
}

fn assert_is_refused_as_removed(error: DbErr) {
    assert_eq!(StorageFault::of(&error), Some(StorageFault::Removed), "{error}");
}

#[tokio::test]
async fn moved_database_takes_no_writes_until_it_is_back() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    let txn = db.begin().await.unwrap();
    insert(&txn, 2).await.unwrap();

    std::fs::rename(database.file(""), database.file(".moved")).unwrap();

    assert_is_refused_as_removed(txn.commit().await.unwrap_err());
    assert_is_refused_as_removed(insert(db.write(), 3).await.unwrap_err());
    assert_is_refused_as_removed(db.begin().await.err().unwrap());
    let select = Statement::from_string(DatabaseBackend::Sqlite, "SELECT n FROM number");
    assert!(!db.read().query_all_raw(select).await.unwrap().is_empty());
    std::fs::rename(database.file(".moved"), database.file("")).unwrap();
    insert(db.write(), 4).await.unwrap();
    let numbers = database.numbers().await;
    assert!(numbers.contains(&4) && !numbers.contains(&3), "{numbers:?}");
}

#[tokio::test]
async fn replaced_database_takes_no_writes_and_gets_no_log() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    let copy = format!("VACUUM INTO '{}'", database.file(".copy").display());
    db.write().execute_unprepared(&copy).await.unwrap();
    insert(db.write(), 2).await.unwrap();
    let content = std::fs::read(database.file(".copy")).unwrap();

    std::fs::rename(database.file(".copy"), database.file("")).unwrap();
    // A new connection would open the copy, with the log of the other file.
    db.health().distrust_writer();
    let select = || Statement::from_string(DatabaseBackend::Sqlite, "SELECT n FROM number");
    let reads = (0..2 * reader_count()).map(|_| db.read().query_all_raw(select()));

    assert_is_refused_as_removed(insert(db.write(), 3).await.unwrap_err());
    for rows in futures_util::future::join_all(reads).await {
        assert_eq!(rows.unwrap().len(), 2);
    }
    assert!(db.rescue().await);
    db.close().await.unwrap();
    assert_eq!(numbers_of(&database.url.replace("a.db", "a.db.rescued")).await, [1, 2]);
    assert!(std::fs::read(database.file("")).unwrap() == content);
    assert_eq!(database.numbers().await, [1]);
    sqlite::connect(&database.url).await.unwrap().full_check().await.unwrap();
}

#[tokio::test]
async fn removed_log_stops_writes_and_loses_nothing() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    insert(db.write(), 2).await.unwrap();

    std::fs::remove_file(database.file("-wal")).unwrap();

    assert_is_refused_as_removed(insert(db.write(), 3).await.unwrap_err());
    db.close().await.unwrap();
    assert_eq!(database.numbers().await, [1, 2]);
}

#[tokio::test]
async fn removed_database_is_not_created_by_a_new_connection() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    for suffix in ["", "-wal", "-shm"] {
        std::fs::remove_file(database.file(suffix)).unwrap();
    }

    let select = || Statement::from_string(DatabaseBackend::Sqlite, "SELECT n FROM number");
    let reads = (0..2 * reader_count()).map(|_| db.read().query_all_raw(select()));
    let found = futures_util::future::join_all(reads).await;

    assert!(found.iter().all(|rows| rows.as_ref().is_ok_and(|rows| rows.len() == 1)));
    // The writer's connection is replaced.
    db.health().distrust_writer();
    db.write.pool.execute_unprepared("INSERT INTO number VALUES (2)").await.unwrap_err();
    assert!(!database.file("").exists());
}

#[tokio::test]
async fn closing_does_not_count_as_a_removed_file() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    db.clone().close().await.unwrap();

    // The last connection has removed the log.
    assert!(!database.file("-wal").exists());
    assert!(db.health().are_files_in_place());
}

#[tokio::test]
async fn writer_opened_read_only_by_chance_is_not_a_full_disk() {
    let database = TestDatabase::new();
    let _writable = database.with_numbers().await;
    let db = sqlite::connect(&database.url.replace("mode=rwc", "mode=ro")).await.unwrap();
    let txn = db.begin().await.unwrap();

    let in_transaction = [insert(&txn, 2).await.unwrap_err(), txn.commit().await.unwrap_err()];
    let alone = insert(db.write(), 3).await.unwrap_err();

    for error in in_transaction.into_iter().chain([alone]) {
        assert_eq!(StorageFault::of(&error), Some(StorageFault::NoHandles), "{error}");
    }
}

/// Polls a future at most `times` times, each time that it is woken, and drops it. Returns its output if it has completed.
pub(super) async fn poll_times<F: Future>(mut future: Pin<Box<F>>, times: i64) -> Option<F::Output> {
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls < times => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
        }
    })
    .await
}

#[tokio::test]
async fn transaction_dropped_at_any_poll_keeps_nothing() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;

    for polls in 1.. {
        let (of_transaction, later) = (2 * polls, 2 * polls + 1);
        let commits = Cell::new(false);
        let write = async {
            let txn = db.begin().await?;
            insert(&txn, of_transaction).await?;
            commits.set(true);
            txn.commit().await
        };
        let ended = poll_times(Box::pin(write), polls).await;

        insert(db.write(), later).await.unwrap();
        let numbers = database.numbers().await;
        assert!(numbers.contains(&later), "dropped after {polls} polls: {numbers:?}");
        if let Some(ended) = ended {
            ended.unwrap();
            assert!(numbers.contains(&of_transaction) && polls > 1, "{polls} polls: {numbers:?}");
            return;
        }
        // A commit that has begun may complete although its future was dropped.
        let is_kept = numbers.contains(&of_transaction);
        assert!(commits.get() || !is_kept, "dropped after {polls} polls: {numbers:?}");
        assert!(polls < 1000, "it never ends");
    }
}

pub(super) fn overwrite_middle_page(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 8192 * 4096;
    bytes[middle..middle + 64].fill(0xa5);
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn cut_file_is_found_before_the_start() {
    let database = TestDatabase::new();
    let path = database.large_file().await;
    open_checked(&database.url).await.unwrap().close().await.unwrap();
    let size = path.metadata().unwrap().len();

    std::fs::File::options().write(true).open(&path).unwrap().set_len(size / 2).unwrap();

    let found = open_checked(&database.url).await.err().unwrap();
    assert!(matches!(found, OpenError::Damaged(_)), "{found}");
}

/// The rest of the file could be in the write-ahead log.
#[tokio::test]
async fn large_file_cut_after_a_crash_is_found_before_the_start() {
    let (database, copy) = (TestDatabase::new(), TestDatabase::new());
    let db = database.with_numbers().await;
    for statement in [
        "CREATE TABLE text (t BLOB)",
        "INSERT INTO text WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20)
         SELECT zeroblob(1048576) FROM n",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "INSERT INTO text VALUES (zeroblob(1048576))",
    ] {
        db.write().execute_unprepared(statement).await.unwrap();
    }
    for suffix in ["", "-wal"] {
        std::fs::copy(database.file(suffix), copy.file(suffix)).unwrap();
    }
    let cut = std::fs::File::options().write(true).open(copy.file("")).unwrap();
    let size = cut.metadata().unwrap().len();
    assert!(size > 16 << 20);

    cut.set_len(size - (256 << 10)).unwrap();

    let found = open_checked(&copy.url).await.err().unwrap();
    assert!(matches!(found, OpenError::Damaged(_)), "{found}");
}

/// Bounds for which every file is too large to be checked before the start.
const NO_BYTES: StartCheckBounds = StartCheckBounds { whole_bytes: 0, short_bytes: 0 };

/// The files of a database after a crash: the log holds pages by which the file is too short.
async fn short_file() -> TestDatabase {
    let (database, copy) = (TestDatabase::new(), TestDatabase::new());
    let db = database.with_numbers().await;
    for statement in [
        "CREATE TABLE text (t BLOB)",
        "INSERT INTO text VALUES (zeroblob(1048576))",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "INSERT INTO text VALUES (zeroblob(65536))",
    ] {
        db.write().execute_unprepared(statement).await.unwrap();
    }
    for suffix in ["", LOG_SUFFIX] {
        std::fs::copy(database.file(suffix), copy.file(suffix)).unwrap();
    }
    copy
}

#[tokio::test]
async fn large_short_file_whose_log_lacks_pages_is_checked_at_start() {
    let database = short_file().await;
    let cut = std::fs::File::options().write(true).open(database.file("")).unwrap();
    let size = cut.metadata().unwrap().len();

    cut.set_len(size - (256 << 10)).unwrap();

    let check = async || Db::connect(&database.url).await?.check_within(NO_BYTES).await;
    let found = check().await.unwrap_err();
    assert!(matches!(found, OpenError::Damaged(_)), "{found}");
}

#[tokio::test]
async fn large_short_file_whose_log_has_its_pages_is_served() {
    let database = short_file().await;
    let size = database.file("").metadata().unwrap().len();
    // In the middle of the large text, where a check at the start would find it.
    overwrite_middle_page(&database.file(""));

    let db = Db::connect(&database.url).await.unwrap();

    assert!(size < db.page_bytes().await.unwrap());
    db.check_within(NO_BYTES).await.unwrap();
    let checked = db.check_within(StartCheckBounds { short_bytes: u64::MAX, ..NO_BYTES }).await;
    assert!(matches!(checked, Err(OpenError::Damaged(_))));
}

#[tokio::test]
async fn overwritten_page_is_found_before_the_start() {
    let database = TestDatabase::new();
    let path = database.large_file().await;

    overwrite_middle_page(&path);

    let found = open_checked(&database.url).await.err().unwrap();
    assert!(matches!(found, OpenError::Damaged(_)), "{found}");
}

#[tokio::test]
async fn damage_during_migration_is_reported_as_damage() {
    let database = TestDatabase::new();
    let path = file_checked_while_serving(&database).await;
    let db = open_checked(&database.url).await.unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'seaql_migrations'";
    let root = Statement::from_string(DatabaseBackend::Sqlite, root);
    let root: i64 = db.read().query_one_raw(root).await.unwrap().unwrap().try_get_by_index(0).unwrap();
    db.close().await.unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let page = usize::try_from(root - 1).unwrap() * 4096;
    bytes[page..page + 64].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();

    let found = open_checked(&database.url).await.err().unwrap();

    assert!(matches!(found, OpenError::Damaged(_)), "{found}");
    assert!(found.to_string().contains("restore a backup"), "{found}");
}

/// A closed database that is too large to be checked before the start. A page in its middle is of a table that no code reads.
async fn file_checked_while_serving(database: &TestDatabase) -> PathBuf {
    let db = database.with_numbers().await;
    let fill = "CREATE TABLE \"it's filling\" (content BLOB);
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 6000)
        INSERT INTO \"it's filling\" SELECT randomblob(3000) FROM n";
    db.write().execute_unprepared(fill).await.unwrap();
    db.close().await.unwrap();
    let path = database._folder.path().join("a.db");
    assert!(path.metadata().unwrap().len() > 16 << 20);
    path
}

#[tokio::test]
async fn overwritten_page_of_a_large_file_is_found_while_serving() {
    let database = TestDatabase::new();
    let path = file_checked_while_serving(&database).await;
    overwrite_middle_page(&path);
    let db = open_checked(&database.url).await.unwrap();
    assert!(!db.health().is_damaged());

    db.check_while_serving().await;

    assert!(db.health().is_damaged());
}

#[tokio::test]
async fn intact_large_file_passes_the_check_while_serving() {
    let database = TestDatabase::new();
    file_checked_while_serving(&database).await;
    let db = open_checked(&database.url).await.unwrap();

    db.check_while_serving().await;

    assert!(!db.health().is_damaged());
    insert(db.write(), 2).await.unwrap();
}

#[tokio::test]
async fn index_that_lacks_a_row_is_found_by_the_full_check() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    let damage = "CREATE TABLE word (w TEXT);
        CREATE INDEX word_w ON word (w) WHERE w > 'm';
        INSERT INTO word VALUES ('a'), ('z');
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = 'CREATE INDEX word_w ON word (w)' WHERE name = 'word_w'";
    db.write().execute_unprepared(damage).await.unwrap();
    db.close().await.unwrap();
    let db = sqlite::connect(&database.url).await.unwrap();

    let found = db.full_check().await.unwrap_err();

    assert!(matches!(found, OpenError::Damaged(_)), "{found}");
}

#[tokio::test]
async fn row_without_its_parent_is_found_by_the_full_check() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    db.full_check().await.unwrap();
    let orphan = "PRAGMA foreign_keys = OFF;
        CREATE TABLE child (parent INTEGER REFERENCES number (n));
        INSERT INTO child VALUES (77)";
    db.write().execute_unprepared(orphan).await.unwrap();

    let found = db.full_check().await.unwrap_err();

    assert!(matches!(found, OpenError::Damaged(_)), "{found}");
}

#[tokio::test]
async fn sqlite_is_built_with_the_options_of_cargo_config() {
    let database = TestDatabase::new();
    let db = database.with_numbers().await;
    let select = Statement::from_string(DatabaseBackend::Sqlite, "PRAGMA compile_options");

    let rows = db.read().query_all_raw(select).await.unwrap();

    let options: Vec<String> = rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect();
    let has = |option: &str| options.iter().any(|found| found == option);
    assert!(has("DEFAULT_MEMSTATUS=0") && has("ENABLE_QPSG"), "{options:?}");
    assert!(!has("ENABLE_MEMORY_MANAGEMENT"), "{options:?}");
}
