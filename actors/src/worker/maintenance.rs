//! The clean-ups that run at the start and every hour after.

use std::time::Duration;

use entity::time::Timestamp;
use entity::{bookmark, document};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use tracing::warn;

use super::{feed, media, queue};
use crate::ai::answers;
use crate::ingest::context::IngestContext;
use errors::Error;
use library::owned_transaction::begin_owned;
use library::uploads;
use library::{exports, imports};
use crate::auth::sessions;

const DONE_JOBS: Duration = Duration::from_secs(24 * 3600);
const DEAD_JOBS: Duration = Duration::from_secs(90 * 24 * 3600);
const AT_ONCE: u64 = 500;

/// All of them, one after another; one that fails keeps none of the others from its work.
pub async fn run(ctx: &IngestContext) {
    let now = ctx.core.clock.now();
    told("sessions", sessions::sweep(ctx).await);
    told("stored answers", ctx.idempotency.sweep(now).await);
    told("claims of answers", answers::sweep(&ctx.core.db, now).await);
    told("ended jobs", jobs::sweep(&ctx.core.db, now - DONE_JOBS, now - DEAD_JOBS).await.map_err(Error::from));
    told("sources of feeds", feed::source::sweep(ctx.core.db.write()).await);
    told("uploads", uploads::sweep(ctx).await);
    told("fetched recordings", media::fetched::sweep(ctx).await);
    told("exports", exports::sweep(ctx).await);
    told("files of imports", imports::sweep(ctx).await);
    told("deleted bookmarks", deleted_bookmarks(ctx).await);
}

fn told<E: Into<Error>>(what: &'static str, done: Result<(), E>) {
    if let Err(error) = done {
        let error: Error = error.into();
        warn!(cause = error.chain(), what, "could not finish a clean-up");
    }
}

/// Removes bookmarks that can be restored no more, with their documents, marks and notes.
async fn deleted_bookmarks(ctx: &IngestContext) -> Result<(), Error> {
    let now = ctx.core.clock.now();
    let mut after = None;
    loop {
        let mut past =
            bookmark::Entity::past_restore_period(now).order_by_asc(bookmark::Column::Id).limit(AT_ONCE);
        if let Some(after) = after {
            past = past.filter(bookmark::Column::Id.gt(after));
        }
        let some = past.all(ctx.core.db.read()).await?;
        let Some(last) = some.last() else { return Ok(()) };
        after = Some(last.id);
        for gone in some {
            told("a deleted bookmark", deleted_bookmark(ctx, &gone, now).await);
        }
    }
}

async fn deleted_bookmark(ctx: &IngestContext, gone: &bookmark::Model, now: Timestamp) -> Result<(), Error> {
    let of_bookmark = document::Column::BookmarkId.eq(gone.id);
    let documents = document::Entity::of(gone.user_id).filter(of_bookmark.clone()).all(ctx.core.db.read()).await?;
    for document in documents {
        ctx.retrieval.forget(gone.user_id, document.id).await?;
    }
    let txn = begin_owned(&ctx.core.db, gone.user_id).await?;
    document::Entity::delete_many()
        .filter(document::Column::UserId.eq(gone.user_id))
        .filter(of_bookmark)
        // Unless it was restored at its last moment.
        .filter(document::Column::HiddenAt.is_not_null())
        .exec(&txn)
        .await?;
    // The document of an entry stays with its feed.
    bookmark::Entity::delete_many()
        .filter(bookmark::Column::UserId.eq(gone.user_id))
        .filter(bookmark::Column::Id.eq(gone.id))
        .filter(bookmark::Column::DeletedAt.lt(now - bookmark::RESTORE_PERIOD))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}
