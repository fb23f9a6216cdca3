//! The actor of retrieval: every search and every change of the index goes through it, so that what is in progress is
//! bounded and a death harms nobody for long.
//!
//! After a crash it goes on with the open index: what was not committed is put in again by its job.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use database::Db;
use entity::document;
use entity::id::{DocumentId, UserId};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use search::index::{Labels, Point, Tenant};
use tracing::warn;
use uuid::Uuid;

use super::engine::Engine;
use super::{Completeness, Ranked, Wanted};
use errors::Error;

const LOOK_EVERY: Duration = Duration::from_millis(400);

/// See the file's head.
pub struct RetrievalActor {
    db: Db,
    engine: Arc<Engine>,
}

impl RetrievalActor {
    pub(super) fn new(db: Db, engine: Arc<Engine>) -> Self {
        Self { db, engine }
    }

    fn look(&mut self, context: &mut Context<Self>) {
        let (db, engine) = (self.db.clone(), self.engine.clone());
        let look = async move { engine.pause.look(&db).await };
        context.spawn(look.into_actor(self).map(|looked, _, _| {
            if let Err(error) = looked
                && !error.is_reported()
            {
                warn!(cause = error.chain(), "could not look whether the AI pauses");
            }
        }));
    }
}

impl Actor for RetrievalActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.look(context);
        context.run_interval(LOOK_EVERY, Self::look);
    }
}

/// Looks for passages.
#[derive(Message)]
#[rtype(result = "Result<Ranked, Error>")]
pub struct Retrieve {
    pub(super) user: UserId,
    pub(super) wanted: Wanted,
}

impl Handler<Retrieve> for RetrievalActor {
    type Result = ResponseFuture<Result<Ranked, Error>>;

    fn handle(&mut self, asked: Retrieve, _: &mut Self::Context) -> Self::Result {
        let (db, engine) = (self.db.clone(), self.engine.clone());
        Box::pin(async move {
            let is_incomplete = match engine.completeness() {
                Completeness::Complete => false,
                Completeness::Checking | Completeness::MaintainedElsewhere => true,
                Completeness::Rebuilding { .. } => has_lost(&db, asked.user).await?,
            };
            engine.search(asked.user, asked.wanted, is_incomplete).await
        })
    }
}

/// Whether the index lost documents of this user and has not got them back.
async fn has_lost(db: &Db, user: UserId) -> Result<bool, Error> {
    let lost = document::Entity::lost_by_index().filter(document::Column::UserId.eq(user));
    let first = lost.select_only().column(document::Column::Id).into_tuple::<DocumentId>().one(db.read());
    Ok(first.await?.is_some())
}

/// Passages of a document's version.
pub struct Put {
    /// Whose they are.
    pub user: UserId,
    /// The document.
    pub document: DocumentId,
    /// The version of its text.
    pub version: i64,
    /// All of its passages, or the next of many.
    pub points: Vec<Point>,
    /// With these the version is whole: what other versions said is found no longer.
    pub last: bool,
}

/// Changes the index; durable when it is answered.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub enum Change {
    /// Puts passages in; the last ones of a version in place of all others.
    Put(Put),
    /// Takes a document out.
    Forget(UserId, DocumentId),
    /// Files a document anew.
    Relabel(UserId, DocumentId, Labels),
    /// Takes a user out.
    ForgetUser(UserId),
    /// Takes passages out that are in no row of the database.
    Remove(Vec<Uuid>),
}

impl Handler<Change> for RetrievalActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, change: Change, _: &mut Self::Context) -> Self::Result {
        let engine = self.engine.clone();
        Box::pin(async move {
            engine
                .change(move |index| match change {
                    Change::Put(put) => {
                        let tenant = Tenant::of(put.user.0);
                        index.upsert(&tenant, put.points)?;
                        if put.last {
                            index.delete_document(&tenant, put.document.0, Some(put.version))?;
                        }
                        Ok(())
                    }
                    Change::Forget(user, document) => {
                        index.delete_document(&Tenant::of(user.0), document.0, None)
                    }
                    Change::Relabel(user, document, labels) => {
                        index.update_labels(&Tenant::of(user.0), document.0, &labels)
                    }
                    Change::ForgetUser(user) => index.delete_tenant(&Tenant::of(user.0)),
                    Change::Remove(passages) => index.delete_passages(&passages),
                })
                .await
        })
    }
}

/// Packs the index.
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
