//! Which claim of an Idempotency-Key a request has. It stands apart from [`actors::idempotency`], because the transaction that
//! makes the request's change needs it, and the stored answers are written in such transactions themselves.

use database::Transaction;
use entity::id::{KeyId, UserId};
use entity::idempotency::{Column, Entity};
use entity::time::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter};

use errors::Error;

/// Tells a claim from all others, also from a later one of the same key.
#[derive(Clone, Debug)]
pub struct ClaimId {
    /// The owner of the key.
    pub user: UserId,
    /// The API key or connection that sent the request.
    pub key: KeyId,
    /// The hash of the Idempotency-Key.
    pub name_hash: Vec<u8>,
    /// The time of the claim, which tells it from a later one of the same key.
    pub at: Timestamp,
}

impl ClaimId {
    /// Marks the claim as committed, in the transaction that makes the change.
    ///
    /// # Errors
    /// [`Error::StillRunning`] when the claim is gone: the key was freed because its request did not say that it runs, and another
    /// request may have it now; the database fails. Nothing of the transaction may be kept then.
    pub async fn mark_committed(&self, txn: &Transaction) -> Result<(), Error> {
        let marked = Entity::update_many()
            .col_expr(Column::Committed, Expr::value(true))
            .filter(self.is_unanswered())
            .exec(txn)
            .await?;
        if marked.rows_affected == 0 { Err(Error::StillRunning) } else { Ok(()) }
    }

    /// The row of this claim, as long as it has no answer.
    pub fn is_unanswered(&self) -> Condition {
        Entity::is_one_of(self.user, self.key, &self.name_hash)
            .add(Column::CreatedAt.eq(self.at))
            .add(Column::Status.is_null())
    }
}
