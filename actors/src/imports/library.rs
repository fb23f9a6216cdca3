//! A library is changed by one lot of one import at a time: what two at once take in or take back, each would leave to the
//! other, or take from it.

use entity::id::UserId;
use entity::user;
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, EntityTrait, QuerySelect};

use crate::error::Error;

/// Keeps the person's library to the imports' lot of this transaction until it ends. To be taken before the things in it.
///
/// # Errors
/// [`Error::NotFound`] where the account is gone; the database.
pub async fn hold(txn: &impl ConnectionTrait, user: UserId) -> Result<(), Error> {
    let owner = user::Entity::find_by_id(user).lock(LockType::NoKeyUpdate);
    owner.one(txn).await?.map(drop).ok_or(Error::not_found("account"))
}
