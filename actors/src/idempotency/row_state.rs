//! The states of a row: whether its request runs, has ended, or has expired.

use std::time::Duration;

use entity::idempotency::Column;
use sea_orm::{ColumnTrait, Condition};
use values::time::Timestamp;

/// Time for which responses are stored.
pub(super) const RESPONSE_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// A claim without a heartbeat for this long belongs to a crashed process. Heartbeats are three times as frequent. The clocks
/// of two servers may differ by this much.
pub(super) const CLAIM_TIMEOUT: Duration = Duration::from_secs(60);

/// The value of `heartbeat_at` of a request that is known to have ended.
pub(super) const ENDED_AT: Timestamp = Timestamp::from_millis(0);

/// Selects rows that have expired: they are older than 24 hours, or their process crashed before the request changed anything.
pub(super) fn is_expired(now: Timestamp) -> Condition {
    let crashed = Condition::all()
        .add(Column::Status.is_null())
        .add(Column::IsCommitted.eq(false))
        .add(has_no_heartbeat(now));
    Condition::any().add(Column::CreatedAt.lt(now - RESPONSE_RETENTION)).add(crashed)
}

/// Selects rows without a response whose request has ended.
fn has_no_heartbeat(now: Timestamp) -> Condition {
    Condition::any()
        .add(Column::HeartbeatAt.lt(now - CLAIM_TIMEOUT))
        // A heartbeat in the future is from before the clock was set back. Without this condition the request would count as
        // running until the clock is there again.
        .add(Column::HeartbeatAt.gt(now + CLAIM_TIMEOUT))
}

/// Returns whether a row with this last heartbeat is one that [`has_no_heartbeat`] selects.
pub(super) fn is_heartbeat_missing(heartbeat_at: Timestamp, now: Timestamp) -> bool {
    heartbeat_at < now - CLAIM_TIMEOUT || heartbeat_at > now + CLAIM_TIMEOUT
}

/// Selects rows that have a response, or that were committed by a request that has ended.
pub(super) fn is_finished(now: Timestamp) -> Condition {
    let without_response = Condition::all().add(Column::IsCommitted.eq(true)).add(has_no_heartbeat(now));
    Condition::any().add(Column::Status.is_not_null()).add(without_response)
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use entity::idempotency::Entity;
    use library::idempotency_claim::ClaimId;
    use sea_orm::sea_query::Expr;
    use sea_orm::{DbBackend, QueryFilter, QueryTrait};
    use uuid::Uuid;
    use values::id::{KeyId, UserId};

    use super::*;

    /// The database uses the primary key instead of reading all rows of the owner, although each statement names the owner first.
    #[actix::test]
    async fn row_of_a_key_is_found_by_the_primary_key() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let now = Timestamp::from_millis(1);
        let (user, key) = (UserId(Uuid::from_u128(7)), KeyId(Uuid::from_u128(8)));
        let id = ClaimId { user, key, idempotency_key_hash: vec![1], at: now };

        let statements = [
            Entity::one_of(user, key, &[1]).filter(is_expired(now).not()).build(DbBackend::Sqlite),
            Entity::delete_one_of(user, key, &[1]).filter(is_expired(now)).build(DbBackend::Sqlite),
            id.update_pending().col_expr(Column::HeartbeatAt, Expr::value(now)).build(DbBackend::Sqlite),
        ];

        for statement in statements {
            let plan = QueryPlan::of(&db, statement).await.unwrap();
            assert!(plan.has_step("(key_id=? AND idempotency_key_hash=?)"), "{plan:#?}");
        }
    }
}
