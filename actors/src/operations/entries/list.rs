//! Lists and shows entries.

use entity::{entry, feed};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};
use validation::{Flag, Id, NoFields, Time, request};
use values::id::{EntryId, FeedId};
use values::scope::Scope;
use values::time::Timestamp;

use super::publication_time;
use super::view::{self, EntryResponse, EntryView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;

/// Entries of a page if the request names no limit.
const DEFAULT_LIMIT: u64 = 50;

/// Lists the entries of followed feeds that match all filters, newest first.
#[derive(Debug)]
pub struct ListEntries(ListEntriesRequest);

request! {
    /// A page of the entries that match all filters.
    pub struct ListEntriesRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of entries. Default 50.
        pub limit?: PageLimit,
        /// Returns entries of this feed.
        pub feed_id?: Id<FeedId>,
        /// Returns unread entries (`true`) or read ones (`false`).
        pub unread?: Flag,
        /// Returns starred entries (`true`) or others (`false`).
        pub starred?: Flag,
        /// Returns entries published after this time; entries without a publication time count from their arrival.
        pub after?: Time,
        /// Returns entries published before this time; entries without a publication time count from their arrival.
        pub before?: Time,
    }
}

impl FromRequest for ListEntries {
    type Request = ListEntriesRequest;

    fn from_request(_: &Target, request: ListEntriesRequest) -> Result<Self, Error> {
        Ok(Self(request))
    }
}

/// A page of entries, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListEntriesResponse {
    entries: Vec<EntryView>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// The last row of a page: its position in the order, in milliseconds, and its id.
#[derive(Serialize, Deserialize)]
struct EntryPosition(i64, EntryId);

impl Operation for ListEntries {
    type Reply = ListEntriesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadEntries];

    fn count(reply: &ListEntriesResponse) -> Option<usize> {
        Some(reply.entries.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListEntriesResponse, Error> {
        let (user, db) = (caller.user, ctx.core.db.read());
        // Without `..`, so that a filter that is not part of the name does not compile.
        let ListEntriesRequest { cursor, limit, feed_id, unread, starred, after, before } = self.0;
        let name = ListName::new("entries")
            .with("feedId", feed_id)
            .with("unread", unread)
            .with("starred", starred)
            .with("after", after)
            .with("before", before);
        let page = PageRequest::new(limit, cursor, DEFAULT_LIMIT);
        let list = page.of_list(ctx, caller, name);
        let last: Option<EntryPosition> = list.position()?;
        if let Some(id) = feed_id {
            feed::Entity::one_of(user, id.into_inner()).one(db).await?.ok_or(Error::not_found())?;
        }
        let filter = Condition::all()
            .add_option(feed_id.map(|feed| entry::Column::FeedId.eq(feed.into_inner())))
            .add_option(unread.map(|unread| entry::Column::Read.eq(!unread.into_inner())))
            .add_option(starred.map(|starred| entry::Column::Starred.eq(starred.into_inner())))
            .add_option(after.map(|after| publication_time().gt(after.into_inner())))
            .add_option(before.map(|before| publication_time().lt(before.into_inner())));
        let mut query = entry::Entity::owned_by(user).filter(filter);
        if let Some(EntryPosition(at, id)) = last {
            let at = Timestamp::from_millis(at);
            let same = Condition::all().add(entry::Column::SortedAt.eq(at)).add(entry::Column::Id.lt(id));
            query = query.filter(Condition::any().add(entry::Column::SortedAt.lt(at)).add(same));
        }
        // Not by the publication time: an entry that is dated in the future would stay first until then.
        let query = query.order_by_desc(entry::Column::SortedAt).order_by_desc(entry::Column::Id);
        let position = |row: &entry::Model| EntryPosition(row.sorted_at.millis(), row.id);
        let ListPage { rows, next_cursor } = list.fetch(query, position).await?;
        Ok(ListEntriesResponse { entries: view::load_many(db, user, rows).await?, next_cursor })
    }
}

/// Shows one entry of a followed feed.
#[derive(Debug)]
pub struct ShowEntry(EntryId);

impl FromRequest for ShowEntry {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowEntry {
    type Reply = EntryResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadEntries];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<EntryResponse, Error> {
        let row = entry::Entity::one_of(caller.user, self.0).one(ctx.core.db.read()).await?;
        let entry = view::load_one(ctx.core.db.read(), row.ok_or(Error::not_found())?).await?;
        Ok(EntryResponse { entry })
    }
}
