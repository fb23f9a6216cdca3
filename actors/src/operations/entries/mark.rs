//! Marks entries as read and stars them.

use entity::id::{EntryId, FeedId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{entry, feed};
use errors::Error;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ActiveModelTrait, ColumnTrait, IntoActiveModel, QueryFilter};
use serde::Serialize;
use validation::{Field, Kind, Values};

use super::publication_time;
use super::view::{self, EntryResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::target::Target;

/// The changes of one entry.
#[derive(Debug)]
pub struct ChangeEntry {
    id: EntryId,
    read: Option<bool>,
    starred: Option<bool>,
}

impl ChangeEntry {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional("read", Kind::Flag, "Whether the entry is read."),
        Field::optional("starred", Kind::Flag, "Whether the entry is starred."),
    ];

    /// Reads path and body.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the id is malformed.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self { id: target.id(0)?, read: values.flag("read"), starred: values.flag("starred") })
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
            row = changed.update(&txn).await?;
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

impl MarkEntries {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional("feedId", Kind::Id, "Marks only entries of this feed."),
        Field::optional("before", Kind::Time, "Marks only entries published before this time."),
    ];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self { feed: values.id("feedId").map(FeedId), before: values.time("before") })
    }
}

/// Number of entries that were marked as read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MarkEntriesResponse {
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
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let marked = unread.exec(&txn).await?.rows_affected;
        txn.commit().await?;
        Ok(MarkEntriesResponse { marked })
    }
}
