//! Bounds the number of connections that the writes of one account hold.
//!
//! A write that waits for a lock of PostgreSQL keeps its connection. Without a bound, the requests of one account on a locked table
//! would hold all connections of a pool, and the writes of all other accounts would be refused.

use std::time::Duration;

use concurrency::KeyedSemaphore;
use sea_orm::{ConnAcquireErr, DbErr};
use tokio::sync::OwnedSemaphorePermit;
use values::id::UserId;

use super::fault::is_unavailable;

tokio::task_local! {
    /// The account for which the current task works.
    static ACCOUNT: UserId;
}

/// Runs work for an account. On PostgreSQL the writes that it begins in this task hold at most the account's share of the connections of a
/// pool. A write for which none of them is free in time fails as if the whole pool were in use.
pub async fn on_behalf_of<T>(account: UserId, work: impl Future<Output = T>) -> T {
    // Boxed, because the future of an operation is large and each wrapper around it would be as large on the stack.
    ACCOUNT.scope(account, Box::pin(work)).await
}

/// The shares of all accounts in one pool.
#[derive(Clone, Debug)]
pub(super) struct AccountShares {
    max_wait: Duration,
    shares: KeyedSemaphore<UserId>,
}

impl AccountShares {
    /// Shares of a third of a pool, for a connection of which a write waits for `max_wait` at most.
    pub fn of_pool(connections: u32, max_wait: Duration) -> Self {
        // A third: two accounts whose writes wait for locks leave connections to all others.
        Self { max_wait, shares: KeyedSemaphore::new((connections as usize).div_ceil(3)) }
    }

    /// Waits for a connection of the account's share. Returns `None` for work without an account, which is not bounded.
    pub async fn acquire(&self) -> Result<Option<SharePermit>, DbErr> {
        let Ok(account) = ACCOUNT.try_with(|account| *account) else { return Ok(None) };
        match tokio::time::timeout(self.max_wait, self.shares.acquire(account)).await {
            Ok(Ok(permit)) => Ok(Some(SharePermit(permit))),
            Ok(Err(_)) | Err(_) => Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
        }
    }
}

/// The permit to hold a connection of an account's share. It is released when it is dropped.
#[derive(Debug)]
pub(super) struct SharePermit(OwnedSemaphorePermit);

impl SharePermit {
    /// Inspects an error of the write. If the database is unreachable or a lock was not free in time, other writes of the account that wait
    /// for a connection would wait as long. They are refused immediately, and so are new ones until the whole share is free again.
    pub fn record(&self, error: &DbErr) {
        if is_unavailable(error) {
            // The semaphore is closed, not only drained, so that waiters are woken with an error. `KeyedSemaphore` creates a new one for
            // the account once nothing holds this one.
            self.0.semaphore().close();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};
    use uuid::Uuid;

    use super::*;

    const NO_TIMEOUT: Duration = Duration::from_secs(3600);

    fn account(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn account_gets_a_third_of_a_pool() {
        let shares = AccountShares::of_pool(9, NO_TIMEOUT);
        let held = on_behalf_of(account(1), async {
            let mut held = Vec::new();
            for _ in 0..3 {
                held.push(shares.acquire().await.unwrap());
            }
            held
        })
        .await;

        assert!(on_behalf_of(account(1), shares.acquire()).now_or_never().is_none());
        assert!(on_behalf_of(account(2), shares.acquire()).now_or_never().is_some());
        drop(held);
        assert!(on_behalf_of(account(1), shares.acquire()).now_or_never().is_some());
    }

    #[tokio::test]
    async fn write_beyond_the_share_is_refused_after_a_wait() {
        let shares = AccountShares::of_pool(3, Duration::from_millis(5));
        let _held = on_behalf_of(account(1), shares.acquire()).await.unwrap();

        let refused = on_behalf_of(account(1), shares.acquire()).await;

        assert!(matches!(refused, Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))));
    }

    #[tokio::test]
    async fn writes_waiting_behind_a_failed_one_are_refused() {
        const TIMEOUT: DbErr = DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
        let shares = AccountShares::of_pool(1, NO_TIMEOUT);
        let failing = on_behalf_of(account(1), shares.acquire()).await.unwrap().unwrap();
        let mut waiting = Box::pin(on_behalf_of(account(1), shares.acquire()));
        assert!(poll!(&mut waiting).is_pending());

        failing.record(&TIMEOUT);

        assert!(matches!(waiting.now_or_never(), Some(Err(error)) if error == TIMEOUT));
        let new = on_behalf_of(account(1), shares.acquire());
        assert!(matches!(new.now_or_never(), Some(Err(error)) if error == TIMEOUT));
        drop(failing);
        assert!(on_behalf_of(account(1), shares.acquire()).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn work_for_no_account_is_not_bounded() {
        let shares = AccountShares::of_pool(1, NO_TIMEOUT);

        let held = [shares.acquire().await.unwrap(), shares.acquire().await.unwrap()];

        assert!(held.iter().all(Option::is_none));
    }
}
