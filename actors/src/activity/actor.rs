//! The actor of the activity: gathers lines and writes them together, and removes those that are past their days.
//!
//! A batch that cannot be written waits for the next write, and below the floor of a disk all wait. A crash loses what waits: else
//! at most one batch.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use database::Db;
use disk::DiskSpace;
use entity::id::UserId;
use entity::{activity, user};
use runtime::{BatchBuffer, Flush, WriteBehind, WriteFuture, WriteLock};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use tracing::warn;

use library::clock::Clock;
use errors::Error;

const MOST_LINES: usize = 200;
const FLUSH_EVERY: Duration = Duration::from_millis(500);
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// See the file's head.
pub struct ActivityActor {
    db: Db,
    clock: Arc<dyn Clock>,
    kept: Duration,
    disk: DiskSpace,
    lines: BatchBuffer<activity::Model>,
    write_lock: WriteLock,
}

impl ActivityActor {
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>, kept: Duration, disk: DiskSpace) -> Self {
        Self { db, clock, kept, disk, lines: BatchBuffer::new(MOST_LINES), write_lock: WriteLock::default() }
    }

    /// Writes the lines, unless a disk is below its floor: each read of a client would take of the space that is left there for
    /// sign-in, revocation and deletion.
    fn flush_with_room(&mut self, context: &mut Context<Self>) {
        if self.disk.has_room() {
            self.flush_detached(context);
        } else {
            // Bounds how many wait.
            let waiting = self.take_batch();
            self.put_back(waiting);
        }
    }

    fn sweep(&mut self, context: &mut Context<Self>) {
        let (db, until) = (self.db.clone(), self.clock.now() - self.kept);
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
    // Of an account that was removed meanwhile nothing stays; none goes before the lines are written.
    let users: HashSet<UserId> = lines.iter().map(|line| line.user_id).collect();
    let there = user::Entity::find().filter(user::Column::Id.is_in(users)).lock_shared().all(&txn).await?;
    let there: HashSet<UserId> = there.into_iter().map(|row| row.id).collect();
    let lines: Vec<_> = lines.iter().filter(|line| there.contains(&line.user_id)).collect();
    for some in lines.chunks(MOST_LINES) {
        let rows = some.iter().map(|line| (*line).clone().into_active_model());
        activity::Entity::insert_many(rows).exec_without_returning(&txn).await?;
    }
    Ok(txn.commit().await?)
}

impl Actor for ActivityActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.sweep(context);
        context.run_interval(SWEEP_EVERY, Self::sweep);
        context.run_interval(FLUSH_EVERY, Self::flush_with_room);
    }
}

/// A call came.
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
