//! The end of a claim: with the response that was sent, or without one if the request may be retried.

use std::time::Duration;

use entity::idempotency::Column;
use errors::Error;
use library::idempotency_claim::ClaimId;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use tracing::warn;

use super::claim::Claim;
use super::row_state::ENDED_AT;
use super::store::Idempotency;
use super::stored_response::StoredResponse;

/// Delay before the first retry to end a claim. It doubles with each retry; all retries take about a minute.
const FIRST_RETRY: Duration = Duration::from_millis(250);
/// Retries to end a claim, after which its heartbeat ends too.
const MAX_RETRIES: u32 = 8;

#[derive(Clone, Debug)]
enum ClaimEnd {
    /// With a response; without its body if that is too large.
    Respond { status: i16, body: Option<String> },
    /// Without a response: the request may be retried, unless a change of it was committed.
    Release,
}

impl Idempotency {
    /// Stores the response that was sent; only its status if it is large. If that fails, it is retried in the background for
    /// about a minute, during which the request counts as running.
    ///
    /// # Errors
    /// [`Error`] of the first attempt to write it.
    pub async fn settle(&self, claim: Claim, stored: StoredResponse) -> Result<(), Error> {
        let body = Some(stored.body).filter(|body| body.len() <= self.bounds.max_body_bytes);
        let status = i16::try_from(stored.status).unwrap_or(i16::MAX);
        let user = claim.id.user;
        self.end(claim, ClaimEnd::Respond { status, body }).await?;
        self.bounds.enforce(&self.db, &*self.clock, user).await
    }

    /// Releases the claim, so that the same request can be retried, unless a change of the request was committed. The caller
    /// may not know whether it was: a commit that returned an error may have taken effect. If the release fails, it is
    /// retried in the background for about a minute, during which the request counts as running.
    ///
    /// # Errors
    /// [`Error`] of the first attempt to write it.
    pub async fn give_up(&self, claim: Claim) -> Result<(), Error> {
        self.end(claim, ClaimEnd::Release).await
    }

    /// Ends a claim. If that fails, it is retried in the background.
    async fn end(&self, claim: Claim, end: ClaimEnd) -> Result<(), Error> {
        let ended = self.write_end(&claim.id, &end).await;
        if ended.is_err() {
            let this = self.clone();
            // A new task works for no account. Within the account's share of the connections (`database::on_behalf_of`) the
            // retries would be refused too: the share stays closed after a lock timeout as long as another request of the
            // account writes.
            tokio::spawn(async move { this.end_later(claim, end).await });
        }
        ended
    }

    async fn write_end(&self, claim: &ClaimId, end: &ClaimEnd) -> Result<(), Error> {
        match end {
            ClaimEnd::Respond { status, body } => self.store(claim, *status, body.clone()).await,
            ClaimEnd::Release => self.release(claim).await,
        }
    }

    async fn store(&self, claim: &ClaimId, status: i16, body: Option<String>) -> Result<(), Error> {
        let txn = begin_owned(&self.db, claim.user).await?;
        claim
            .update_pending()
            .col_expr(Column::Status, Expr::value(status))
            .col_expr(Column::Body, Expr::value(body))
            .exec(&txn)
            .await?;
        Ok(txn.commit().await?)
    }

    async fn release(&self, claim: &ClaimId) -> Result<(), Error> {
        // On PostgreSQL this waits for a commit that is in progress.
        let txn = begin_owned(&self.db, claim.user).await?;
        let released = claim.delete_pending().filter(Column::IsCommitted.eq(false)).exec(&txn).await?;
        // Committed: the row stays, and a repeated request gets 409. The time says that its request has ended.
        if released.rows_affected == 0 {
            claim.update_pending().col_expr(Column::HeartbeatAt, Expr::value(ENDED_AT)).exec(&txn).await?;
        }
        Ok(txn.commit().await?)
    }

    async fn end_later(&self, claim: Claim, end: ClaimEnd) {
        let mut pause = FIRST_RETRY;
        for _ in 0..MAX_RETRIES {
            tokio::time::sleep(pause).await;
            pause *= 2;
            if self.write_end(&claim.id, &end).await.is_ok() {
                return;
            }
        }
        warn!("could not store the response of an Idempotency-Key, or release the key");
    }
}
