//! The actor of the activity: gathers lines and writes them together, and removes those that are past their days.
//!
//! A batch that cannot be written waits for the next write. After a crash at most one batch is lost.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use entity::id::UserId;
use entity::{activity, user};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use tokio::sync::Mutex;
use tracing::warn;

use crate::clock::Clock;
use crate::db::Db;
use crate::error::Error;
use crate::kit::Batch;

const MOST_LINES: usize = 200;
const FLUSH_EVERY: Duration = Duration::from_millis(500);
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// See the file's head.
pub struct ActivityActor {
    db: Db,
    clock: Arc<dyn Clock>,
    kept: Duration,
    lines: Batch<activity::Model>,
    writes: Arc<Mutex<()>>,
}

impl ActivityActor {
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>, kept: Duration) -> Self {
        Self { db, clock, kept, lines: Batch::of(MOST_LINES), writes: Arc::default() }
    }

    /// Writes what has been gathered, one write after another; what cannot be written is kept for the next.
    fn flush(&mut self) -> ResponseActFuture<Self, Result<(), Error>> {
        let turn = self.writes.clone().lock_owned();
        Box::pin(turn.into_actor(self).then(|turn, actor, _| {
            let (db, lines) = (actor.db.clone(), actor.lines.take());
            let write = async move {
                let written = write(&db, &lines).await;
                (turn, lines, written)
            };
            write.into_actor(actor).map(|(_turn, lines, written), actor, _| {
                if written.is_err() {
                    let lost = actor.lines.put_back(lines);
                    if lost > 0 {
                        warn!(lost, "lines of the activity are lost: they could not be written for too long");
                    }
                }
                written
            })
        }))
    }

    fn flush_now(&mut self, context: &mut Context<Self>) {
        context.spawn(self.flush().map(|done, _, _| {
            if let Err(error) = done {
                warn!(%error, "could not write lines of the activity");
            }
        }));
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
        context.run_interval(FLUSH_EVERY, Self::flush_now);
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
            self.flush_now(context);
        }
    }
}

/// Writes what was noted; answers once writes in progress are done too.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Flush;

impl Handler<Flush> for ActivityActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
