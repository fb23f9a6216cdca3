//! The open transaction of SQLite, and the members of the group that share its commit.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr};
use tokio::sync::watch;

use super::driver_commit::commit;
use crate::failure::Failure;
use crate::health::StorageHealth;

/// Members after which a group is committed although more transactions wait.
const MAX_MEMBERS: u32 = 32;
const SAVEPOINT: &str = "SAVEPOINT group_member";
const RELEASE: &str = "RELEASE group_member";
const ROLL_BACK: &str = "ROLLBACK TO group_member; RELEASE group_member";

/// The result of a group's commit; `None` until it has ended.
pub(super) type GroupResult = Option<Result<(), Failure>>;

/// The state of the writer's connection.
#[derive(Default)]
pub(super) struct WriterState {
    /// The open transaction of SQLite.
    pub(super) group: Option<CommitGroup>,
    /// Whether a transaction uses the connection that was neither committed nor dropped.
    pub(super) is_running: bool,
}

/// The open transaction of SQLite, and those that share its commit.
pub(super) struct CommitGroup {
    /// The transaction of the driver.
    pub(super) outer: DatabaseTransaction,
    /// Number of transactions that have ended with success and wait for the commit.
    pub(super) members: u32,
    /// The storage fault that one of the transactions met.
    pub(super) fault: OnceLock<Failure>,
    /// When the first of the members ended.
    first_ended_at: Option<Instant>,
    /// Whether a savepoint may be in place. If no transaction runs, it is of one that did not end with success.
    has_savepoint: bool,
    result: watch::Sender<GroupResult>,
}

/// Returns the error of a transaction whose end is not known, because its task has stopped.
pub(super) fn interrupted() -> DbErr {
    DbErr::Custom("the transaction was interrupted, because the server stops".to_owned())
}

/// Waits for the result of a group.
pub(super) async fn wait_for_result(mut result: watch::Receiver<GroupResult>) -> Result<(), DbErr> {
    // An error says that the group was dropped.
    let _ = result.wait_for(Option::is_some).await;
    current_result(&result)
}

/// Returns the result of a group that has ended.
pub(super) fn current_result(result: &watch::Receiver<GroupResult>) -> Result<(), DbErr> {
    match &*result.borrow() {
        Some(Ok(())) => Ok(()),
        Some(Err(failure)) => Err(failure.into()),
        None => Err(interrupted()),
    }
}

impl CommitGroup {
    pub(super) fn new(outer: DatabaseTransaction) -> Self {
        Self {
            outer,
            members: 0,
            fault: OnceLock::new(),
            first_ended_at: None,
            has_savepoint: false,
            result: watch::Sender::new(None),
        }
    }

    /// Returns whether no more transactions may join.
    pub(super) fn is_full(&self, max_age: Duration) -> bool {
        self.members >= MAX_MEMBERS || self.first_ended_at.is_some_and(|ended| ended.elapsed() >= max_age)
    }
}

impl WriterState {
    /// Adds the savepoint of a transaction that joins the open group. Commits the group if it may not join, or if the group is full.
    pub(super) async fn add_savepoint_or_commit(
        &mut self,
        may_join: bool,
        max_age: Duration,
        health: &StorageHealth,
    ) {
        self.roll_back_unfinished(health).await;
        let Some(group) = &mut self.group else { return };
        if !may_join || group.is_full(max_age) {
            return self.commit(health).await;
        }
        group.has_savepoint = true;
        if let Err(error) = group.outer.execute_unprepared(SAVEPOINT).await {
            self.fail(Failure::from(&health.record_write(error)), health);
        }
    }

    /// Rolls back what a transaction wrote that did not end with success.
    async fn roll_back_unfinished(&mut self, health: &StorageHealth) {
        let Some(group) = &mut self.group else { return };
        if let Some(fault) = group.fault.get().cloned() {
            return self.fail(fault, health);
        }
        if group.has_savepoint {
            match group.outer.execute_unprepared(ROLL_BACK).await {
                Ok(_) => group.has_savepoint = false,
                Err(error) => self.fail(Failure::from(&health.record_write(error)), health),
            }
        }
    }

    /// Keeps what the running transaction wrote until the group is committed. Returns the receiver of the group's result.
    pub(super) async fn add_member(
        &mut self,
        health: &StorageHealth,
    ) -> Result<watch::Receiver<GroupResult>, DbErr> {
        self.is_running = false;
        let Some(group) = &mut self.group else { return Err(interrupted()) };
        if group.has_savepoint {
            if let Err(error) = group.outer.execute_unprepared(RELEASE).await {
                let error = health.record_write(error);
                self.fail(Failure::from(&error), health);
                return Err(error);
            }
            group.has_savepoint = false;
        }
        group.members += 1;
        group.first_ended_at.get_or_insert_with(Instant::now);
        Ok(group.result.subscribe())
    }

    /// Commits the group, if there is one, and sends the result to its members.
    pub(super) async fn commit(&mut self, health: &StorageHealth) {
        self.roll_back_unfinished(health).await;
        let Some(CommitGroup { outer, result, .. }) = self.group.take() else { return };
        let committed = commit(outer, health).await;
        result.send_replace(Some(committed.map_err(|error| Failure::from(&error))));
    }

    /// Ends the group without a commit, and sends the failure to its members.
    fn fail(&mut self, failure: Failure, health: &StorageHealth) {
        // SQLite may have left the transaction although the driver does not know.
        health.distrust_writer();
        if let Some(group) = self.group.take() {
            group.result.send_replace(Some(Err(failure)));
        }
    }
}
