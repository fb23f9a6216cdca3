//! The entries of a feed, of a folder or of all feeds, with the titles of their feeds, as the page of feeds lists them.

use std::cmp::Reverse;

use database::tested_only;
use entity::{entry, feed};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::sea_query::SelectStatement;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, ExprTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use validation::{Choice, DisplayName, Id, choices, request};
use values::id::{EntryId, FeedId, UserId};
use values::scope::Scope;
use values::time::Timestamp;

use super::filter::{EntryFilter, ListedEntry};
use super::view::{self, EntryView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::feeds::{feeds_in, load_titles};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;

/// Entries of a page if the request names no limit.
const DEFAULT_LIMIT: u64 = 50;
/// Feeds whose entries are merged by one statement. SQLite merges at most 500 parts, of which a feed has two.
const FEEDS_PER_STATEMENT: usize = 40;
/// New entries that are counted.
const MAX_COUNTED_ENTRIES: u64 = 100;

choices! {
    /// Which entries are listed.
    pub enum StreamShow {
        /// Those that are not read.
        Unread = "unread",
        /// All.
        All = "all",
        /// Those with a star, read or not.
        Starred = "starred",
    }
}

/// The feeds and marks of the listed entries.
#[derive(Debug)]
pub struct StreamSelection {
    /// One feed.
    pub feed: Option<FeedId>,
    /// All feeds of a folder; not together with a feed.
    pub folder: Option<String>,
    /// Which of their entries.
    pub show: StreamShow,
}

impl StreamSelection {
    /// Returns filters that select the entries, each for some of the feeds. None if the folder has no feeds.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the user does not follow the feed.
    pub(super) async fn filters(
        &self,
        db: &impl ConnectionTrait,
        user: UserId,
    ) -> Result<Vec<EntryFilter>, Error> {
        if let Some(id) = self.feed {
            feed::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?;
        }
        let of_feeds = |feeds| EntryFilter {
            user,
            feeds,
            read: (self.show == StreamShow::Unread).then_some(false),
            starred: (self.show == StreamShow::Starred).then_some(true),
            after: None,
            before: None,
            up_to: None,
        };
        let Some(folder) = &self.folder else {
            return Ok(vec![of_feeds(self.feed.map(|feed| vec![feed]))]);
        };
        let feeds = feeds_in(db, user, folder).await?;
        Ok(feeds.chunks(FEEDS_PER_STATEMENT).map(|feeds| of_feeds(Some(feeds.to_vec()))).collect())
    }
}

/// Lists entries, newest first, as the page of feeds shows them.
#[derive(Debug)]
pub struct ListStream(ListStreamRequest);

request! {
    /// A page of entries.
    pub struct ListStreamRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of entries. Default 50.
        pub limit?: PageLimit,
        /// Returns entries of this feed.
        pub feed_id?: Id<FeedId>,
        /// Returns entries of the feeds in this folder.
        pub folder?: DisplayName<1, 300>,
        /// Which entries. Default `unread`.
        pub show?: Choice<StreamShow>,
        /// Returns this entry in its place too, although the others that are read are left out: the entry that is open.
        pub open_id?: Id<EntryId>,
    }
    "folder" excludes "feedId": "must not be given together with feedId";
}

impl FromRequest for ListStream {
    type Request = ListStreamRequest;

    fn from_request(_: &Target, request: ListStreamRequest) -> Result<Self, Error> {
        Ok(Self(request))
    }
}

/// An entry with the title of its feed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamEntry {
    /// The entry.
    #[serde(flatten)]
    pub entry: EntryView,
    /// Title of its feed.
    pub feed_title: String,
    /// The time by which entries are listed: when it was published, or when it arrived if that was earlier.
    pub listed_at: Timestamp,
}

/// A page of entries, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamResponse {
    /// The entries of the page.
    pub entries: Vec<StreamEntry>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The last row of a page: its place in the order, in milliseconds, and its id.
#[derive(Serialize, Deserialize)]
struct StreamPosition(i64, EntryId);

impl Operation for ListStream {
    type Reply = StreamResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadEntries];

    fn count(reply: &StreamResponse) -> Option<usize> {
        Some(reply.entries.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<StreamResponse, Error> {
        let (user, db) = (caller.user, ctx.core.db.read());
        let ListStreamRequest { cursor, limit, feed_id, folder, show, open_id } = self.0;
        let show = show.map_or(StreamShow::Unread, Choice::into_inner);
        let folder = folder.map(DisplayName::into_inner);
        let name =
            ListName::selected_by("stream", show).with("feedId", feed_id).with("folder", folder.as_deref());
        let page = PageRequest::new(limit, cursor, DEFAULT_LIMIT);
        let list = page.of_list(ctx, caller, name);
        let last = list.position()?.map(|StreamPosition(at, id)| (Timestamp::from_millis(at), id));
        let selection = StreamSelection { feed: feed_id.map(Id::into_inner), folder, show };
        let filters = selection.filters(db, user).await?;
        let rows = newest(db, &filters, last, list.fetch_limit()).await?;
        let ListPage { mut rows, next_cursor } =
            list.page(rows, |row: &entry::Model| StreamPosition(row.sorted_at.millis(), row.id));
        if let Some(id) = open_id {
            let open = entry::Entity::one_of(user, id.into_inner()).one(db).await?;
            insert_open(&mut rows, open, last, next_cursor.is_none());
        }
        Ok(StreamResponse { entries: load_views(db, user, rows).await?, next_cursor })
    }
}

/// Returns the newest entries behind a place that match any of the filters.
async fn newest(
    db: &impl ConnectionTrait,
    filters: &[EntryFilter],
    last: Option<ListedEntry>,
    limit: u64,
) -> Result<Vec<entry::Model>, Error> {
    let backend = db.get_database_backend();
    let mut rows = Vec::new();
    for filter in filters {
        let page = backend.build(&filter.page(last, limit, backend));
        rows.extend(entry::Model::find_by_statement(page).all(db).await?);
    }
    rows.sort_by_key(|row| Reverse((row.sorted_at, row.id)));
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(rows)
}

/// Adds the open entry to the page, if its place is within the page and it is missing there.
fn insert_open(
    rows: &mut Vec<entry::Model>,
    open: Option<entry::Model>,
    last: Option<ListedEntry>,
    is_last_page: bool,
) {
    let Some(open) = open.filter(|open| rows.iter().all(|row| row.id != open.id)) else { return };
    let place = |row: &entry::Model| (row.sorted_at, row.id);
    let is_behind_start = last.is_none_or(|last| place(&open) < last);
    let is_before_end = is_last_page || rows.last().is_none_or(|row| place(&open) > place(row));
    if is_behind_start && is_before_end {
        let at = rows.iter().take_while(|row| place(row) > place(&open)).count();
        rows.insert(at, open);
    }
}

async fn load_views(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<entry::Model>,
) -> Result<Vec<StreamEntry>, Error> {
    let mut feeds: Vec<FeedId> = rows.iter().map(|row| row.feed_id).collect();
    feeds.sort_unstable();
    feeds.dedup();
    let titles = load_titles(db, user, &feeds).await?;
    let times: Vec<Timestamp> = rows.iter().map(|row| row.sorted_at).collect();
    let views = view::load_many(db, user, rows).await?;
    let entries = views.into_iter().zip(times).map(|(entry, listed_at)| StreamEntry {
        feed_title: titles.get(&entry.feed_id).cloned().unwrap_or_default(),
        entry,
        listed_at,
    });
    Ok(entries.collect())
}

/// Unread entries, and how many of them are new.
#[derive(Debug)]
pub struct NewEntries {
    /// The newest unread entries.
    pub entries: Vec<StreamEntry>,
    /// Number of unread entries that arrived since a time, at most 100.
    pub since: usize,
}

/// Returns the newest unread entries of a user, and the number of those that arrived since a time; none are counted without one.
pub async fn new_entries(
    db: &impl ConnectionTrait,
    user: UserId,
    since: Option<Timestamp>,
    limit: u64,
) -> Result<NewEntries, Error> {
    let rows = newest(db, &[unread(user, None)], None, limit).await?;
    let entries = load_views(db, user, rows).await?;
    let since = match since {
        Some(since) => count_arrived(db, user, since).await?,
        None => 0,
    };
    Ok(NewEntries { entries, since })
}

/// Counts the unread entries that arrived since a time, at most 100 of them.
async fn count_arrived(db: &impl ConnectionTrait, user: UserId, since: Timestamp) -> Result<usize, Error> {
    // Ids begin with the time of arrival in milliseconds.
    let millis = u128::try_from(since.millis()).unwrap_or_default();
    let ids: Vec<EntryId> = entry::Entity::owned_by(user)
        .filter(entry::Column::Id.gte(EntryId(Uuid::from_u128(millis << 80))))
        // Tested on the entries that arrived since: an index of the marks would be read from its start.
        .filter(tested_only(entry::Column::Read.into_expr(), db.get_database_backend()).eq(false))
        .order_by_desc(entry::Column::Id)
        .limit(MAX_COUNTED_ENTRIES)
        .select_only()
        .column(entry::Column::Id)
        .into_tuple()
        .all(db)
        .await?;
    Ok(ids.len())
}

/// Returns the statement that selects the newest unread entries of a feed, or of all.
pub(super) fn unread_page(
    user: UserId,
    feed: Option<FeedId>,
    limit: u64,
    backend: DbBackend,
) -> SelectStatement {
    unread(user, feed).page(None, limit, backend)
}

fn unread(user: UserId, feed: Option<FeedId>) -> EntryFilter {
    EntryFilter {
        user,
        feeds: feed.map(|feed| vec![feed]),
        read: Some(false),
        starred: None,
        after: None,
        before: None,
        up_to: None,
    }
}
