//! A copy of an SQLite database whose file was removed or replaced while it is open.
//!
//! The open file contains all acknowledged writes, and is lost when it is closed. The write-ahead log at its path belongs to it: left
//! there, SQLite would apply it to whatever file is put in its place.

use std::fs;
use std::io;
use std::path::PathBuf;

use disk::{MIN_FREE_TO_ADD_BYTES, available_bytes};
use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, Statement};
use tracing::{error, warn};

use super::db::Db;
use super::file_names::with_suffix;
use super::open_files::DatabasePath;

/// The name of the copy is that of the database with this suffix, and a number from 2 on if there is one already.
const COPY_SUFFIX: &str = ".rescued";
const MAX_COPIES: u32 = 99;

/// Checkpoints the write-ahead log, and truncates it.
pub(super) const TRUNCATE_LOG: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

impl Db {
    /// Preserves the content of the open files: copies the database if its file is not at its path, then truncates the log. Returns
    /// `false` if it should be tried again.
    pub(super) async fn rescue(&self) -> bool {
        let path = self.health.database_path();
        let is_kept = path == DatabasePath::Own || self.health.is_rescued() || self.write_copy().await;
        // A log next to another file may contain the only copy of some writes.
        (is_kept || path == DatabasePath::Free) && self.truncate_log().await
    }

    async fn write_copy(&self) -> bool {
        match self.try_write_copy().await {
            Ok(copy) => {
                error!(
                    file = %copy.display(),
                    "copied the content of the database, because its file was removed or replaced: stop the server and put the copy in \
                     the place of the database, without `-wal` and `-shm` files"
                );
                self.health.set_rescued();
                true
            }
            Err(error) => {
                if self.health.report_rescue_failure() {
                    warn!(%error, "could not copy the content of a database whose file was removed or replaced");
                }
                false
            }
        }
    }

    async fn try_write_copy(&self) -> Result<PathBuf, DbErr> {
        let (draft, copy) = self.copy_paths().map_err(failed)?;
        // The copy must not fill the disk: below this bound a write of the index ends the process.
        let needed = self.page_bytes().await?.saturating_add(MIN_FREE_TO_ADD_BYTES);
        let free = draft.parent().map_or(Ok(0), available_bytes).map_err(failed)?;
        if free < needed {
            return Err(failed(io::ErrorKind::StorageFull.into()));
        }
        let into = format!("VACUUM INTO '{}'", draft.display().to_string().replace('\'', "''"));
        // Through a reader, whose connection still has the old file open; that of the writer may be replaced.
        let written = self.read.pool.execute_raw(Statement::from_string(DatabaseBackend::Sqlite, into)).await;
        // Renamed when it is complete, so that a crash leaves no file that looks like a complete copy.
        let placed = match written {
            Ok(_) => fs::rename(&draft, &copy).map_err(failed),
            Err(error) => Err(error),
        };
        if placed.is_err() {
            // A draft that cannot be removed now is removed before the next copy.
            let _ = fs::remove_file(&draft);
        }
        placed.map(|()| copy)
    }

    /// Returns the temporary path of a copy and its final path.
    fn copy_paths(&self) -> io::Result<(PathBuf, PathBuf)> {
        let database = self.health.database_file().ok_or(io::ErrorKind::NotFound)?;
        let names = (1..=MAX_COPIES).map(|number| match number {
            1 => COPY_SUFFIX.to_owned(),
            number => format!("{COPY_SUFFIX}-{number}"),
        });
        let free = names.map(|name| with_suffix(database, &name)).find(|copy| !copy.exists());
        let copy = free.ok_or(io::ErrorKind::AlreadyExists)?;
        let draft = with_suffix(database, ".rescue-draft");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok((draft, copy)),
        }
    }

    /// Checkpoints the write-ahead log into the database file that is open, and truncates the log. Returns `false` if it should be tried
    /// again, because a read transaction is in the way.
    async fn truncate_log(&self) -> bool {
        let checkpoint = Statement::from_string(DatabaseBackend::Sqlite, TRUNCATE_LOG);
        // Through a reader: the writer's connection may be replaced by one that opens the other database.
        match self.read.pool.query_one_raw(checkpoint).await {
            // The first column states whether the checkpoint was blocked.
            Ok(row) => row.is_some_and(|row| row.try_get_by_index::<i64>(0).is_ok_and(|busy| busy == 0)),
            Err(error) => {
                warn!(%error, "could not checkpoint the write-ahead log into the database file that is open");
                true
            }
        }
    }
}

fn failed(cause: io::Error) -> DbErr {
    DbErr::Custom(cause.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::{TestDatabase, numbers_of};
    use super::*;

    async fn open(database: &TestDatabase) -> Db {
        let db = database.with_numbers().await;
        db.write().execute_unprepared("INSERT INTO number VALUES (2)").await.unwrap();
        db
    }

    async fn numbers(file: &Path) -> Vec<i64> {
        numbers_of(&format!("sqlite://{}", file.display())).await
    }

    #[tokio::test]
    async fn removed_database_is_copied() {
        let database = TestDatabase::new();
        let db = open(&database).await;

        fs::remove_file(database.file("")).unwrap();

        assert!(db.rescue().await);
        assert_eq!(numbers(&database.file(".rescued")).await, [1, 2]);
        assert!(db.rescue().await);
        assert!(!database.file(".rescued-2").exists());
    }

    #[tokio::test]
    async fn existing_copy_is_kept() {
        let database = TestDatabase::new();
        let db = open(&database).await;
        fs::write(database.file(".rescued"), "of another accident").unwrap();

        fs::remove_file(database.file("")).unwrap();

        assert!(db.rescue().await);
        assert_eq!(numbers(&database.file(".rescued-2")).await, [1, 2]);
        assert_eq!(fs::read(database.file(".rescued")).unwrap(), b"of another accident");
    }

    #[tokio::test]
    async fn replaced_database_is_copied_before_it_is_closed() {
        let database = TestDatabase::new();
        let db = open(&database).await;
        fs::copy(database.file(""), database.file(".copy")).unwrap();

        fs::rename(database.file(".copy"), database.file("")).unwrap();
        db.close().await.unwrap();

        assert_eq!(numbers(&database.file(".rescued")).await, [1, 2]);
    }

    #[tokio::test]
    async fn log_next_to_another_file_stays_until_it_is_copied() {
        let database = TestDatabase::new();
        let db = open(&database).await;
        fs::copy(database.file(""), database.file(".copy")).unwrap();
        // The copy cannot be written while a folder is in its place.
        fs::create_dir(database.file(".rescue-draft")).unwrap();

        fs::rename(database.file(".copy"), database.file("")).unwrap();

        assert!(!db.rescue().await);
        assert!(database.file("-wal").metadata().unwrap().len() > 0);
        fs::remove_dir(database.file(".rescue-draft")).unwrap();
        assert!(db.rescue().await);
        assert_eq!(database.file("-wal").metadata().unwrap().len(), 0);
    }

    #[tokio::test]
    async fn database_in_its_place_is_not_copied() {
        let database = TestDatabase::new();
        let db = open(&database).await;

        fs::remove_file(database.file("-wal")).unwrap();

        assert!(db.rescue().await);
        assert!(!database.file(".rescued").exists());
    }
}
