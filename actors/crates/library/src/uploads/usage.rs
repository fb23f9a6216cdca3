//! The space that the uploads of an account take up.

use entity::upload::{Column, Entity};
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::UserId;
use values::time::Timestamp;

/// Returns the bytes that a user's uploads take up or may still take up: those of completed uploads, of uploads whose bytes have
/// arrived or are arriving, and of announced uploads whose URL is still valid.
pub async fn stored_bytes(db: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<u64, Error> {
    // On PostgreSQL the sum of a BIGINT column is a NUMERIC, which does not decode as i64.
    let sum = Expr::cust("CAST(COALESCE(SUM(upload.bytes), 0) AS BIGINT)");
    let counted = Entity::owned_by(user).filter(is_counted(now)).select_only().column_as(sum, "sum");
    let sum: Option<i64> = counted.into_tuple().one(db).await?;
    Ok(sum.and_then(|sum| u64::try_from(sum).ok()).unwrap_or_default())
}

fn is_counted(now: Timestamp) -> Condition {
    Condition::any()
        .add(Column::CompletedAt.is_not_null())
        .add(Column::ArrivedAt.is_not_null())
        // A transfer that began in time may last longer than the URL is valid.
        .add(Column::ReceivingUntil.gt(now))
        .add(Column::ExpiresAt.gt(now))
}
