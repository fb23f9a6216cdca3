//! Fetching a feed now: it serves everybody who follows it.

use entity::feed;
use entity::id::FeedId;
use entity::scope::Scope;

use super::view::{self, FeedResponse};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Values};
use crate::ingest::queue::{self, Priority, Work};
use crate::ops::target::Target;
use crate::owned_transaction::begin_request;
use crate::perform::Operation;

/// Which.
#[derive(Debug)]
pub struct RefreshFeed(FeedId);

impl RefreshFeed {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RefreshFeed {
    type Reply = FeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, app: &App) -> Result<FeedResponse, Error> {
        let now = app.clock.now();
        let txn = begin_request(&app.db, caller).await?;
        let row = feed::Entity::one_of(caller.user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        queue::ask(&txn, caller.user, Work::Poll, row.source_id.0, Priority::Now, now).await?;
        // Nothing may be new there, and yet something of it not have come.
        queue::ask(&txn, caller.user, Work::Deliver, row.id.0, Priority::Now, now).await?;
        let feed = view::one(&txn, row).await?;
        txn.commit().await?;
        app.ingest.wake();
        Ok(FeedResponse { feed })
    }
}
