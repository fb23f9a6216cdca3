//! How a transaction begins that changes what a user owns.
//!
//! On PostgreSQL it takes the user's row of `library_usage` before any other row. The database itself changes that row when a
//! counted table changes ([`crate::library_quota`]), so a transaction that locked a bookmark first and one that counted first
//! would wait for each other. With this lock the transactions of one user follow one another; on SQLite they do anyway.
//!
//! The order of locks is the same everywhere: the row of `library_usage`, the row of the Idempotency-Key, the row of `"user"`,
//! then the user's things and jobs. Work on the things of several users is one transaction for each, except where a feed moved
//! ([`begin_owned_by_all`]). A statement outside of such a transaction ([`Db::write`]) changes one row at a time, and nothing
//! that is counted.

use entity::id::UserId;
use entity::library_usage;
use sea_orm::sea_query::LockType;
use sea_orm::{DbErr, QuerySelect};

use crate::caller::Caller;
use crate::db::{Db, Transaction};
use crate::error::Error;

/// Begins a transaction that changes what this user owns. Of an account that is gone there is nothing to lock.
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

/// Begins a transaction that changes what several users own. Their rows are taken in the order of the users' ids, so two such
/// transactions do not wait for each other.
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

/// Begins the transaction that makes the change which a request asks for. Where the request has an Idempotency-Key, the
/// transaction marks the key as used ([`crate::idempotency`]), so a commit keeps the change and the mark, or neither.
///
/// What a request writes before its change, such as a reservation that expires by itself, must not begin like this.
///
/// # Errors
/// As [`begin_owned`]. [`Error::StillRunning`] when the key was freed meanwhile and may belong to another request.
pub async fn begin_request(db: &Db, caller: &Caller) -> Result<Transaction, Error> {
    let txn = begin_owned(db, caller.user).await?;
    if let Some(claim) = &caller.claim {
        claim.mark_committed(&txn).await?;
    }
    Ok(txn)
}
