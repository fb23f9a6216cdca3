//! The actor of the activity: empties the ledger, writes what it gathers, and removes lines that are past their retention.
//!
//! What cannot be written waits for the next write, which skips the lines that are there already: the answer to a COMMIT may be lost. Then
//! a batch at most is out of the ledger, whose memory is bounded. Below the floor of a disk the lines wait, the latest of them, while the
//! last uses are written. A crash loses what was taken out of the ledger and is not written, usually at most one batch; entries in the
//! ledger wait for the restart.

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseActFuture, WrapFuture, fut::ready,
};
use concurrency::BatchBuffer;
use database::Db;
use disk::DiskSpace;
use entity::{activity, activity_day};
use errors::Error;
use library::clock::Clock;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tracing::warn;
use values::id::{GrantId, KeyId};

use super::batch::{ActivityBatch, write};
use super::lines::{line, line_bytes};
use crate::auth::last_use::{LastUse, LastUses};
use crate::auth::limits::RateLimits;
use crate::ledger::{Ledger, LedgerEntry, UsedCredential};
use crate::write_behind::{Flush, WriteBehind, WriteFuture, WriteLock};

/// Maximum number of lines of a batch: its transaction holds the lock of SQLite for some tenths of a second. After the database took no
/// writes for a while, several batches follow each other.
const MAX_BATCH_LINES: usize = 16_384;
/// Bytes of the lines that are kept below the floor of a disk, the latest ones. A batch has room in it.
const MAX_LINE_BYTES: usize = 16 << 20;
/// The time that an entry waits at most, unless a write fails or a disk is below its floor: what a crash can lose.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// Writes of batches, which end with the first error.
type BatchesFuture = ResponseActFuture<ActivityActor, Result<(), Error>>;

/// The actor of the activity.
pub struct ActivityActor {
    db: Db,
    clock: Arc<dyn Clock>,
    retention: Duration,
    disk: DiskSpace,
    ledger: Arc<Ledger>,
    limits: RateLimits,
    lines: BatchBuffer<activity::Model>,
    keys: LastUses<KeyId>,
    grants: LastUses<GrantId>,
    /// Flushes in progress that write lines also below the floor of a disk.
    forced_flushes: usize,
    write_lock: WriteLock,
}

impl ActivityActor {
    pub(super) fn new(
        db: Db,
        clock: Arc<dyn Clock>,
        retention: Duration,
        disk: DiskSpace,
        ledger: Arc<Ledger>,
        limits: RateLimits,
    ) -> Self {
        Self {
            db,
            clock,
            retention,
            disk,
            ledger,
            limits,
            lines: BatchBuffer::new(MAX_LINE_BYTES, line_bytes),
            keys: LastUses::default(),
            grants: LastUses::default(),
            forced_flushes: 0,
            write_lock: WriteLock::default(),
        }
    }

    /// Takes entries out of the ledger, for a batch with the lines that wait.
    fn gather(&mut self) {
        let mut lost = 0;
        // Below the floor too many lines wait for a batch, and the last uses are written nevertheless.
        let waiting = if self.may_write_lines() { self.lines.len() } else { 0 };
        for mut entry in self.ledger.drain(MAX_BATCH_LINES.saturating_sub(waiting)) {
            if let Some(call) = entry.call.take() {
                lost += self.lines.push(line(&entry, call));
            }
            let LedgerEntry { user, credential, at, client, .. } = entry;
            let last_use = LastUse { user, at, client };
            match credential {
                UsedCredential::Key(key) => self.keys.record(key, last_use),
                UsedCredential::Grant(grant) => self.grants.record(grant, last_use),
            }
        }
        Self::report_lost(lost);
    }

    /// Returns whether lines may be written now. Each read of a client adds a line, and would use up the space that is reserved for sign-in,
    /// revocation and deletion.
    fn may_write_lines(&self) -> bool {
        self.disk.has_room() || self.forced_flushes > 0
    }

    /// Takes the lines that may be written now, the oldest.
    fn take_lines(&mut self) -> Vec<activity::Model> {
        if self.may_write_lines() { self.lines.take(MAX_BATCH_LINES) } else { Vec::new() }
    }

    fn report_lost(lost: usize) {
        if lost > 0 {
            warn!(lost, "activity was lost, because it could not be written for too long");
        }
    }

    /// Writes batches one after the other, at most this many, until one cannot be written.
    fn flush_batches(&mut self, batches: usize) -> BatchesFuture {
        let flushed = self.flush().then(move |written, actor: &mut Self, _: &mut Context<Self>| {
            let next: BatchesFuture = if written.is_ok() && batches > 1 {
                actor.flush_batches(batches - 1)
            } else {
                Box::pin(ready(written))
            };
            next
        });
        Box::pin(flushed)
    }

    /// Begins a flush each time that a shard of the ledger has many entries.
    fn flush_full_shards(context: &mut Context<Self>, ledger: Arc<Ledger>, actor: &Self) {
        let due = async move {
            ledger.flush_due().await;
            ledger
        };
        context.spawn(due.into_actor(actor).map(|ledger, actor, context| {
            actor.flush_detached(context);
            Self::flush_full_shards(context, ledger, actor);
        }));
    }

    fn sweep(&mut self, context: &mut Context<Self>) {
        let (db, until) = (self.db.clone(), self.clock.now() - self.retention);
        let remove = async move {
            let past = activity_day::Column::Day.lt(until.day());
            activity_day::Entity::delete_many().filter(past).exec(db.write()).await?;
            activity::Entity::delete_many().filter(activity::Column::At.lt(until)).exec(db.write()).await
        };
        context.spawn(remove.into_actor(self).map(|done, _, _| {
            if let Err(error) = done {
                warn!(%error, "could not remove expired activity");
            }
        }));
    }
}

impl WriteBehind for ActivityActor {
    type Batch = ActivityBatch;
    type Output = ();
    const BATCH_NAME: &'static str = "activity";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> ActivityBatch {
        self.gather();
        let lines = self.take_lines();
        ActivityBatch {
            lines,
            keys: std::mem::take(&mut self.keys),
            grants: std::mem::take(&mut self.grants),
        }
    }

    fn write(&self, batch: ActivityBatch) -> WriteFuture<ActivityBatch, ()> {
        let (db, limits) = (self.db.clone(), self.limits.clone());
        Box::pin(async move {
            let written = write(&db, &limits, &batch).await;
            (batch, written)
        })
    }

    fn on_written(&mut self, _: ActivityBatch, (): ()) {}

    fn put_back(&mut self, unwritten: ActivityBatch) {
        Self::report_lost(self.lines.put_back(unwritten.lines));
        self.keys.put_back(unwritten.keys);
        self.grants.put_back(unwritten.grants);
    }
}

impl Actor for ActivityActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        // At the start too: a server that is restarted more often than every hour would never sweep.
        self.sweep(context);
        context.run_interval(SWEEP_INTERVAL, Self::sweep);
        Self::flush_every(context, FLUSH_INTERVAL);
        Self::flush_full_shards(context, self.ledger.clone(), self);
    }
}

impl Handler<Flush> for ActivityActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.forced_flushes += 1;
        // One more, because a batch that is being written may be put back.
        let waiting = self.ledger.waiting_entries() + self.lines.len();
        let batches = waiting.div_ceil(MAX_BATCH_LINES) + 1;
        Box::pin(self.flush_batches(batches).map(|written, actor: &mut Self, _: &mut Context<Self>| {
            actor.forced_flushes -= 1;
            written
        }))
    }
}

#[cfg(test)]
mod tests {
    use entity::{api_key, usage_day, user};
    use library::clock::TestClock;
    use sea_orm::{IntoActiveModel, PaginatorTrait};
    use values::id::UserId;
    use values::kind::MeteredSurface;
    use values::plan::Plan;
    use values::time::Timestamp;

    use super::*;
    use crate::auth::caller::Principal;
    use crate::auth::keys::changes::create_test_key;
    use crate::auth::limits::RateLimitRequest;
    use crate::ledger::{CallStatus, Endpoint, RecordedCall};

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    /// An actor over a database in this folder, and a key of its only user.
    async fn new_actor(folder: &tempfile::TempDir) -> (ActivityActor, UserId, KeyId) {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let owner = user::Model::new(UserId::new(NOON), "a@b".to_owned(), "h".to_owned(), Plan::Pro, NOON);
        let user = owner.id;
        user::Entity::insert(owner.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let (key, _) = create_test_key(&db, user, Plan::Pro, NOON).await.unwrap();
        let clock = Arc::new(TestClock::at(NOON));
        let limits = RateLimits::start(&actix::Arbiter::current(), db.clone(), clock.clone());
        let (disk, ledger) = (DiskSpace::default(), Arc::default());
        (ActivityActor::new(db, clock, SWEEP_INTERVAL, disk, ledger, limits), user, key)
    }

    fn entry(user: UserId, key: KeyId, at: Timestamp) -> LedgerEntry {
        let call = RecordedCall {
            surface: MeteredSurface::Rest,
            endpoint: Endpoint::Route("GET /user"),
            status: CallStatus::Http(200),
            key_name: None,
            result_count: None,
        };
        let (credential, client) = (UsedCredential::Key(key), Some("bookworm/3.1".into()));
        LedgerEntry { user, credential, at, client, call: Some(call) }
    }

    async fn write_batch(actor: &ActivityActor, batch: &ActivityBatch) {
        write(&actor.db, &actor.limits, batch).await.unwrap();
    }

    async fn count_lines(actor: &ActivityActor, user: UserId) -> u64 {
        activity::Entity::owned_by(user).count(actor.db.read()).await.unwrap()
    }

    #[actix::test]
    async fn lines_whose_commit_went_unanswered_are_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let (mut actor, user, key) = new_actor(&folder).await;
        actor.ledger.push(entry(user, key, NOON));
        let batch = actor.take_batch();

        // The rows are written, and the actor handles the batch as if the write had failed.
        write_batch(&actor, &batch).await;
        actor.put_back(batch);
        actor.ledger.push(entry(user, key, NOON));
        let batch = actor.take_batch();
        write_batch(&actor, &batch).await;

        assert_eq!(count_lines(&actor, user).await, 2);
    }

    #[actix::test]
    async fn batch_has_lines_last_uses_and_counts_of_calls() {
        let folder = tempfile::tempdir().unwrap();
        let (mut actor, user, key) = new_actor(&folder).await;
        let (bucket, surface) = (Principal::Key(key), MeteredSurface::Rest);
        let request = RateLimitRequest { bucket, hourly: 10, user, surface, daily: 100, weight: 1 };
        while let Err(Error::Busy(_)) = actor.limits.admit(request.clone()).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let later = NOON + Duration::from_millis(1);
        actor.ledger.push(entry(user, key, NOON));
        actor.ledger.push(LedgerEntry { call: None, ..entry(user, key, later) });

        let batch = actor.take_batch();
        write_batch(&actor, &batch).await;

        assert_eq!(count_lines(&actor, user).await, 1);
        let key = api_key::Entity::one_of(user, key).one(actor.db.read()).await.unwrap().unwrap();
        assert_eq!((key.last_used_at, key.last_client.as_deref()), (Some(later), Some("bookworm/3.1")));
        let counts = usage_day::Entity::owned_by(user).all(actor.db.read()).await.unwrap();
        assert_eq!(counts.iter().map(|row| row.calls).collect::<Vec<_>>(), [1]);
        assert!(actor.limits.begin_write().is_none(), "the counts are written");
    }

    #[actix::test]
    async fn calls_during_failed_writes_are_kept_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let (mut actor, user, key) = new_actor(&folder).await;
        let calls = 2 * MAX_BATCH_LINES + 5;
        for number in 0..calls {
            let at = NOON + Duration::from_millis(number as u64);
            actor.ledger.push(entry(user, key, at));
        }

        // Several writes fail.
        for _ in 0..5 {
            let batch = actor.take_batch();
            assert_eq!(batch.lines.len(), MAX_BATCH_LINES);
            actor.put_back(batch);
        }
        let mut times = Vec::new();
        for lines in [MAX_BATCH_LINES, MAX_BATCH_LINES, 5, 0] {
            let batch = actor.take_batch();
            assert_eq!(batch.lines.len(), lines);
            times.extend(batch.lines.iter().map(|line| line.at));
        }

        assert!(times.is_sorted() && times.len() == calls);
        assert_eq!(actor.ledger.dropped_entries(), 0);
    }

    #[actix::test]
    async fn lines_of_a_removed_account_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let (mut actor, user, key) = new_actor(&folder).await;
        let removed = UserId::new(NOON);
        actor.ledger.push(entry(removed, key, NOON));
        actor.ledger.push(entry(user, key, NOON));

        let batch = actor.take_batch();
        write_batch(&actor, &batch).await;

        assert_eq!((count_lines(&actor, removed).await, count_lines(&actor, user).await), (0, 1));
    }
}
