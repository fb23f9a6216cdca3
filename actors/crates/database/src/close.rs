//! Closing the database.

use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

use super::db::Db;
use super::fault;
use super::open_files::DatabasePath;
use super::rescue::TRUNCATE_LOG;

impl Db {
    /// Checkpoints the write-ahead log, releases the locks and closes every connection. Keeps the content of a database whose file was
    /// removed or replaced (`rescue`).
    ///
    /// # Errors
    /// [`DbErr`] when the log could not be checkpointed, as on a full disk; the connections are closed all the same. Also when the
    /// database was replaced and could not be copied; its connections stay open.
    pub async fn close(self) -> Result<(), DbErr> {
        if !self.health.are_files_in_place() {
            self.rescue().await;
            if self.health.database_path() == DatabasePath::Taken && !self.health.is_rescued() {
                // The last connection to close would remove the log, which may hold the only copy of some writes.
                std::mem::forget(self);
                return Err(fault::removed());
            }
        }
        if let Some(queue) = &self.queue {
            queue.commit_open_group(&self.health).await;
        }
        // Before the pools, whose last connection removes the log.
        self.direct.close();
        self.health.set_closing();
        let checkpoint = if self.is_postgres() {
            Ok(())
        } else if self.health.is_damaged() {
            Err(fault::damaged())
        } else {
            // Through a reader, whose connection still has the original file open, wherever it was moved. The writer's connection may
            // be replaced, and a new one opens the file that is at the path.
            self.read.pool.execute_unprepared(TRUNCATE_LOG).await.map(drop)
        };
        let pools = self.pools();
        let mut closed = checkpoint.and(self.locks.release_all().await);
        for pool in pools {
            closed = closed.and(pool.close().await);
        }
        closed
    }

    /// Returns every pool, of other kinds of work too.
    fn pools(&self) -> Vec<DatabaseConnection> {
        match &self.by_work {
            Some(by_work) => by_work.all(),
            None => vec![self.read.pool.clone(), self.write.pool.clone()],
        }
    }
}
