//! The accounts that still exist when buffered data of their users is written.

use std::collections::HashSet;

use entity::user;
use errors::Error;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use values::id::UserId;

/// Maximum number of users that a statement names. Each is a bound value: SQLite takes 32,766 of them, and PostgreSQL 65,535.
pub(crate) const MAX_STATEMENT_USERS: usize = 2_000;

/// Returns the users that still exist. Their rows are locked, so none is removed before the transaction ends: no data of an account
/// that was removed may be written.
pub(crate) async fn lock_existing_users(
    txn: &impl ConnectionTrait,
    users: HashSet<UserId>,
) -> Result<HashSet<UserId>, Error> {
    let users: Vec<UserId> = users.into_iter().collect();
    let mut existing = HashSet::new();
    for users in users.chunks(MAX_STATEMENT_USERS) {
        let named = user::Entity::find().filter(user::Column::Id.is_in(users.iter().copied())).lock_shared();
        existing.extend(named.all(txn).await?.into_iter().map(|row| row.id));
    }
    Ok(existing)
}
