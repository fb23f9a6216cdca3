//! Asks for the fetches whose time has come. Of several nodes one asks: whoever moves the source's time on.

use std::time::Duration;

use entity::{feed, feed_source};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use crate::ingest::context::IngestContext;
use errors::Error;
use jobs::{Priority, JobKind};

/// Sources asked for at once: many that are due together come one lot after the other.
const AT_ONCE: u64 = 50;
/// A fetch that was asked for and never came to an end is asked for again after this.
const PROVISIONAL: Duration = Duration::from_secs(3600);

/// Asks for them.
pub async fn ask(ctx: &IngestContext) -> Result<(), Error> {
    let now = ctx.core.clock.now();
    let mut due = feed_source::Entity::find()
        .filter(feed_source::Column::NextFetchAt.lte(now))
        .order_by_asc(feed_source::Column::NextFetchAt)
        .limit(AT_ONCE)
        .all(ctx.core.db.read())
        .await?;
    if due.is_empty() {
        return Ok(());
    }
    // In the order in which imports lock sources (`imports::take`), or they would wait for each other.
    due.sort_by(|a, b| a.url.cmp(&b.url));
    let txn = ctx.core.db.begin().await?;
    for source in due {
        let moved_on = feed_source::Entity::update_many()
            .col_expr(feed_source::Column::NextFetchAt, Expr::value(Some(now + PROVISIONAL)))
            .filter(feed_source::Column::Id.eq(source.id))
            .filter(feed_source::Column::NextFetchAt.eq(source.next_fetch_at))
            .exec(&txn)
            .await?;
        if moved_on.rows_affected == 0 {
            continue;
        }
        // The work is somebody's; it serves all.
        let follower = feed::Entity::followers_of(source.id).order_by_asc(feed::Column::Id).one(&txn).await?;
        if let Some(follower) = follower {
            jobs::enqueue(&txn, follower.user_id, JobKind::FetchFeed, source.id.0, Priority::Backlog, now).await?;
        }
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}
