//! The actor of the activity: writes lines in batches and removes those that are past their retention.
//!
//! A batch that cannot be written waits for the next write, which skips the lines that are there already: the answer to a COMMIT may
//! be lost. Below the floor of a disk all batches wait. A crash loses the lines that are not written, usually at most one batch.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use concurrency::BatchBuffer;
use database::{Db, insert_all};
use disk::DiskSpace;
use entity::{activity, user};
use errors::Error;
use library::clock::Clock;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use tracing::warn;
use values::id::UserId;

use crate::write_behind::{Flush, WriteBehind, WriteFuture, WriteLock};

/// Lines that are written at once when they are gathered, before the next interval.
// Measured: a line in a transaction of its own costs about 290 µs, in a batch 30 to 46 µs.
const BATCH_LINES: usize = 200;
/// The time that a line waits at most, unless a write fails or a disk is below its floor: what a crash can lose.
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

    /// Writes the lines, unless a disk is below its floor.
    fn flush_with_room(&mut self, context: &mut Context<Self>) {
        // Each read of a client adds a line, and would use up the space that is reserved for sign-in, revocation and deletion.
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
                warn!(%error, "could not remove expired activity");
            }
        }));
    }
}

impl WriteBehind for ActivityActor {
    type Batch = Vec<activity::Model>;
    type Output = ();
    const BATCH_NAME: &'static str = "activity";

    fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    fn take_batch(&mut self) -> Self::Batch {
        self.lines.take()
    }

    fn write(&self, lines: Self::Batch) -> WriteFuture<Self::Batch, ()> {
        let db = self.db.clone();
        Box::pin(async move {
            let written = write(&db, &lines).await;
            (lines, written)
        })
    }

    fn on_written(&mut self, _: Self::Batch, (): ()) {}

    fn put_back(&mut self, lines: Self::Batch) {
        let lost = self.lines.put_back(lines);
        if lost > 0 {
            warn!(lost, "activity was lost, because it could not be written for too long");
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
    let lines = lines.iter().filter(|line| existing.contains(&line.user_id)).cloned();
    // A line that was put back may be there: the answer to its COMMIT was lost.
    let skip_existing = OnConflict::column(activity::Column::Id).do_nothing().to_owned();
    insert_all::<activity::Entity>(&txn, lines, Some(&skip_existing)).await?;
    Ok(txn.commit().await?)
}

impl Actor for ActivityActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        // At the start too: a server that is restarted more often than every hour would never sweep.
        self.sweep(context);
        context.run_interval(SWEEP_INTERVAL, Self::sweep);
        context.run_interval(FLUSH_INTERVAL, Self::flush_with_room);
    }
}

/// Adds the line of a request to the next batch.
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

impl Handler<Flush> for ActivityActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use library::clock::TestClock;
    use sea_orm::{IntoActiveModel, PaginatorTrait};
    use values::id::ActivityId;
    use values::kind::MeteredSurface;
    use values::plan::Plan;
    use values::time::Timestamp;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn line(user: UserId) -> activity::Model {
        activity::Model {
            id: ActivityId::new(NOON),
            user_id: user,
            at: NOON,
            surface: MeteredSurface::Rest,
            key_id: None,
            grant_id: None,
            key_name: None,
            route: Some("GET /user".to_owned()),
            tool: None,
            status: "200".to_owned(),
            client: None,
            result_count: None,
        }
    }

    #[actix::test]
    async fn lines_whose_commit_went_unanswered_are_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let owner = user::Model {
            id: UserId::new(NOON),
            email: "a@b".to_owned(),
            name: None,
            password_hash: "h".to_owned(),
            plan: Plan::Pro,
            disabled_at: None,
            created_at: NOON,
        };
        let id = owner.id;
        user::Entity::insert(owner.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let clock = Arc::new(TestClock::at(NOON));
        let mut actor = ActivityActor::new(db.clone(), clock, SWEEP_INTERVAL, DiskSpace::default());
        actor.lines.push(line(id));
        let batch = actor.take_batch();

        // The rows are written, and the actor handles the batch as if the write had failed.
        write(&db, &batch).await.unwrap();
        actor.put_back(batch);
        actor.lines.push(line(id));
        let batch = actor.take_batch();
        write(&db, &batch).await.unwrap();

        assert_eq!(activity::Entity::owned_by(id).count(db.read()).await.unwrap(), 2);
    }
}
