//! The space that the uploads of an account take up.

use entity::account_count;
use entity::upload::{Column, Entity};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, Func, Query};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, QueryFilter, QuerySelect, Select};
use values::id::UserId;
use values::time::Timestamp;

/// Returns the bytes that a user's uploads take up or may still take up: those of completed uploads, of uploads whose bytes have
/// arrived or are arriving, and of announced uploads whose URL is still valid.
pub async fn stored_bytes(db: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<u64, Error> {
    let sum: Option<i64> = select_stored_bytes(user, now).into_tuple().one(db).await?;
    Ok(sum.and_then(|sum| u64::try_from(sum).ok()).unwrap_or_default())
}

/// Selects the counter of the bytes of uploads whose bytes have arrived, and adds the bytes of the others, which are few. One statement,
/// so that an upload whose bytes arrive meanwhile counts once.
fn select_stored_bytes(user: UserId, now: Timestamp) -> Select<Entity> {
    let arrived = Query::select()
        .column(account_count::Column::UploadBytes)
        .from(account_count::Entity)
        .and_where(account_count::Column::UserId.eq(user))
        .to_owned();
    let arrived = Func::coalesce([Expr::from(arrived), Expr::value(0_i64)]);
    // On PostgreSQL the sum of a BIGINT column is a NUMERIC, which does not decode as i64.
    let expected = Expr::cust("CAST(COALESCE(SUM(upload.bytes), 0) AS BIGINT)");
    Entity::owned_by(user)
        .filter(Column::CompletedAt.is_null())
        .filter(Column::ArrivedAt.is_null())
        .filter(may_arrive(now))
        .select_only()
        .column_as(expected.add(arrived), "sum")
}

fn may_arrive(now: Timestamp) -> Condition {
    Condition::any()
        // A transfer that began in time may last longer than the URL is valid.
        .add(Column::ReceivingUntil.gt(now))
        .add(Column::ExpiresAt.gt(now))
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn arrived_uploads_are_not_read_for_the_stored_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();

        let select = select_stored_bytes(UserId(Uuid::from_u128(7)), Timestamp::from_millis(1));
        let plan = QueryPlan::of(&db, select.build(DbBackend::Sqlite)).await.unwrap();

        let of_expected = "upload_user_arrival (user_id=? AND completed_at=? AND arrived_at=?)";
        assert!(plan.has_step(of_expected) && plan.full_scans().is_empty(), "{plan:#?}");
    }
}
