//! Changing what is the follower's own of a feed: title, folder, and whether pages are fetched.

use entity::id::FeedId;
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{document, entry, feed};
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};

use super::follow::tidy;
use super::kinds;
use super::view::{self, FeedResponse};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use jobs::{Priority, JobKind};
use library::library_quota::LibraryRoom;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Pages of entries that came before they were wanted whole: the newest.
const CAUGHT_UP: u64 = 200;

/// What changes; `None` leaves it, `Some(None)` empties it.
#[derive(Debug)]
pub struct ChangeFeed {
    id: FeedId,
    title: Option<Option<String>>,
    folder: Option<Option<String>>,
    full_text: Option<bool>,
}

impl ChangeFeed {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional(
            "title",
            kinds::NAME,
            "A title that replaces the feed's own. An empty string restores the feed's own title.",
        ),
        Field::optional(
            "folder",
            kinds::NAME,
            "The folder of the feed. An empty string removes it from its folder.",
        ),
        Field::optional(
            "fullText",
            Kind::Flag,
            "Whether to fetch the page of an entry if the feed contains only a summary.",
        ),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            title: values.change("title").map(|title| title.and_then(tidy)),
            folder: values.change("folder").map(|folder| folder.and_then(tidy)),
            full_text: values.flag("fullText"),
        })
    }
}

impl Operation for ChangeFeed {
    type Reply = FeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FeedResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = feed::Entity::one_of(caller.user, self.id).one(&txn).await?.ok_or(Error::not_found())?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let wanted_before = row.full_text;
        let row = self.apply(&txn, row).await?;
        room.must_hold(&txn).await?;
        if row.full_text && !wanted_before {
            catch_up(&txn, &row, now).await?;
        }
        let feed = view::one(&txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(FeedResponse { feed })
    }
}

impl ChangeFeed {
    async fn apply(self, txn: &impl ConnectionTrait, row: feed::Model) -> Result<feed::Model, Error> {
        if self.title.is_none() && self.folder.is_none() && self.full_text.is_none() {
            return Ok(row);
        }
        let mut changed = row.into_active_model();
        if let Some(title) = self.title {
            changed.title = Set(title);
        }
        if let Some(folder) = self.folder {
            changed.folder = Set(folder);
        }
        if let Some(full_text) = self.full_text {
            changed.full_text = Set(full_text);
        }
        Ok(changed.update(txn).await?)
    }
}

/// Asks for the pages of entries that are there as summaries. What was given and is not text yet asks for itself.
async fn catch_up(txn: &impl ConnectionTrait, feed: &feed::Model, now: Timestamp) -> Result<(), Error> {
    let rows = entry::Entity::owned_by(feed.user_id)
        .filter(entry::Column::FeedId.eq(feed.id))
        .filter(entry::Column::Whole.eq(false))
        .order_by_desc(entry::Column::SortedAt)
        .limit(CAUGHT_UP)
        .all(txn)
        .await?;
    let documents = rows.into_iter().filter(|row| !row.is_recording()).map(|row| row.document_id);
    let with_text = document::Entity::readable_by(feed.user_id)
        .filter(document::Column::Id.is_in(documents))
        .filter(document::Column::BookmarkId.is_null())
        .filter(document::Column::Version.gt(0));
    for document in with_text.all(txn).await? {
        jobs::enqueue(txn, feed.user_id, JobKind::Page, document.id.0, Priority::Backlog, now).await?;
    }
    Ok(())
}
