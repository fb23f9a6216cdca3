//! Lists and shows entries.

use entity::{entry, feed};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::{ConnectionTrait, FromQueryResult};
use serde::{Deserialize, Serialize};
use validation::{Flag, Id, NoFields, Time, request};
use values::id::{EntryId, FeedId};
use values::scope::Scope;
use values::time::Timestamp;

use super::filter::EntryFilter;
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
        let filter = EntryFilter {
            user,
            feeds: feed_id.map(|id| vec![id.into_inner()]),
            read: unread.map(|unread| !unread.into_inner()),
            starred: starred.map(Flag::into_inner),
            after: after.map(Time::into_inner),
            before: before.map(Time::into_inner),
            up_to: None,
        };
        let last = last.map(|EntryPosition(at, id)| (Timestamp::from_millis(at), id));
        let backend = db.get_database_backend();
        let statement = filter.page(last, list.fetch_limit(), backend);
        let rows = entry::Model::find_by_statement(backend.build(&statement)).all(db).await?;
        let position = |row: &entry::Model| EntryPosition(row.sorted_at.millis(), row.id);
        let ListPage { rows, next_cursor } = list.page(rows, position);
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
