//! Asks for the index of many documents anew: all of them, or those that lack the vectors of a model. It writes jobs only,
//! so the command line may do it beside a running service. The newest are asked for first.

use std::collections::BTreeMap;

use database::Db;
use entity::document;
use entity::id::UserId;
use entity::time::Timestamp;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::queue::{self, Priority, JobKind};
use errors::Error;
use library::owned_transaction::begin_owned;

const AT_ONCE: u64 = 500;

/// Asks for every document that has a text; how many they are.
pub async fn ask_for_all(db: &Db, now: Timestamp) -> Result<u64, Error> {
    ask(db, Condition::all().add(document::Column::Version.gt(0)), now).await
}

/// Asks for every document with a text whose vectors are not this model's; how many they are.
pub async fn ask_for_vectors(db: &Db, model: &str, now: Timestamp) -> Result<u64, Error> {
    let other = Condition::any()
        .add(document::Column::VectorsOf.is_null())
        .add(document::Column::VectorsOf.ne(model));
    let with_text = Condition::all().add(document::Column::Version.gt(0)).add(other);
    ask(db, with_text, now).await
}

async fn ask(db: &Db, which: Condition, now: Timestamp) -> Result<u64, Error> {
    let (mut before, mut asked) = (None, 0);
    loop {
        let mut query = document::Entity::of_every_user().filter(which.clone());
        if let Some(before) = before {
            query = query.filter(document::Column::Id.lt(before));
        }
        let some = query.order_by_desc(document::Column::Id).limit(AT_ONCE).all(db.read()).await?;
        let Some(last) = some.last() else { return Ok(asked) };
        before = Some(last.id);
        asked += some.len() as u64;
        let mut of: BTreeMap<UserId, Vec<Uuid>> = BTreeMap::new();
        for document in &some {
            of.entry(document.user_id).or_default().push(document.id.0);
        }
        for (user, documents) in of {
            let txn = begin_owned(db, user).await?;
            jobs::enqueue_all(&txn, user, JobKind::Index, documents, Priority::Backlog, now).await?;
            txn.commit().await?;
        }
    }
}
