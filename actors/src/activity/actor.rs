//! The actor of the activity: gathers lines and writes them together, and removes those that are past their days.
//!
//! After a crash at most one batch is lost.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use entity::activity;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
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
}

impl ActivityActor {
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>, kept: Duration) -> Self {
        Self { db, clock, kept, lines: Batch::of(MOST_LINES) }
    }

    fn write_later(&self, lines: Vec<activity::Model>, context: &mut Context<Self>) {
        let count = lines.len();
        context.spawn(write(self.db.clone(), lines).into_actor(self).map(move |done, _, _| {
            if let Err(error) = done {
                warn!(%error, count, "could not write lines of the activity");
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

async fn write(db: Db, lines: Vec<activity::Model>) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let rows = lines.into_iter().map(IntoActiveModel::into_active_model);
    activity::Entity::insert_many(rows).exec_without_returning(db.write()).await?;
    Ok(())
}

impl Actor for ActivityActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.sweep(context);
        context.run_interval(SWEEP_EVERY, Self::sweep);
        context.run_interval(FLUSH_EVERY, |actor, context| {
            let lines = actor.lines.take();
            actor.write_later(lines, context);
        });
    }
}

/// A call came.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Record(pub activity::Model);

impl Handler<Record> for ActivityActor {
    type Result = ();

    fn handle(&mut self, Record(line): Record, context: &mut Self::Context) {
        if let Some(full) = self.lines.push(line) {
            self.write_later(full, context);
        }
    }
}

/// Writes what was noted.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Flush;

impl Handler<Flush> for ActivityActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        Box::pin(write(self.db.clone(), self.lines.take()))
    }
}
