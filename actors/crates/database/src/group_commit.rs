//! Group commit on SQLite: transactions that wait for the writer share one commit, and so one sync of the disk.
//!
//! One transaction at a time uses the writer's connection: it has the turn. When it commits while others wait that may join, the
//! transaction of SQLite stays open as that of a group. Each joining transaction is a savepoint in it. The group is committed when nothing
//! more waits that may join, when it is full, and at the latest when the turn comes back to the first member, which waits for it behind
//! those that had waited already. Every member is answered only after that commit. A transaction that may not join waits until then.
//!
//! - A member that fails, or is dropped, is rolled back to its savepoint. If the savepoint is gone, SQLite has rolled the whole transaction
//!   back (<https://sqlite.org/lang_transaction.html>, "Response To Errors Within A Transaction"), and all members fail.
//! - After a storage fault, and when the commit fails, all members fail with its error, and the connection is replaced.
//! - A joining transaction reads what the members before it wrote, which may still fail. So only a transaction that tells of success after
//!   its own commit alone may join ([`Db::begin_in_group`](crate::Db::begin_in_group)).
//!
//! A statement that must complete although its caller is dropped runs in a separate task.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, SqliteTransactionMode,
    TransactionOptions, TransactionTrait,
};
use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use super::failure::Failure;
use super::fault::StorageFault;
use super::health::StorageHealth;

#[cfg(test)]
mod tests;

/// Members after which a group is committed although more transactions wait.
const MAX_MEMBERS: u32 = 32;
/// Time after the end of a group's first member from which on no more transactions join. It bounds how much later than by a commit of
/// its own a member is answered, except for the transaction that has the turn at that time.
const MAX_AGE: Duration = Duration::from_millis(10);
const SAVEPOINT: &str = "SAVEPOINT group_member";
const RELEASE: &str = "RELEASE group_member";
const ROLL_BACK: &str = "ROLLBACK TO group_member; RELEASE group_member";

/// The result of a group's commit; `None` until it has ended.
type GroupResult = Option<Result<(), Failure>>;

/// The transactions that wait for the writer, in their order. Clones share it.
#[derive(Clone)]
pub(super) struct WriterQueue {
    state: Arc<Mutex<WriterState>>,
    /// Number of waiting transactions that may join a group.
    joining: Arc<AtomicUsize>,
    /// How long a transaction waits for its turn.
    max_wait: Duration,
    /// [`MAX_AGE`], except in tests.
    max_age: Duration,
}

#[derive(Default)]
struct WriterState {
    /// The open transaction of SQLite.
    group: Option<CommitGroup>,
    /// Whether a transaction has the turn that was neither committed nor dropped.
    is_running: bool,
}

/// The open transaction of SQLite, and those that share its commit.
struct CommitGroup {
    outer: DatabaseTransaction,
    /// Number of transactions that have ended with success and wait for the commit.
    members: u32,
    /// When the first of them ended.
    waits_since: Option<Instant>,
    /// Whether a savepoint may be in place. If no transaction runs, it is of one that did not end with success.
    has_savepoint: bool,
    /// The storage fault that one of the transactions met.
    fault: OnceLock<Failure>,
    result: watch::Sender<GroupResult>,
}

/// The right to use the writer's connection.
struct WriterTurn(OwnedMutexGuard<WriterState>);

/// A transaction that has the turn.
pub(super) struct GroupMember {
    turn: WriterTurn,
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

/// Commits a transaction of the driver. A write to a removed file is not acknowledged.
pub(super) async fn commit(outer: DatabaseTransaction, health: &StorageHealth) -> Result<(), DbErr> {
    let committing = pin!(outer.commit());
    // Dropped before the transaction, which gives the connection back.
    let mut unknown = UnknownEnd(Some(health));
    committing.await.map_err(|error| health.record_write(error))?;
    unknown.0 = None;
    health.require_files()
}

/// Causes the connection of the writer to be replaced when it is dropped before the transaction is known to be committed: the commit
/// failed, or its caller went away. It is unknown then whether SQLite has left the transaction, and whether the storage failed.
struct UnknownEnd<'a>(Option<&'a StorageHealth>);

impl Drop for UnknownEnd<'_> {
    fn drop(&mut self) {
        if let Some(health) = self.0 {
            health.distrust_writer();
        }
    }
}

fn cut_off() -> DbErr {
    DbErr::Custom("the end of the transaction was cut off, because the server stops".to_owned())
}

impl WriterQueue {
    /// Creates a queue in which a transaction waits this long for its turn.
    pub fn new(max_wait: Duration) -> Self {
        Self { state: Arc::default(), joining: Arc::default(), max_wait, max_age: MAX_AGE }
    }

    /// Begins a transaction. If it `joins`, it may become a member of the open group.
    ///
    /// # Errors
    /// [`DbErr::ConnectionAcquire`] when the turn does not come in time; the error of BEGIN.
    pub async fn begin(
        &self,
        pool: &DatabaseConnection,
        health: &Arc<StorageHealth>,
        joins: bool,
    ) -> Result<GroupMember, DbErr> {
        let mut turn = self.wait(joins).await?;
        if turn.0.group.is_some() {
            let (health, max_age) = (health.clone(), self.max_age);
            let prepared = tokio::spawn(async move {
                turn.0.prepare(joins, max_age, &health).await;
                turn
            });
            turn = prepared.await.map_err(|_| cut_off())?;
        }
        if turn.0.group.is_none() {
            let options = TransactionOptions {
                // A deferred transaction that reads before it writes fails at once with SQLITE_BUSY_SNAPSHOT when another process wrote
                // in between; the busy timeout does not apply to it.
                sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
                ..TransactionOptions::default()
            };
            turn.0.group = Some(CommitGroup::new(pool.begin_with_options(options).await?));
        }
        turn.0.is_running = true;
        Ok(GroupMember { turn, queue: self.clone(), health: health.clone() })
    }

    /// Commits the open group, so that its connection can be closed.
    pub async fn end(&self, health: &StorageHealth) {
        // Without the turn a transaction runs, which keeps the connection itself.
        if let Ok(mut turn) = self.wait(false).await {
            turn.0.commit(health).await;
        }
    }

    async fn wait(&self, joins: bool) -> Result<WriterTurn, DbErr> {
        if let Ok(state) = self.state.clone().try_lock_owned() {
            return Ok(WriterTurn(state));
        }
        let _waiting = joins.then(|| WaitingCount::new(&self.joining));
        let turn = tokio::time::timeout(self.max_wait, self.turn()).await;
        turn.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
    }

    async fn turn(&self) -> WriterTurn {
        WriterTurn(self.state.clone().lock_owned().await)
    }

    /// Returns whether a transaction waits that may join a group.
    pub(super) fn is_joined(&self) -> bool {
        self.joining.load(Ordering::SeqCst) > 0
    }

    /// Waits until a group has ended, and commits it when the turn comes before that.
    async fn finish(
        &self,
        result: watch::Receiver<GroupResult>,
        health: &StorageHealth,
    ) -> Result<(), DbErr> {
        tokio::select! {
            biased;
            outcome = ended(result.clone()) => outcome,
            mut turn = self.turn() => {
                // It may have ended at this moment. Another group that is open then only ends early.
                turn.0.commit(health).await;
                read(&result)
            }
        }
    }
}

/// Waits for the result of a group.
async fn ended(mut result: watch::Receiver<GroupResult>) -> Result<(), DbErr> {
    // An error says that the group was dropped.
    let _ = result.wait_for(Option::is_some).await;
    read(&result)
}

/// Returns the result of a group that has ended.
fn read(result: &watch::Receiver<GroupResult>) -> Result<(), DbErr> {
    match &*result.borrow() {
        Some(Ok(())) => Ok(()),
        Some(Err(failure)) => Err(failure.into()),
        None => Err(cut_off()),
    }
}

impl CommitGroup {
    fn new(outer: DatabaseTransaction) -> Self {
        Self {
            outer,
            members: 0,
            waits_since: None,
            has_savepoint: false,
            fault: OnceLock::new(),
            result: watch::Sender::new(None),
        }
    }

    fn is_full(&self, max_age: Duration) -> bool {
        self.members >= MAX_MEMBERS || self.waits_since.is_some_and(|since| since.elapsed() >= max_age)
    }
}

impl WriterState {
    /// Lets the next transaction join the open group, or ends the group.
    async fn prepare(&mut self, joins: bool, max_age: Duration, health: &StorageHealth) {
        self.clean(health).await;
        let Some(group) = &mut self.group else { return };
        if !joins || group.is_full(max_age) {
            return self.commit(health).await;
        }
        group.has_savepoint = true;
        if let Err(error) = group.outer.execute_unprepared(SAVEPOINT).await {
            self.fail(&health.record_write(error), health);
        }
    }

    /// Rolls back what a transaction left that did not end with success.
    async fn clean(&mut self, health: &StorageHealth) {
        let Some(group) = &mut self.group else { return };
        if let Some(fault) = group.fault.get().cloned() {
            return self.end(Err(fault), health);
        }
        if group.has_savepoint {
            match group.outer.execute_unprepared(ROLL_BACK).await {
                Ok(_) => group.has_savepoint = false,
                Err(error) => self.fail(&health.record_write(error), health),
            }
        }
    }

    /// Keeps what the running transaction wrote until the group is committed. Returns where the result of the group will be.
    async fn add_member(&mut self, health: &StorageHealth) -> Result<watch::Receiver<GroupResult>, DbErr> {
        self.is_running = false;
        let Some(group) = &mut self.group else { return Err(cut_off()) };
        if group.has_savepoint {
            if let Err(error) = group.outer.execute_unprepared(RELEASE).await {
                let error = health.record_write(error);
                self.fail(&error, health);
                return Err(error);
            }
            group.has_savepoint = false;
        }
        group.members += 1;
        group.waits_since.get_or_insert_with(Instant::now);
        Ok(group.result.subscribe())
    }

    /// Commits the group, if there is one, and tells its members.
    async fn commit(&mut self, health: &StorageHealth) {
        self.clean(health).await;
        let Some(CommitGroup { outer, result, .. }) = self.group.take() else { return };
        let committed = commit(outer, health).await;
        result.send_replace(Some(committed.map_err(|error| Failure::from(&error))));
    }

    /// Ends the group without a commit.
    fn fail(&mut self, error: &DbErr, health: &StorageHealth) {
        self.end(Err(Failure::from(error)), health);
    }

    fn end(&mut self, result: Result<(), Failure>, health: &StorageHealth) {
        // SQLite may have left the transaction although the driver does not know.
        health.distrust_writer();
        if let Some(group) = self.group.take() {
            group.result.send_replace(Some(result));
        }
    }
}

impl Drop for WriterTurn {
    /// Ends a transaction that was not committed.
    fn drop(&mut self) {
        if !std::mem::take(&mut self.0.is_running) {
            return;
        }
        // Without members it is rolled back as a whole. With members each of them waits for the turn, and the first to get it rolls the
        // savepoint back.
        if self.0.group.as_ref().is_some_and(|group| group.members == 0) {
            self.0.group = None;
        }
    }
}

impl GroupMember {
    /// Returns the transaction of the driver.
    pub fn outer(&self) -> Result<&DatabaseTransaction, DbErr> {
        self.turn.0.group.as_ref().map(|group| &group.outer).ok_or_else(cut_off)
    }

    /// Inspects an error of a statement: a storage fault ends the whole group.
    pub fn record(&self, error: &DbErr) {
        if StorageFault::of(error).is_some()
            && let Some(group) = &self.turn.0.group
        {
            let _ = group.fault.set(Failure::from(error));
        }
    }

    /// Commits the transaction, with the group if others wait.
    ///
    /// # Errors
    /// [`DbErr`] when the commit of the group failed, or a storage fault ended it.
    pub async fn commit(self) -> Result<(), DbErr> {
        let is_alone = self.turn.0.group.as_ref().is_some_and(|group| group.members == 0);
        if is_alone && !self.queue.is_joined() {
            let Self { mut turn, health, .. } = self;
            turn.0.is_running = false;
            let group = turn.0.group.take().ok_or_else(cut_off)?;
            // The turn ends after the commit, so that the next transaction finds the connection free.
            return commit(group.outer, &health).await;
        }
        tokio::spawn(self.commit_in_group()).await.map_err(|_| cut_off())?
    }

    async fn commit_in_group(self) -> Result<(), DbErr> {
        let Self { mut turn, queue, health } = self;
        let result = turn.0.add_member(&health).await?;
        let is_full = turn.0.group.as_ref().is_none_or(|group| group.is_full(queue.max_age));
        if is_full || !queue.is_joined() {
            turn.0.commit(&health).await;
            return read(&result);
        }
        drop(turn);
        queue.finish(result, &health).await
    }
}
