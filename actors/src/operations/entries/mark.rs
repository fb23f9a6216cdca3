//! Marks entries as read and stars them.

use entity::{entry, feed};
use errors::Error;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, IntoActiveModel, QueryFilter};
use serde::Serialize;
use validation::{Flag, Id, Time, request};
use values::id::{EntryId, FeedId};
use values::scope::Scope;
use values::time::Timestamp;

use super::publication_time;
use super::view::{self, EntryResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Marks one entry as read or unread, and stars it or removes its star.
#[derive(Debug)]
pub struct ChangeEntry {
    id: EntryId,
    read: Option<bool>,
    starred: Option<bool>,
}

request! {
    /// The changes of an entry.
    pub struct ChangeEntryRequest {
        /// Whether the entry is read.
        pub read?: Flag,
        /// Whether the entry is starred.
        pub starred?: Flag,
    }
}

impl FromRequest for ChangeEntry {
    type Request = ChangeEntryRequest;

    fn from_request(target: &Target, request: ChangeEntryRequest) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            read: request.read.map(Flag::into_inner),
            starred: request.starred.map(Flag::into_inner),
        })
    }
}

impl Operation for ChangeEntry {
    type Reply = EntryResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<EntryResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let mut row =
            entry::Entity::one_of(caller.user, self.id).one(&txn).await?.ok_or(Error::not_found())?;
        if self.read.is_some() || self.starred.is_some() {
            let mut changed = row.into_active_model();
            // Only the columns of the request are written: another request may change the others at the same time.
            changed.read = self.read.map_or(changed.read, Set);
            changed.starred = self.starred.map_or(changed.starred, Set);
            row = entry::Entity::update_owned_row(&txn, caller.user, changed).await?;
        }
        let entry = view::load_one(&txn, row).await?;
        txn.commit().await?;
        Ok(EntryResponse { entry })
    }
}

/// Marks entries as read: all, those of one feed, or those that were published before a time.
#[derive(Debug)]
pub struct MarkEntries {
    feed: Option<FeedId>,
    before: Option<Timestamp>,
}

request! {
    /// The entries to mark as read. Without fields, all are marked.
    pub struct MarkEntriesRequest {
        /// Marks only entries of this feed.
        pub feed_id?: Id<FeedId>,
        /// Marks only entries published before this time.
        pub before?: Time,
    }
}

impl FromRequest for MarkEntries {
    type Request = MarkEntriesRequest;

    fn from_request(_: &Target, request: MarkEntriesRequest) -> Result<Self, Error> {
        Ok(Self { feed: request.feed_id.map(Id::into_inner), before: request.before.map(Time::into_inner) })
    }
}

/// Number of entries that were marked as read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MarkEntriesResponse {
    /// Number of entries that were unread before.
    marked: u64,
}

impl Operation for MarkEntries {
    type Reply = MarkEntriesResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<MarkEntriesResponse, Error> {
        if let Some(id) = self.feed {
            feed::Entity::one_of(caller.user, id).one(ctx.core.db.read()).await?.ok_or(Error::not_found())?;
        }
        let mut unread = entry::Entity::update_owned(caller.user)
            .col_expr(entry::Column::Read, Expr::value(true))
            .filter(entry::Column::Read.eq(false));
        if let Some(feed) = self.feed {
            unread = unread.filter(entry::Column::FeedId.eq(feed));
        }
        if let Some(before) = self.before {
            unread = unread.filter(publication_time().lt(before));
        }
        // One statement, but in the transaction of the request, which also marks its Idempotency-Key.
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let marked = unread.exec(&txn).await?.rows_affected;
        txn.commit().await?;
        Ok(MarkEntriesResponse { marked })
    }
}
