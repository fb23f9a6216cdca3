//! Compares an index that is doubted with the database, and follows the rebuild of what it lost.

use std::time::Duration;

use search::index::AuditReason;
use tokio::time::Instant;
use tracing::info;

use super::watch::{IndexWatch, Suspicion, Watched, has_passed};
use super::{audit, rows};
use crate::ingest::context::IngestContext;
use errors::Error;
use crate::retrieval::Completeness;

/// A comparison that failed is begun again after this.
const COMPARISON_RETRY: Duration = Duration::from_secs(60);
/// A rebuild that does not move for so long is asked for again.
const STUCK_AFTER: Duration = Duration::from_secs(60);

impl IndexWatch {
    /// Compares the index with the database where it is doubted, unless a comparison failed a moment ago.
    pub(super) async fn compare_if_doubted(&self, ctx: &IngestContext, watched: &mut Watched) -> Result<(), Error> {
        let now = ctx.core.clock.elapsed();
        if let Some(suspicion) = watched.suspicion
            && has_passed(watched.comparison_failed_at, COMPARISON_RETRY, now)
        {
            let compared = self.compare_passages(ctx, watched, suspicion).await;
            watched.comparison_failed_at = compared.is_err().then_some(now);
            compared?;
        }
        Ok(())
    }

    /// Compares the index with the database. What it finds is being mended when this returns.
    async fn compare_passages(
        &self,
        ctx: &IngestContext,
        watched: &mut Watched,
        suspicion: Suspicion,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let findings = audit::compare(ctx, suspicion.stale).await?;
        watched.suspicion = None;
        if suspicion.reason != AuditReason::CountMismatch {
            // Another generation: whatever else bears the old one is not this index.
            watched.marker = None;
        }
        self.raise_marker(&ctx.core.db, watched, &*ctx.core.clock).await;
        let lost = rows::count_lost(ctx.core.db.read()).await?;
        ctx.retrieval.set_completeness(Completeness::Complete.with_documents_left(lost));
        info!(
            documents_lost = findings.documents_lost,
            passages_removed = findings.passages_removed,
            duration_ms = begun.elapsed().as_millis(),
            "compared the passage index with the database"
        );
        Ok(())
    }

    /// Tells how far a rebuild is, and asks again for what no job stands for.
    pub(super) async fn follow_rebuild(&self, ctx: &IngestContext, watched: &mut Watched) -> Result<(), Error> {
        let before = ctx.retrieval.completeness();
        if !matches!(before, Completeness::Rebuilding { .. }) {
            return Ok(());
        }
        let now = ctx.core.clock.elapsed();
        let lost = rows::count_lost(ctx.core.db.read()).await?;
        ctx.retrieval.set_completeness(before.with_documents_left(lost));
        if lost == 0 {
            info!("the passage index holds every document again");
        } else if lost != watched.left.0 {
            watched.left = (lost, now);
        } else if has_passed(Some(watched.left.1), STUCK_AFTER, now) {
            watched.left.1 = now;
            rows::ask_for_lost(&ctx.core.db, ctx.retrieval.model().is_some(), ctx.core.clock.now()).await?;
            ctx.job_signal.notify();
        }
        Ok(())
    }
}
