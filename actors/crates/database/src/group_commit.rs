//! Group commit on SQLite: transactions that wait for the writer share one commit, and so one sync of the disk.
//!
//! One transaction at a time holds the lock on the writer's connection. When it ends with success while others wait that may join it, the
//! transaction of SQLite stays open as that of a group, of which it is the first member, and it is answered only after the commit of the
//! group. Each transaction that joins is a savepoint in it, and a member once it has ended with success. The group is committed
//!
//! - by a member that ends while no other transaction waits to join, or that fills the group;
//! - by the next transaction that holds the lock, if it may not join, or if the group is full, before it begins;
//! - at the latest by a member that holds the lock again. Each waits for it as soon as it has ended, behind those that waited already.
//!
//! Failures:
//!
//! - A transaction that fails, or is dropped, is rolled back to its savepoint. If the savepoint is gone, SQLite has rolled the whole
//!   transaction back (<https://sqlite.org/lang_transaction.html>, "Response To Errors Within A Transaction"), and all members fail.
//! - After a storage fault, and when the commit fails, all members fail with its error, and the connection is replaced.
//! - A transaction that joins reads what the members before it wrote, which may still fail. So only a transaction whose caller reports
//!   success after its own commit alone may join ([`Db::begin_in_group`](crate::Db::begin_in_group)).
//!
//! A statement that must complete although its caller is dropped runs in a separate task.

mod driver_commit;
mod open_group;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sea_orm::{
    ConnAcquireErr, DatabaseConnection, DatabaseTransaction, DbErr, SqliteTransactionMode,
    TransactionOptions, TransactionTrait,
};
use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use super::failure::Failure;
use super::fault::StorageFault;
use super::health::StorageHealth;
use open_group::{CommitGroup, GroupResult, WriterState, current_result, interrupted, wait_for_result};

pub(super) use driver_commit::commit;

#[cfg(test)]
mod tests;

/// Time after the end of a group's first member from which on no more transactions join. It bounds how much later than by a commit of
/// its own a member is answered, except for the transaction that holds the lock at that time.
const MAX_AGE: Duration = Duration::from_millis(10);

/// The transactions that wait for the writer, in their order. Clones share it.
#[derive(Clone)]
pub(super) struct WriterQueue {
    state: Arc<Mutex<WriterState>>,
    /// Number of waiting transactions that may join a group.
    waiting_to_join: Arc<AtomicUsize>,
    /// How long a transaction waits for the lock.
    max_wait: Duration,
    /// [`MAX_AGE`], except in tests.
    max_age: Duration,
}

/// The lock on the writer's connection.
struct WriterGuard(OwnedMutexGuard<WriterState>);

/// A transaction that holds the lock.
pub(super) struct GroupMember {
    writer: WriterGuard,
    queue: WriterQueue,
    health: Arc<StorageHealth>,
}

/// Counts a waiting transaction until it is dropped.
struct WaitingCount(Arc<AtomicUsize>);

impl WaitingCount {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for WaitingCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl WriterQueue {
    /// Creates a queue in which a transaction waits this long for the lock.
    pub fn new(max_wait: Duration) -> Self {
        Self { state: Arc::default(), waiting_to_join: Arc::default(), max_wait, max_age: MAX_AGE }
    }

    /// Begins a transaction. With `may_join` it may become a member of the open group.
    ///
    /// # Errors
    /// [`DbErr::ConnectionAcquire`] when the lock is not free in time; the error of BEGIN.
    pub async fn begin(
        &self,
        pool: &DatabaseConnection,
        health: &Arc<StorageHealth>,
        may_join: bool,
    ) -> Result<GroupMember, DbErr> {
        let mut writer = self.lock(may_join).await?;
        if writer.0.group.is_some() {
            let (health, max_age) = (health.clone(), self.max_age);
            let prepared = tokio::spawn(async move {
                writer.0.add_savepoint_or_commit(may_join, max_age, &health).await;
                writer
            });
            writer = prepared.await.map_err(|_| interrupted())?;
        }
        if writer.0.group.is_none() {
            let options = TransactionOptions {
                // A deferred transaction that reads before it writes fails at once with SQLITE_BUSY_SNAPSHOT when another process wrote
                // in between; the busy timeout does not apply to it.
                sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
                ..TransactionOptions::default()
            };
            writer.0.group = Some(CommitGroup::new(pool.begin_with_options(options).await?));
        }
        writer.0.is_running = true;
        Ok(GroupMember { writer, queue: self.clone(), health: health.clone() })
    }

    /// Commits the open group, so that its connection can be closed.
    pub async fn commit_open_group(&self, health: &StorageHealth) {
        // If the lock is not free, a transaction runs, which keeps the connection itself.
        if let Ok(mut writer) = self.lock(false).await {
            writer.0.commit(health).await;
        }
    }

    async fn lock(&self, may_join: bool) -> Result<WriterGuard, DbErr> {
        if let Ok(state) = self.state.clone().try_lock_owned() {
            return Ok(WriterGuard(state));
        }
        let _waiting = may_join.then(|| WaitingCount::new(&self.waiting_to_join));
        let locked = tokio::time::timeout(self.max_wait, self.lock_without_timeout()).await;
        locked.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
    }

    async fn lock_without_timeout(&self) -> WriterGuard {
        WriterGuard(self.state.clone().lock_owned().await)
    }

    /// Returns whether a transaction waits that may join a group.
    fn has_waiting_to_join(&self) -> bool {
        self.waiting_to_join.load(Ordering::SeqCst) > 0
    }

    /// Waits until a group has ended, and commits it if the lock is free before that.
    async fn wait_or_commit(
        &self,
        result: watch::Receiver<GroupResult>,
        health: &StorageHealth,
    ) -> Result<(), DbErr> {
        tokio::select! {
            biased;
            outcome = wait_for_result(result.clone()) => outcome,
            mut writer = self.lock_without_timeout() => {
                // It may have ended at this moment. Another group that is open then only ends early.
                writer.0.commit(health).await;
                current_result(&result)
            }
        }
    }
}

impl Drop for WriterGuard {
    /// Ends a transaction that was not committed.
    fn drop(&mut self) {
        if !std::mem::take(&mut self.0.is_running) {
            return;
        }
        // Without members it is rolled back as a whole. With members each of them waits for the lock, and the first to get it rolls the
        // savepoint back.
        if self.0.group.as_ref().is_some_and(|group| group.members == 0) {
            self.0.group = None;
        }
    }
}

impl GroupMember {
    /// Returns the transaction of the driver.
    pub fn outer(&self) -> Result<&DatabaseTransaction, DbErr> {
        self.writer.0.group.as_ref().map(|group| &group.outer).ok_or_else(interrupted)
    }

    /// Inspects an error of a statement: a storage fault ends the whole group.
    pub fn record(&self, error: &DbErr) {
        if StorageFault::of(error).is_some()
            && let Some(group) = &self.writer.0.group
        {
            let _ = group.fault.set(Failure::from(error));
        }
    }

    /// Commits the transaction, with the group if others wait.
    ///
    /// # Errors
    /// [`DbErr`] when the commit of the group failed, or a storage fault ended it.
    pub async fn commit(self) -> Result<(), DbErr> {
        let is_alone = self.writer.0.group.as_ref().is_some_and(|group| group.members == 0);
        if is_alone && !self.queue.has_waiting_to_join() {
            let Self { mut writer, health, .. } = self;
            writer.0.is_running = false;
            let group = writer.0.group.take().ok_or_else(interrupted)?;
            // The lock is released after the commit, so that the next transaction finds the connection free.
            return commit(group.outer, &health).await;
        }
        tokio::spawn(self.commit_in_group()).await.map_err(|_| interrupted())?
    }

    async fn commit_in_group(self) -> Result<(), DbErr> {
        let Self { mut writer, queue, health } = self;
        let result = writer.0.add_member(&health).await?;
        let is_full = writer.0.group.as_ref().is_none_or(|group| group.is_full(queue.max_age));
        if is_full || !queue.has_waiting_to_join() {
            writer.0.commit(&health).await;
            return current_result(&result);
        }
        drop(writer);
        queue.wait_or_commit(result, &health).await
    }
}
