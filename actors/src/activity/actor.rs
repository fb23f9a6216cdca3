//! The actor of the activity: writes lines in batches and removes those that are past their retention.
//!
//! A batch that cannot be written waits for the next write; below the floor of a disk all batches wait. A crash loses the
//! lines that are not written, usually at most one batch.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use database::Db;
use disk::DiskSpace;
use entity::id::UserId;
use entity::{activity, user};
use errors::Error;
use library::clock::Clock;
use runtime::{BatchBuffer, Flush, WriteBehind, WriteFuture, WriteLock};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use tracing::warn;

const BATCH_LINES: usize = 200;
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// The actor of the activity.
pub struct ActivityActor {
    db: Db,
    clock: Arc<dyn Clock>,
    retention: Duration,
    disk: DiskSpace,
    lines: BatchBuffer<activity::Model>,
    write_lock: WriteLock,
}

impl ActivityActor {
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>, retention: Duration, disk: DiskSpace) -> Self {
        Self {
            db,
            clock,
            retention,
            disk,
            lines: BatchBuffer::new(BATCH_LINES),
            write_lock: WriteLock::default(),
        }
    }

    /// Writes the lines, unless a disk is below its floor: each read of a client would use up space that is reserved for sign-in,
    /// revocation and deletion.
    fn flush_with_room(&mut self, context: &mut Context<Self>) {
        if self.disk.has_room() {
            self.flush_detached(context);
        } else {
            // Putting them back drops the oldest lines if too many wait.
            let waiting = self.take_batch();
            self.put_back(waiting);
        }
    }

    fn sweep(&mut self, context: &mut Context<Self>) {
        let (db, until) = (self.db.clone(), self.clock.now() - self.retention);
        let remove = async move {
            activity::Entity::delete_many().filter(activity::Column::At.lt(until)).exec(db.write()).await
        };
        context.spawn(remove.into_actor(self).map(|done, _, _| {
            if let Err(error) = done {
                warn!(%error, "could not remove old lines of the activity");
            }
        }));
    }
}

impl WriteBehind for ActivityActor {
    type Batch = Vec<activity::Model>;
    type Output = ();
    type Error = Error;
    const BATCH_NAME: &'static str = "lines of the activity";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        self.lines.take()
    }

    fn write(&self, lines: Self::Batch) -> WriteFuture<Self::Batch, (), Error> {
        let db = self.db.clone();
        Box::pin(async move {
            let written = write(&db, &lines).await;
            (lines, written)
        })
    }

    fn on_written(&mut self, (): ()) {}

    fn put_back(&mut self, lines: Self::Batch) {
        let lost = self.lines.put_back(lines);
        if lost > 0 {
            warn!(lost, "lines of the activity are lost: they could not be written for too long");
        }
    }
}

async fn write(db: &Db, lines: &[activity::Model]) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let txn = db.begin().await?;
    // No line of an account that was removed is written. The lock keeps accounts from being removed before the commit.
    let users: HashSet<UserId> = lines.iter().map(|line| line.user_id).collect();
    let existing = user::Entity::find().filter(user::Column::Id.is_in(users)).lock_shared().all(&txn).await?;
    let existing: HashSet<UserId> = existing.into_iter().map(|row| row.id).collect();
    let lines: Vec<_> = lines.iter().filter(|line| existing.contains(&line.user_id)).collect();
    for batch in lines.chunks(BATCH_LINES) {
        let rows = batch.iter().map(|line| (*line).clone().into_active_model());
        activity::Entity::insert_many(rows).exec_without_returning(&txn).await?;
    }
    Ok(txn.commit().await?)
}

impl Actor for ActivityActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.sweep(context);
        context.run_interval(SWEEP_INTERVAL, Self::sweep);
        context.run_interval(FLUSH_INTERVAL, Self::flush_with_room);
    }
}

/// Records a request.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Record(pub activity::Model);

impl Handler<Record> for ActivityActor {
    type Result = ();

    fn handle(&mut self, Record(line): Record, context: &mut Self::Context) {
        if self.lines.push(line) {
            self.flush_with_room(context);
        }
    }
}

impl Handler<Flush<Error>> for ActivityActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush<Error>, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
