//! The actor of retrieval: it reads at an interval whether the AI is paused. The changes of the index touch no state of it. They run on
//! its thread within the permits of its port, which bound how many are in progress.
//!
//! A crash loses nothing: the changes in progress continue, and the next actor uses the index that is open.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, WrapFuture};
use database::Db;
use tracing::warn;

use super::engine::Engine;

/// Interval of reads whether the AI is paused.
const PAUSE_INTERVAL: Duration = Duration::from_millis(400);

/// The actor of retrieval. All of its state is in the engine, which it shares with reads.
pub struct RetrievalActor {
    db: Db,
    engine: Arc<Engine>,
}

impl RetrievalActor {
    pub(super) fn new(db: Db, engine: Arc<Engine>) -> Self {
        Self { db, engine }
    }

    fn refresh_pause(&mut self, context: &mut Context<Self>) {
        let (db, engine) = (self.db.clone(), self.engine.clone());
        let refresh = async move { engine.refresh_pause(&db).await };
        context.spawn(refresh.into_actor(self).map(|refreshed, _, _| {
            if let Err(error) = refreshed
                && !error.is_reported()
            {
                warn!(cause = error.chain(), "could not read whether the AI is paused");
            }
        }));
    }
}

impl Actor for RetrievalActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.refresh_pause(context);
        context.run_interval(PAUSE_INTERVAL, Self::refresh_pause);
    }
}
