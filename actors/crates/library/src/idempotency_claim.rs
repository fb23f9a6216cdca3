//! Identity of the claim that a request has on its Idempotency-Key. The stored responses themselves are kept by crate `actors`;
//! the transaction that makes a request's change needs only the claim.

use database::Transaction;
use entity::idempotency::{Column, Entity};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, DeleteMany, QueryFilter, UpdateMany};
use values::id::{KeyId, UserId};
use values::time::Timestamp;

use errors::Error;

/// Tells a claim from all others, including a later one of the same key.
#[derive(Clone, Debug)]
pub struct ClaimId {
    /// The user of the request.
    pub user: UserId,
    /// The API key of the request.
    pub key: KeyId,
    /// SHA-256 of the value of the header Idempotency-Key.
    pub idempotency_key_hash: Vec<u8>,
    /// When the claim was made.
    pub at: Timestamp,
}

impl ClaimId {
    /// Marks the claim as committed, in the transaction that makes the change.
    ///
    /// # Errors
    /// [`Error::StillRunning`] when the claim is gone: it expired, and another request may have the Idempotency-Key now. The
    /// transaction must be rolled back then.
    pub async fn mark_committed(&self, txn: &Transaction) -> Result<(), Error> {
        let marked = self.update_pending().col_expr(Column::IsCommitted, Expr::value(true)).exec(txn).await?;
        if marked.rows_affected == 0 { Err(Error::StillRunning) } else { Ok(()) }
    }

    /// Returns an update of the row of this claim, as long as it has no response.
    pub fn update_pending(&self) -> UpdateMany<Entity> {
        Entity::update_one_of(self.user, self.key, &self.idempotency_key_hash).filter(self.is_pending())
    }

    /// Returns a deletion of the row of this claim, as long as it has no response.
    pub fn delete_pending(&self) -> DeleteMany<Entity> {
        Entity::delete_one_of(self.user, self.key, &self.idempotency_key_hash).filter(self.is_pending())
    }

    fn is_pending(&self) -> Condition {
        // The time tells this claim from a later one of the same Idempotency-Key, which has the same user, key and hash.
        Condition::all().add(Column::CreatedAt.eq(self.at)).add(Column::Status.is_null())
    }
}
