//! Verifies an SQLite database after damage was met while the server runs.
//!
//! SQLite reports a read that the disk failed as damage (`SQLITE_CORRUPT`), so the damage may be over with the fault of the
//! disk. Writes are stopped while the database is verified, and continue when a check finds no damage.

use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use sea_orm::ConnectionTrait as _;
use tracing::{error, info, warn};

use super::db::Db;
use super::integrity::{CheckConnection, FULL_CHECK, QUICK_CHECK};
use super::open_error::OpenError;

/// Delays before the checks; the last one repeats.
const CHECK_DELAYS: [Duration; 3] =
    [Duration::from_secs(10), Duration::from_secs(30), Duration::from_secs(300)];
/// Interval between tests whether damage was met.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// If damage is met again this soon after a check that found none, the check may not detect it, so the delays stay long.
const RELAPSE_WINDOW: Duration = Duration::from_secs(3600);

/// The depth of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckDepth {
    /// The pages of every table, as before a start.
    Quick,
    /// The indexes too: damage was met again, or was not over after the first check.
    Full,
}

impl CheckDepth {
    fn pragma(self) -> &'static str {
        match self {
            Self::Quick => QUICK_CHECK,
            Self::Full => FULL_CHECK,
        }
    }
}

/// The schedule of the checks and their depth.
#[derive(Debug, Default)]
struct VerificationSchedule {
    checks_planned: usize,
    last_passed_at: Option<Instant>,
    /// The outcome that was logged last; the same one is not logged again.
    reported: Option<Discriminant<OpenError>>,
}

impl VerificationSchedule {
    /// Returns the delay and the depth of the next check.
    fn plan_next(&mut self, now: Instant) -> (Duration, CheckDepth) {
        if self.last_passed_at.take().is_some_and(|at| now.duration_since(at) > RELAPSE_WINDOW) {
            self.checks_planned = 0;
        }
        let depth = if self.checks_planned == 0 { CheckDepth::Quick } else { CheckDepth::Full };
        let [first, second, later] = CHECK_DELAYS;
        let pause = match self.checks_planned {
            0 => first,
            1 => second,
            _ => later,
        };
        self.checks_planned += 1;
        (pause, depth)
    }

    fn record_passed(&mut self, now: Instant) {
        self.last_passed_at = Some(now);
        self.reported = None;
    }

    /// Logs an outcome that leaves writes stopped, unless it is the same as before.
    fn report(&mut self, error: &OpenError) {
        let kind = discriminant(error);
        if self.reported.replace(kind) == Some(kind) {
            return;
        }
        match error {
            OpenError::Damaged(damage) => error!(
                %damage,
                "a check of the database found damage: writes stay stopped; stop the server and restore a backup"
            ),
            OpenError::Database(cause) | OpenError::NotWritable(cause) => {
                warn!(%cause, "could not check the database for damage: writes stay stopped, and the check is repeated");
            }
        }
    }
}

impl Db {
    /// Verifies the database after damage was met, again and again until a check finds none. Runs until it is aborted; returns
    /// immediately if the database has no files on this machine.
    pub async fn verify_after_damage(&self) {
        if !self.health.has_files() {
            return;
        }
        let mut schedule = VerificationSchedule::default();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if !self.health.is_damaged() {
                continue;
            }
            let (pause, depth) = schedule.plan_next(Instant::now());
            tokio::time::sleep(pause).await;
            match self.verify(depth).await {
                Ok(()) => schedule.record_passed(Instant::now()),
                Err(error) => schedule.report(&error),
            }
        }
    }

    /// Checks the database, and lets writes continue if there is no damage.
    async fn verify(&self, depth: CheckDepth) -> Result<(), OpenError> {
        // Read before the check, so that damage that is met while it runs keeps writes stopped.
        let met = self.health.damage_met();
        let started = Instant::now();
        self.health.require_files()?;
        CheckConnection::connect(self).await?.check(depth.pragma().to_owned()).await?;
        // If the file was replaced meanwhile, the check read another one.
        self.health.require_files()?;
        // After a commit every other connection drops the pages in its cache, some of which a failing disk may have returned. A new
        // connection commits, because the writer's own cache may hold such a page and would write it to the file. Nothing uses
        // `user_version`, which stays 0.
        self.health.distrust_writer();
        let committed = self.write.pool.execute_unprepared("PRAGMA user_version = 0").await;
        committed.map_err(|error| self.health.record_write(error))?;
        if self.health.clear_damage(met) {
            let duration_ms = started.elapsed().as_millis();
            info!(duration_ms, "checked the database: no damage was found, and writes continue");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::ConnectionTrait;
    use sqlx::SqliteConnection;

    use super::super::tests::{TestDatabase, overwrite_middle_page};
    use super::*;

    #[test]
    fn repeated_damage_is_checked_more_deeply_and_less_often() {
        let (mut schedule, start) = (VerificationSchedule::default(), Instant::now());
        let [first, second, later] = CHECK_DELAYS;

        assert_eq!(schedule.plan_next(start), (first, CheckDepth::Quick));
        assert_eq!(schedule.plan_next(start), (second, CheckDepth::Full));
        assert_eq!(schedule.plan_next(start), (later, CheckDepth::Full));
        schedule.record_passed(start);
        assert_eq!(schedule.plan_next(start + RELAPSE_WINDOW), (later, CheckDepth::Full));
        schedule.record_passed(start);
        assert_eq!(schedule.plan_next(start + RELAPSE_WINDOW + POLL_INTERVAL), (first, CheckDepth::Quick));
    }

    async fn data_version(connection: &mut SqliteConnection) -> i64 {
        sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await.unwrap()
    }

    #[tokio::test]
    async fn verification_after_transient_damage_resumes_writes() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        db.health().set_damaged();
        let insert = "INSERT INTO number VALUES (2)";
        let mut reader = db.read.pool.get_sqlite_connection_pool().acquire().await.unwrap();
        db.write().execute_unprepared(insert).await.unwrap_err();

        let before = data_version(&mut reader).await;

        for depth in [CheckDepth::Quick, CheckDepth::Full] {
            db.verify(depth).await.unwrap();
        }

        // `data_version` changes when another connection commits; a connection that sees that drops the pages in its cache.
        assert_ne!(data_version(&mut reader).await, before);

        assert!(!db.health().is_damaged());
        db.write().execute_unprepared(insert).await.unwrap();
    }

    #[tokio::test]
    async fn verification_commits_on_a_new_connection() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        // The connection of the writer cannot commit any more.
        db.write().execute_unprepared("PRAGMA query_only = 1").await.unwrap();
        db.health().set_damaged();

        db.verify(CheckDepth::Quick).await.unwrap();

        assert!(!db.health().is_damaged());
    }

    #[tokio::test]
    async fn persistent_damage_keeps_writes_stopped() {
        let database = TestDatabase::new();
        let path = database.large_file().await;
        let db = Db::connect(&database.url).await.unwrap();
        overwrite_middle_page(&path);
        db.health().set_damaged();

        let found = db.verify(CheckDepth::Quick).await.unwrap_err();

        assert!(matches!(found, OpenError::Damaged(_)), "{found}");
        assert!(db.health().is_damaged());
    }

    #[tokio::test]
    async fn damage_that_is_met_during_the_check_is_not_cleared() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        db.health().set_damaged();
        let met = db.health().damage_met();

        db.health().set_damaged();

        assert!(!db.health().clear_damage(met));
        assert!(db.health().is_damaged());
    }

    #[tokio::test]
    async fn removed_database_is_not_verified() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        db.health().set_damaged();

        std::fs::rename(database.file(""), database.file(".moved")).unwrap();

        db.verify(CheckDepth::Quick).await.unwrap_err();
        assert!(db.health().is_damaged());
    }
}
