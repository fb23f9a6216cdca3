//! The stored steps of changes.

use std::time::Duration;

use entity::{undo, undo_step};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};
use values::id::{UndoId, UserId};
use values::time::Timestamp;

use super::step::UndoStep;
use errors::Error;

/// The time for which a change can be undone.
pub const UNDO_PERIOD: Duration = Duration::from_secs(10 * 60);
/// Maximum number of changes of a user that can be undone; older ones are forgotten.
pub const MAX_UNDOS: u64 = 20;

/// Begins the record of a change, without steps, and forgets old ones of the user. Returns the token by which it is undone.
pub async fn begin_undo(txn: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<UndoId, Error> {
    let row = undo::Model { id: UndoId::new(now), user_id: user, expires_at: now + UNDO_PERIOD };
    let id = row.id;
    undo::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    let newest = undo::Entity::owned_by(user).order_by_desc(undo::Column::Id).offset(MAX_UNDOS).limit(1);
    if let Some(oldest) = newest.one(txn).await? {
        undo::Entity::delete_owned(user).filter(undo::Column::Id.lte(oldest.id)).exec(txn).await?;
    }
    Ok(id)
}

/// Stores the next step of a change, whose steps so far are `position`.
pub async fn record_step(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: UndoId,
    position: i32,
    step: &UndoStep,
) -> Result<(), Error> {
    let step = serde_json::to_string(step).map_err(Error::internal)?;
    let row = undo_step::Model { undo_id: id, user_id: user, position, step };
    undo_step::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(())
}

/// Removes the last step of a change and returns it. Returns `None` once there is none left; then the record is gone too.
///
/// # Errors
/// [`Error::NotFound`] when the user has no such change, or it cannot be undone any more.
pub async fn take_last_step(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: UndoId,
    now: Timestamp,
) -> Result<Option<UndoStep>, Error> {
    let found = undo::Entity::one_of(user, id).filter(undo::Column::ExpiresAt.gt(now));
    found.one(txn).await?.ok_or(Error::not_found())?;
    let last = undo_step::Entity::owned_by(user)
        .filter(undo_step::Column::UndoId.eq(id))
        .order_by_desc(undo_step::Column::Position);
    let Some(row) = last.one(txn).await? else {
        undo::Entity::delete_owned(user).filter(undo::Column::Id.eq(id)).exec(txn).await?;
        return Ok(None);
    };
    let step = serde_json::from_str(&row.step).map_err(Error::internal)?;
    undo_step::Entity::delete_owned_row(txn, user, row).await?;
    Ok(Some(step))
}

/// Forgets the changes of all users that cannot be undone any more.
pub async fn delete_expired(db: &impl ConnectionTrait, now: Timestamp) -> Result<(), DbErr> {
    undo::Entity::expired_of_every_user(now).exec(db).await.map(drop)
}
