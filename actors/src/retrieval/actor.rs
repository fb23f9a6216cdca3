//! The actor of retrieval: every change of the index goes through it, so that the number of changes in progress is bounded, and a
//! change that has begun is completed. Reads change nothing and are functions.
//!
//! After a crash it uses the index that is open; jobs repeat the changes that were not committed.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use database::Db;
use errors::Error;
use search::index::{Labels, Point, Tenant};
use tracing::warn;
use uuid::Uuid;
use values::id::{DocumentId, UserId};

use super::engine::Engine;
use super::failure_log::RequestKey;

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

/// Passages of a version of a document.
pub struct PassageBatch {
    /// The owner of the document.
    pub user: UserId,
    /// The document that the passages are of.
    pub document: DocumentId,
    /// The version of the document's text that the passages were cut from.
    pub version: i64,
    /// All of its passages, or the next of many.
    pub points: Vec<Point>,
    /// Whether these are the last passages of the version. Those of other versions are removed then.
    pub last: bool,
}

// The two messages below touch no state of the actor. They are messages because of the timeout of the port: it frees the job of a
// change that the disk holds up. The actor completes the change, and the job repeats it, which changes nothing more. A drain of the
// port waits for the changes that are awaited: the index is closed only then.

/// Changes the index. The change is durable when the request returns.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub enum Change {
    /// Adds passages; the last ones of a version replace those of other versions.
    Put(PassageBatch),
    /// Removes all passages of a document of this user.
    Forget(UserId, DocumentId),
    /// Changes the labels of all passages of a document of this user.
    UpdateLabels(UserId, DocumentId, Labels),
    /// Removes all passages of a user.
    ForgetUser(UserId),
    /// Removes passages that are in no row of the database.
    Remove(Vec<Uuid>),
}

impl Change {
    /// Returns the key of a change that a job makes; `None` for the removal of passages without a row, which no job repeats.
    fn key(&self) -> Option<RequestKey> {
        match self {
            Change::Put(batch) => {
                let first = batch.points.first().map(|point| point.id);
                Some(RequestKey::Put(batch.document, batch.version, first))
            }
            Change::Forget(_, document) => Some(RequestKey::Forget(*document)),
            Change::UpdateLabels(_, document, _) => Some(RequestKey::UpdateLabels(*document)),
            Change::ForgetUser(user) => Some(RequestKey::ForgetUser(*user)),
            Change::Remove(_) => None,
        }
    }
}

impl Handler<Change> for RetrievalActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, change: Change, _: &mut Self::Context) -> Self::Result {
        let engine = self.engine.clone();
        Box::pin(async move {
            engine
                .change(change.key(), move |index| match change {
                    Change::Put(batch) => {
                        let tenant = Tenant::of(batch.user.0);
                        index.upsert(&tenant, batch.points)?;
                        // Only after the last passages of the new version, so that search finds the former one until then.
                        if batch.last {
                            index.delete_document(&tenant, batch.document.0, Some(batch.version))?;
                        }
                        Ok(())
                    }
                    Change::Forget(user, document) => {
                        index.delete_document(&Tenant::of(user.0), document.0, None)
                    }
                    Change::UpdateLabels(user, document, labels) => {
                        index.update_labels(&Tenant::of(user.0), document.0, &labels)
                    }
                    Change::ForgetUser(user) => index.delete_tenant(&Tenant::of(user.0)),
                    Change::Remove(passages) => index.delete_passages(&passages),
                })
                .await
        })
    }
}

/// Packs the index; the answer says whether there was something to pack.
#[derive(Message)]
#[rtype(result = "Result<bool, Error>")]
pub struct Maintain;

impl Handler<Maintain> for RetrievalActor {
    type Result = ResponseFuture<Result<bool, Error>>;

    fn handle(&mut self, _: Maintain, _: &mut Self::Context) -> Self::Result {
        let engine = self.engine.clone();
        Box::pin(async move { engine.maintain().await })
    }
}
