//! How transactions begin that change the data of a user.
//!
//! On PostgreSQL such a transaction locks the user's row of `library_usage` before any other row. Triggers change that row when
//! a counted table changes ([`crate::library_quota`]), so a transaction that locked a bookmark first and one that counted first
//! would deadlock. With this lock the transactions of one user run one after another; on SQLite they do anyway. The rows of the
//! counters (`migration::counters`) need no lock for the same reason: only transactions that hold this one change them.
//!
//! The order of locks is the same everywhere: the row of `library_usage`, the row of the Idempotency-Key, the row of `"user"`,
//! then other rows of the user and jobs. A change to rows of several users is one transaction for each, except where a feed moved
//! ([`begin_owned_by_followers`]). A statement outside such a transaction ([`Db::write`]) changes nothing that is counted, but for the
//! jobs that a process ends when it stops, whose leases expire otherwise. It changes one row at a time, except these and clean-ups of
//! tables that are not counted: one that PostgreSQL ends in a deadlock runs again an hour later.

use std::collections::HashSet;

use database::{Db, Transaction};
use entity::{job, library_usage};
use sea_orm::sea_query::LockType;
use sea_orm::{DbErr, QueryOrder, QuerySelect};
use values::id::{FeedSourceId, UserId};
use values::plan::Plan;
use values::time::Timestamp;

use crate::idempotency_claim::ClaimId;
use errors::Error;

/// The user for whom a request changes rows.
#[derive(Clone, Debug)]
pub struct RequestOwner {
    /// The user who owns every row that the request changes.
    pub user: UserId,
    /// The user's plan at the time of the request; its limits apply to the change.
    pub plan: Plan,
    /// The request's claim on its Idempotency-Key, if it sent one.
    pub claim: Option<ClaimId>,
}

/// Begins a transaction that changes the data of this user. If the account was removed, it locks nothing.
///
/// # Errors
/// [`DbErr`] when the database fails, or another transaction of the user takes longer than the lock timeout.
pub async fn begin_owned(db: &Db, user: UserId) -> Result<Transaction, DbErr> {
    let txn = db.begin().await?;
    lock_owner(db, &txn, user).await?;
    Ok(txn)
}

/// Ends a job successfully that changed no rows of its user. It takes a transaction that locks the counters of the user, because the end of a
/// job that makes a document changes them. Does nothing if the attempt has lost its lease.
///
/// # Errors
/// The same as [`begin_owned`].
pub async fn finish_job(db: &Db, job: &job::Model, now: Timestamp) -> Result<(), DbErr> {
    let txn = begin_owned(db, job.user_id).await?;
    jobs::finish(&txn, job, now).await?;
    txn.commit().await
}

async fn lock_owner(db: &Db, txn: &Transaction, user: UserId) -> Result<(), DbErr> {
    // SQLite has one writer, so its transactions are ordered without a lock.
    if db.is_postgres() {
        // Not FOR UPDATE: the row's key does not change.
        library_usage::Entity::owned_by(user).lock(LockType::NoKeyUpdate).one(txn).await?;
    }
    Ok(())
}

/// Begins a transaction that changes rows of all followers of a source, and returns the users whose rows it locked. A user who
/// follows the source meanwhile is not among them.
///
/// # Errors
/// [`DbErr`] when the database fails, or a transaction of any of the followers takes longer than the lock timeout.
pub async fn begin_owned_by_followers(
    db: &Db,
    source: FeedSourceId,
) -> Result<(Transaction, HashSet<UserId>), DbErr> {
    let txn = db.begin().await?;
    // In the order of the ids, so that two such transactions do not wait for each other. In one statement: with one for each
    // follower, every round trip would be added to the time for which the rows before it are locked.
    let locked = library_usage::Entity::of_followers(source)
        .select_only()
        .column(library_usage::Column::UserId)
        .order_by_asc(library_usage::Column::UserId)
        .lock(LockType::NoKeyUpdate);
    let users: Vec<UserId> = locked.into_tuple().all(&txn).await?;
    Ok((txn, users.into_iter().collect()))
}

/// Begins the transaction that makes the change of a request. If the request has an Idempotency-Key, the transaction marks its
/// claim as committed, so both the change and the mark are kept, or neither.
///
/// Do not use it for writes before the actual change, such as a reservation that expires.
///
/// # Errors
/// The same as [`begin_owned`]; [`Error::StillRunning`] when the claim expired, so that another request may have the key.
pub async fn begin_request(db: &Db, owner: &RequestOwner) -> Result<Transaction, Error> {
    let txn = begin_owned(db, owner.user).await?;
    mark_claim(&txn, owner).await?;
    Ok(txn)
}

/// Begins the transaction that makes the change of a request, as [`begin_request`], and that may share its commit
/// ([`Db::begin_in_group`]): the request succeeds only if the transaction is committed.
///
/// # Errors
/// The same as [`begin_request`].
pub async fn begin_request_in_group(db: &Db, owner: &RequestOwner) -> Result<Transaction, Error> {
    let txn = db.begin_in_group().await?;
    lock_owner(db, &txn, owner.user).await?;
    mark_claim(&txn, owner).await?;
    Ok(txn)
}

async fn mark_claim(txn: &Transaction, owner: &RequestOwner) -> Result<(), Error> {
    // In the same transaction: the response is stored after the commit, and a process that died between the two would leave the
    // Idempotency-Key free, so that a retry made the change again.
    match &owner.claim {
        Some(claim) => claim.mark_committed(txn).await,
        None => Ok(()),
    }
}
