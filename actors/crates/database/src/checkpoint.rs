//! Checkpoints of SQLite's write-ahead log on a disk that is almost full.

use std::time::Duration;

use disk::DiskSpace;
use sea_orm::{ConnectionTrait, DbErr};

use super::db::Db;

const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

/// Checkpoints the write-ahead log every second while a disk is below its floor, until it is aborted.
///
/// SQLite checkpoints automatically only when the log has 4 MB. On a disk with less free space the log cannot grow to that size, and every
/// write would fail, although a checkpointed log is overwritten from its beginning and needs no more space.
pub async fn checkpoint_below_floor(db: Db, disk: DiskSpace) {
    if db.is_postgres() {
        return;
    }
    loop {
        tokio::time::sleep(CHECKPOINT_INTERVAL).await;
        if !disk.has_room() && !db.health().is_damaged() {
            // If the checkpoint fails, as on a full disk, the pages stay in the log.
            let _ = checkpoint(&db).await;
        }
    }
}

async fn checkpoint(db: &Db) -> Result<(), DbErr> {
    // Through a reader, because the connection of the writer is replaced after a failure. PASSIVE waits for no reader or writer.
    db.read().execute_unprepared("PRAGMA wal_checkpoint(PASSIVE)").await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn log_is_overwritten_after_a_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let db = Db::open(&format!("sqlite://{}?mode=rwc", file.display())).await.unwrap();
        db.write().execute_unprepared("CREATE TABLE number (n INTEGER)").await.unwrap();
        let log_bytes = || std::fs::metadata(folder.path().join("a.db-wal")).unwrap().len();

        checkpoint(&db).await.unwrap();
        let before = log_bytes();
        for _ in 0..10 {
            db.write().execute_unprepared("INSERT INTO number VALUES (1)").await.unwrap();
        }

        assert_eq!(log_bytes(), before);
    }
}
