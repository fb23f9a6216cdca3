//! Serializes the batches of a user's imports and undos with a row lock: two at the same time would create a collection twice, or
//! one would delete what the other is filling.

use entity::user;
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, EntityTrait, QuerySelect};
use values::id::UserId;

use errors::Error;

/// Locks a user's library against other batches of imports until the transaction ends. Call it before the transaction locks
/// anything else in the library.
///
/// # Errors
/// [`Error::NotFound`] when the account was removed.
pub async fn lock_library(txn: &impl ConnectionTrait, user: UserId) -> Result<(), Error> {
    // NO KEY UPDATE: other transactions may insert rows that refer to the user meanwhile.
    let owner = user::Entity::find_by_id(user).lock(LockType::NoKeyUpdate);
    owner.one(txn).await?.map(drop).ok_or(Error::not_found())
}
