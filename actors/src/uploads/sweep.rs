//! Forgetting uploads that were never completed. Their files go with the clean-up of the store.

use std::time::Duration;

use entity::upload::{Column, Entity};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use crate::app::App;
use crate::error::Error;

/// An upload that is not completed is forgotten so long after its address ended: until then bytes that came in time may
/// be completed late, and whoever asks is told that it expired.
pub const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Removes them.
///
/// # Errors
/// The database.
pub async fn sweep(app: &App) -> Result<(), Error> {
    Entity::delete_many()
        .filter(Column::CompletedAt.is_null())
        .filter(Column::ExpiresAt.lt(app.clock.now() - KEPT))
        .exec(app.db.write())
        .await?;
    Ok(())
}
