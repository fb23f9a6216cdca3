//! Asks hubs for subscriptions, and renews them before they end.

use std::time::Duration;

use entity::feed_push::{Column, Entity, Model};
use entity::{feed, job};
use errors::Error;
use jobs::{JobError, JobKind, MAX_ATTEMPTS, Priority};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use values::id::FeedSourceId;
use values::kind::PushState;
use values::time::Timestamp;
use web::PageUrl;

use super::REFUSED_RETRY_DELAY;
use crate::ingest::feed::context::FeedContext;
use crate::ingest::feed::websub_secrets::WebSubSecrets;

/// Hubs for which jobs are enqueued at a time. The others follow at the next run.
const BATCH_ROWS: u64 = 50;
/// A subscription that was requested and not confirmed is requested again after this.
const UNCONFIRMED_RETRY_DELAY: Duration = Duration::from_secs(24 * 3600);
/// The lifetime that is requested. The hub may grant another one.
const REQUESTED_LEASE: Duration = Duration::from_secs(10 * 24 * 3600);

/// Enqueues jobs for the subscriptions that are due. Of several processes, the one that changes
/// the row's due time enqueues the job.
pub async fn enqueue_due(ctx: &FeedContext) -> Result<(), Error> {
    if ctx.websub_secrets.is_none() {
        return Ok(());
    }
    let now = ctx.core.clock.now();
    let due = Entity::find().filter(Column::RenewAt.lte(now)).order_by_asc(Column::RenewAt).limit(BATCH_ROWS);
    let due = due.all(ctx.core.db.read()).await?;
    if due.is_empty() {
        return Ok(());
    }
    let txn = ctx.core.db.begin().await?;
    for row in due {
        let postponed = Entity::update_many()
            .col_expr(Column::RenewAt, Expr::value(now + UNCONFIRMED_RETRY_DELAY))
            .filter(Column::SourceId.eq(row.source_id))
            .filter(Column::RenewAt.eq(row.renew_at))
            .exec(&txn)
            .await?;
        // A job belongs to a user, so one of the followers gets it; it serves all of them.
        let follower = feed::Entity::followers_of(row.source_id).order_by_asc(feed::Column::Id);
        if postponed.rows_affected > 0
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

/// Runs the job that asks the hub of a source for a subscription.
///
/// # Errors
/// [`JobError::Transient`] when the hub does not answer and attempts are left.
pub async fn run(ctx: &FeedContext, job: &job::Model) -> Result<(), JobError> {
    let source = FeedSourceId(job.subject);
    let found = Entity::find_by_id(source).one(ctx.core.db.read()).await?;
    let (Some(row), Some(secrets)) = (found, &ctx.websub_secrets) else {
        jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
        return Ok(());
    };
    let requested = match PageUrl::parse(&row.hub) {
        Ok(hub) => ctx.fetcher.post(&hub, &request_form(secrets, &row)).await.map_err(|error| {
            let reason = format!("the subscription at the hub failed: {error}");
            (reason, error.is_permanent(), error.retry_after())
        }),
        Err(rejection) => Err((format!("the hub was rejected: {rejection}"), true, None)),
    };
    match requested {
        Ok(()) => finish_as(ctx, job, &row, PushState::Requested).await,
        // A hub that never answers is asked again as late as one that refuses.
        Err((_, permanent, _)) if permanent || job.attempts >= MAX_ATTEMPTS => {
            finish_as(ctx, job, &row, PushState::Refused).await
        }
        Err((reason, _, after)) => Err(JobError::Transient { reason, after }),
    }
}

/// Returns the fields of a subscription request (WebSub, section 5.1).
fn request_form(secrets: &WebSubSecrets, row: &Model) -> Vec<(&'static str, String)> {
    vec![
        ("hub.mode", "subscribe".to_owned()),
        ("hub.topic", row.topic.clone()),
        ("hub.callback", secrets.callback_url(row.source_id, &row.hub)),
        ("hub.secret", secrets.secret(row.source_id, &row.hub)),
        ("hub.lease_seconds", REQUESTED_LEASE.as_secs().to_string()),
    ]
}

async fn finish_as(
    ctx: &FeedContext,
    job: &job::Model,
    row: &Model,
    state: PushState,
) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let txn = ctx.core.db.begin().await?;
    if jobs::finish(&txn, job, now).await? {
        let refused = state == PushState::Refused;
        let renew_at = now + if refused { REFUSED_RETRY_DELAY } else { UNCONFIRMED_RETRY_DELAY };
        set_state(&txn, row, state, renew_at).await?;
        txn.commit().await?;
    }
    Ok(())
}

/// Sets the state of a subscription.
async fn set_state(
    txn: &impl ConnectionTrait,
    row: &Model,
    state: PushState,
    renew_at: Timestamp,
) -> Result<(), DbErr> {
    Entity::update_many()
        .col_expr(Column::State, Expr::value(state))
        .col_expr(Column::RenewAt, Expr::value(renew_at))
        .filter(Column::SourceId.eq(row.source_id))
        .filter(Column::Hub.eq(&row.hub))
        .filter(Column::Topic.eq(&row.topic))
        // The hub may have confirmed the subscription before its response to the request was read.
        .filter(Column::State.ne(PushState::Active))
        .exec(txn)
        .await
        .map(drop)
}
