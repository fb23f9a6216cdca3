//! How transactions begin that change the data of a user.
//!
//! On PostgreSQL it takes the user's row of `library_usage` before any other row. The database itself changes that row when a
//! counted table changes ([`crate::library_quota`]), so a transaction that locked a bookmark first and one that counted first
//! would deadlock. With this lock the transactions of one user run one after another; on SQLite they do anyway.
//!
//! The lock order is the same everywhere: the row of `library_usage`, the row of the Idempotency-Key, the row of `"user"`, then
//! the other rows of the user and the jobs. Changes to the data of several users are one transaction for each, except when a feed
//! has moved ([`begin_owned_by_all`]). A statement outside of such a transaction ([`Db::write`]) changes one row, in a table that
//! does not count.

use entity::id::UserId;
use entity::library_usage;
use sea_orm::sea_query::LockType;
use sea_orm::{DbErr, QuerySelect};

use crate::caller::Caller;
use crate::db::{Db, Transaction};
use crate::error::Error;

/// Begins a transaction that changes the data of this user. If the account was removed, there is nothing to lock.
///
/// # Errors
/// The database fails, or another transaction of the user takes longer than the lock timeout.
pub async fn begin_owned(db: &Db, user: UserId) -> Result<Transaction, DbErr> {
    let txn = db.begin().await?;
    if db.is_postgres() {
        // Not FOR UPDATE: the row's key does not change.
        library_usage::Entity::owned_by(user).lock(LockType::NoKeyUpdate).one(&txn).await?;
    }
    Ok(txn)
}

/// Begins a transaction that changes the data of several users. Their rows are locked in the order of the users' ids, so two such
/// transactions do not deadlock.
///
/// # Errors
/// As [`begin_owned`].
pub async fn begin_owned_by_all(db: &Db, mut users: Vec<UserId>) -> Result<Transaction, DbErr> {
    let txn = db.begin().await?;
    if db.is_postgres() {
        users.sort_unstable();
        users.dedup();
        for user in users {
            library_usage::Entity::owned_by(user).lock(LockType::NoKeyUpdate).one(&txn).await?;
        }
    }
    Ok(txn)
}

/// Begins the transaction that makes the change of a request. If the request has an Idempotency-Key, the transaction marks its
/// claim as committed ([`crate::idempotency`]), so a commit keeps the change and the mark, or neither.
///
/// Do not use it for writes before the actual change, such as a reservation that expires.
///
/// # Errors
/// As [`begin_owned`]. [`Error::StillRunning`] when the claim has expired and the key may belong to another request.
pub async fn begin_request(db: &Db, caller: &Caller) -> Result<Transaction, Error> {
    let txn = begin_owned(db, caller.user).await?;
    if let Some(claim) = &caller.claim {
        claim.mark_committed(&txn).await?;
    }
    Ok(txn)
}
