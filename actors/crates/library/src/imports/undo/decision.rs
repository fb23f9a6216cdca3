//! What an undo decides about the rows of a batch, and how it stores that.

use database::padded;
use entity::import_row::{Column, Entity};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use uuid::Uuid;
use values::id::{ImportRowId, UserId};

use errors::Error;

/// The outcome of the undo of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowDecision {
    /// The undo deleted the object, or found that it does not exist.
    Deleted,
    /// The object stays, because it was changed or is in use.
    Retained,
}

/// The decisions of a batch.
#[derive(Default)]
pub struct BatchDecisions {
    deleted: Vec<ImportRowId>,
    retained: Vec<ImportRowId>,
}

impl BatchDecisions {
    /// Adds the decision about a row.
    pub fn record(&mut self, row: ImportRowId, decision: RowDecision) {
        match decision {
            RowDecision::Deleted => self.deleted.push(row),
            RowDecision::Retained => self.retained.push(row),
        }
    }

    /// Stores the decisions: a decided row has no trace, and one whose object was deleted has no id.
    pub async fn store(self, txn: &impl ConnectionTrait, user: UserId) -> Result<(), Error> {
        // In the transaction that deletes the objects: an undo that is killed decides about each row exactly once.
        let decided = |rows: Vec<ImportRowId>| {
            Entity::update_owned(user)
                .col_expr(Column::Detail, Expr::value(None::<String>))
                .filter(Column::Id.is_in(padded(&rows)))
        };
        if !self.retained.is_empty() {
            decided(self.retained).exec(txn).await?;
        }
        if !self.deleted.is_empty() {
            let deleted = decided(self.deleted).col_expr(Column::ObjectId, Expr::value(None::<Uuid>));
            deleted.exec(txn).await?;
        }
        Ok(())
    }
}
