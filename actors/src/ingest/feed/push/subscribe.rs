//! Asks a hub for a subscription, and for the next one before it ends.

use std::time::Duration;

use entity::feed_push::{Column, Entity, Model};
use entity::id::FeedSourceId;
use entity::kind::PushState;
use entity::time::Timestamp;
use entity::{feed, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use web::PageUrl;

use super::Push;
use crate::ingest::context::IngestContext;
use errors::Error;
use crate::ingest::attempt::JobError;
use jobs::{MOST_ATTEMPTS, Priority, JobKind};

/// Hubs asked at once: the others come with the next look.
const AT_ONCE: u64 = 50;
/// A subscription that was asked for and never came to an end is asked for again after this.
const PROVISIONAL: Duration = Duration::from_secs(24 * 3600);
/// A hub that did not want to is asked again after this.
pub(super) const REFUSED: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long a subscription should last; the hub decides.
const WANTED: Duration = Duration::from_secs(10 * 24 * 3600);

/// Asks for the subscriptions whose time has come. Of several nodes one asks: whoever moves the time on.
///
/// # Errors
/// The database.
pub async fn ask(ctx: &IngestContext) -> Result<(), Error> {
    if ctx.push.is_none() {
        return Ok(());
    }
    let now = ctx.core.clock.now();
    let due = Entity::find().filter(Column::RenewAt.lte(now)).order_by_asc(Column::RenewAt).limit(AT_ONCE);
    let due = due.all(ctx.core.db.read()).await?;
    if due.is_empty() {
        return Ok(());
    }
    let txn = ctx.core.db.begin().await?;
    for row in due {
        let moved_on = Entity::update_many()
            .col_expr(Column::RenewAt, Expr::value(now + PROVISIONAL))
            .filter(Column::SourceId.eq(row.source_id))
            .filter(Column::RenewAt.eq(row.renew_at))
            .exec(&txn)
            .await?;
        // The work is somebody's; it serves all.
        let follower = feed::Entity::followers_of(row.source_id).order_by_asc(feed::Column::Id);
        if moved_on.rows_affected > 0
            && let Some(follower) = follower.one(&txn).await?
        {
            let source = row.source_id.0;
            jobs::enqueue(&txn, follower.user_id, JobKind::Subscribe, source, Priority::Backlog, now).await?;
        }
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Runs the job.
///
/// # Errors
/// [`JobError`], as every job.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let source = FeedSourceId(job.subject);
    let found = Entity::find_by_id(source).one(ctx.core.db.read()).await?;
    let (Some(row), Some(push)) = (found, &ctx.push) else {
        jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
        return Ok(());
    };
    let asked = match PageUrl::parse(&row.hub) {
        Ok(hub) => ctx.fetcher.post(&hub, &form(push, &row)).await.map_err(|error| {
            let reason = format!("the subscription at the hub failed: {error}");
            (reason, error.is_permanent(), error.retry_after())
        }),
        Err(refusal) => Err((format!("the hub was rejected: {refusal}"), true, None)),
    };
    match asked {
        Ok(()) => settle(ctx, job, &row, PushState::Requested).await,
        // One that never answers is left alone for as long as one that does not want to.
        Err((_, permanent, _)) if permanent || job.attempts >= MOST_ATTEMPTS => {
            settle(ctx, job, &row, PushState::Refused).await
        }
        Err((reason, _, after)) => Err(JobError::Transient { reason, after }),
    }
}

/// What a hub is asked with (WebSub, section 5.1).
fn form(push: &Push, row: &Model) -> Vec<(&'static str, String)> {
    vec![
        ("hub.mode", "subscribe".to_owned()),
        ("hub.topic", row.topic.clone()),
        ("hub.callback", push.callback(row.source_id, &row.hub)),
        ("hub.secret", push.secret(row.source_id, &row.hub)),
        ("hub.lease_seconds", WANTED.as_secs().to_string()),
    ]
}

async fn settle(ctx: &IngestContext, job: &job::Model, row: &Model, to: PushState) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let txn = ctx.core.db.begin().await?;
    if jobs::finish(&txn, job, now).await? {
        let renew = if to == PushState::Refused { now + REFUSED } else { now + PROVISIONAL };
        // A hub may have asked back already: that counts for more.
        state(&txn, row, to, renew).await?;
        txn.commit().await?;
    }
    Ok(())
}

async fn state(
    txn: &impl ConnectionTrait,
    row: &Model,
    to: PushState,
    renew_at: Timestamp,
) -> Result<(), DbErr> {
    Entity::update_many()
        .col_expr(Column::State, Expr::value(to))
        .col_expr(Column::RenewAt, Expr::value(renew_at))
        .filter(Column::SourceId.eq(row.source_id))
        .filter(Column::Hub.eq(&row.hub))
        .filter(Column::Topic.eq(&row.topic))
        .filter(Column::State.ne(PushState::Active))
        .exec(txn)
        .await
        .map(drop)
}
