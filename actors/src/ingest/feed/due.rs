//! Enqueues the fetches that are due. Of several processes, the one that changes the source's due time enqueues the job.

use std::time::Duration;

use entity::{feed, feed_source};
use errors::Error;
use jobs::{JobKind, Priority};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::context::FeedContext;

/// Sources for which jobs are enqueued at a time. The others follow at the next run.
const BATCH_ROWS: u64 = 50;
/// A fetch that was enqueued and never ended is enqueued again after this.
const UNFINISHED_RETRY_DELAY: Duration = Duration::from_secs(3600);

/// Enqueues a job of kind [`JobKind::FetchFeed`] for each source that is due, and postpones its due time.
pub async fn enqueue_due(ctx: &FeedContext) -> Result<(), Error> {
    let now = ctx.core.clock.now();
    let mut due = feed_source::Entity::find()
        .filter(feed_source::Column::NextFetchAt.lte(now))
        .order_by_asc(feed_source::Column::NextFetchAt)
        .limit(BATCH_ROWS)
        .all(ctx.core.db.read())
        .await?;
    if due.is_empty() {
        return Ok(());
    }
    // Imports lock sources in this order too (`library::imports`), which prevents deadlocks.
    due.sort_by(|a, b| a.url.cmp(&b.url));
    let txn = ctx.core.db.begin().await?;
    for source in due {
        let postponed = feed_source::Entity::update_many()
            .col_expr(feed_source::Column::NextFetchAt, Expr::value(Some(now + UNFINISHED_RETRY_DELAY)))
            .filter(feed_source::Column::Id.eq(source.id))
            // A conditional update: another process, or a hub, may have changed the time since it was read.
            .filter(feed_source::Column::NextFetchAt.eq(source.next_fetch_at))
            .exec(&txn)
            .await?;
        if postponed.rows_affected == 0 {
            continue;
        }
        // A job belongs to a user, so one of the followers gets it; it serves all of them.
        let follower = feed::Entity::followers_of(source.id).order_by_asc(feed::Column::Id).one(&txn).await?;
        if let Some(follower) = follower {
            let (user, source) = (follower.user_id, source.id.0);
            jobs::enqueue(&txn, user, JobKind::FetchFeed, source, Priority::Backlog, now).await?;
        }
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}
