//! Changes what a follower may set of a feed: title, folder, and whether pages are fetched.

use entity::feed;
use errors::{Error, code};
use library::feeds::enqueue_missing_pages;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use sea_orm::ActiveValue::Set;
use sea_orm::{ConnectionTrait, IntoActiveModel};
use validation::{Flag, request};
use values::id::FeedId;
use values::scope::Scope;

use super::fields::{FeedName, trim_name};
use super::view::{self, FeedResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Changes the given fields of a feed; `None` keeps a field, `Some(None)` removes its value.
#[derive(Debug)]
pub struct ChangeFeed {
    id: FeedId,
    title: Option<Option<String>>,
    folder: Option<Option<String>>,
    full_text: Option<bool>,
}

request! {
    /// The changes of a feed.
    pub struct ChangeFeedRequest {
        /// A title that replaces the feed's own. An empty string restores the feed's own title.
        pub title~: FeedName,
        /// The folder of the feed. An empty string removes it from its folder.
        pub folder~: FeedName,
        /// Whether to fetch the page of an entry if the feed contains only a summary.
        pub full_text?: Flag,
    }
}

impl FromRequest for ChangeFeed {
    type Request = ChangeFeedRequest;

    fn from_request(target: &Target, request: ChangeFeedRequest) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            title: request.title.and_then(trim_name).into_change(),
            folder: request.folder.and_then(trim_name).into_change(),
            full_text: request.full_text.map(Flag::into_inner),
        })
    }
}

impl Operation for ChangeFeed {
    type Reply = FeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FeedResponse, Error> {
        let (now, owner) = (ctx.core.clock.now(), caller.owner());
        let txn = begin_request(&ctx.core.db, &owner).await?;
        let row = feed::Entity::one_of(caller.user, self.id).one(&txn).await?.ok_or(Error::not_found())?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &owner).await?;
        let had_full_text = row.full_text;
        let row = self.apply(&txn, row).await?;
        room.must_hold(&txn).await?;
        // Later entries are fetched when they arrive.
        if row.full_text && !had_full_text {
            enqueue_missing_pages(&txn, &row, now).await?;
        }
        let feed = view::load_one(&txn, row).await?;
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
        let user = row.user_id;
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
        Ok(feed::Entity::update_owned_row(txn, user, changed).await?)
    }
}
