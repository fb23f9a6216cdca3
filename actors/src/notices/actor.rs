//! The actor of notices: writes each notice once.
//!
//! A notice and the mark at the key are one transaction, so neither a crash nor a COMMIT whose answer is lost duplicates anything. A
//! notice that was not written is written at the next use of the key.

use std::sync::Arc;

use actix::fut::wrap_future;
use actix::{Actor, AtomicResponse, Context, Handler, Message};
use database::Db;
use entity::{api_key, notice};
use errors::Error;
use library::clock::Clock;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use values::id::{KeyId, NoticeId, UserId};
use values::kind::NoticeKind;
use values::time::Timestamp;

use super::rows;
use crate::write_behind::Flush;

/// The actor of notices, which holds no state between messages.
pub struct NoticeActor {
    db: Db,
    clock: Arc<dyn Clock>,
}

impl NoticeActor {
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock }
    }
}

impl Actor for NoticeActor {
    type Context = Context<Self>;
}

/// A key was used for the first time.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub struct FirstUse {
    /// The key that was used.
    pub key: KeyId,
    /// The owner of the key, who gets the notice.
    pub user: UserId,
    /// The name of the key, which the title of the notice contains.
    pub name: String,
    /// The client, as it names itself in its requests; `None` if it does not.
    pub client: Option<String>,
    /// The time of the use, which becomes the key's time of first use.
    pub at: Timestamp,
}

impl Handler<FirstUse> for NoticeActor {
    type Result = AtomicResponse<Self, Result<(), Error>>;

    fn handle(&mut self, first: FirstUse, _: &mut Self::Context) -> Self::Result {
        // A message that touches no state, and atomic: notices are written one after another, and a flush waits for all earlier ones.
        let write = write_first_use(self.db.clone(), first, self.clock.now());
        AtomicResponse::new(Box::pin(wrap_future(write)))
    }
}

async fn write_first_use(db: Db, first: FirstUse, now: Timestamp) -> Result<(), Error> {
    let txn = db.begin().await?;
    // A conditional update: of several uses, also in several processes, only the one that sets the mark writes the notice.
    let marked = api_key::Entity::update_owned(first.user)
        .col_expr(api_key::Column::FirstUsedAt, Expr::value(first.at))
        .filter(api_key::Column::Id.eq(first.key))
        .filter(api_key::Column::FirstUsedAt.is_null())
        .exec(&txn)
        .await?;
    if marked.rows_affected == 0 {
        return Ok(());
    }
    let client = first.client.as_deref().unwrap_or("not named");
    let row = notice::Model {
        id: NoticeId::new(now),
        user_id: first.user,
        kind: NoticeKind::KeyFirstUse,
        title: format!("The key “{}” was used for the first time", first.name),
        body: format!(
            "Client: {client}. Time: {}. If you do not know this use, revoke the key with `carrel key revoke {}`, or ask the \
             operator of your server to do so.",
            first.at, first.key
        ),
        client: first.client,
        created_at: now,
        read_at: None,
        subject_id: Some(first.key.0),
    };
    rows::insert(&txn, row).await?;
    Ok(txn.commit().await?)
}

impl Handler<Flush> for NoticeActor {
    type Result = Result<(), Error>;

    /// All earlier notices are written: each is handled before the next message.
    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        Ok(())
    }
}
