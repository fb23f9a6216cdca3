//! Listing and showing entries.

use entity::id::{EntryId, FeedId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{entry, feed};
use schemars::JsonSchema;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};

use super::published;
use super::view::{self, EntryResponse, EntryView};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::operations::page::{CURSOR, PageOf};
use crate::operations::target::Target;
use crate::pipeline::Operation;

const DEFAULT_LIMIT: u64 = 50;

/// A page of entries.
#[derive(Debug)]
pub struct ListEntries {
    page: PageOf,
    filter: Filter,
}

#[derive(Debug)]
struct Filter {
    feed: Option<FeedId>,
    unread: Option<bool>,
    starred: Option<bool>,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl ListEntries {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional(
            "limit",
            Kind::Integer { min: 1, max: 100 },
            "Maximum number of entries. Default 50.",
        ),
        Field::optional("feedId", Kind::Id, "Returns entries of this feed."),
        Field::optional("unread", Kind::Flag, "Returns unread entries (`true`) or read ones (`false`)."),
        Field::optional("starred", Kind::Flag, "Returns starred entries (`true`) or others (`false`)."),
        Field::optional("after", Kind::Time, "Returns entries published after this time."),
        Field::optional("before", Kind::Time, "Returns entries published before this time."),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        let filter = Filter {
            feed: values.id("feedId").map(FeedId),
            unread: values.flag("unread"),
            starred: values.flag("starred"),
            after: values.time("after"),
            before: values.time("before"),
        };
        Ok(Self { page: PageOf::read(&mut values, DEFAULT_LIMIT), filter })
    }
}

/// A page of entries, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListEntriesResponse {
    entries: Vec<EntryView>,
    next_cursor: Option<String>,
}

/// The last row of the page before.
#[derive(Serialize, Deserialize)]
struct Position(i64, EntryId);

impl Operation for ListEntries {
    type Reply = ListEntriesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadEntries];

    fn count(reply: &ListEntriesResponse) -> Option<usize> {
        Some(reply.entries.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListEntriesResponse, Error> {
        let (user, db) = (caller.user, ctx.core.db.read());
        let list = format!("entries:{:?}", self.filter);
        let after: Option<Position> = self.page.position(ctx, user, &list)?;
        if let Some(id) = self.filter.feed {
            feed::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?;
        }
        let mut query = entry::Entity::owned_by(user).filter(self.filter.condition());
        if let Some(Position(at, id)) = after {
            let at = Timestamp::from_millis(at);
            let same = Condition::all().add(entry::Column::SortedAt.eq(at)).add(entry::Column::Id.lt(id));
            query = query.filter(Condition::any().add(entry::Column::SortedAt.lt(at)).add(same));
        }
        let query = query.order_by_desc(entry::Column::SortedAt).order_by_desc(entry::Column::Id);
        let mut rows = query.limit(self.page.limit + 1).all(db).await?;
        let position = |row: &entry::Model| Position(row.sorted_at.millis(), row.id);
        let next_cursor = self.page.cut(ctx, user, &list, &mut rows, position);
        Ok(ListEntriesResponse { entries: view::many(db, user, rows).await?, next_cursor })
    }
}

impl Filter {
    fn condition(&self) -> Condition {
        Condition::all()
            .add_option(self.feed.map(|feed| entry::Column::FeedId.eq(feed)))
            .add_option(self.unread.map(|unread| entry::Column::Read.eq(!unread)))
            .add_option(self.starred.map(|starred| entry::Column::Starred.eq(starred)))
            .add_option(self.after.map(|after| published().gt(after)))
            .add_option(self.before.map(|before| published().lt(before)))
    }
}

/// One entry.
#[derive(Debug)]
pub struct ShowEntry(EntryId);

impl ShowEntry {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowEntry {
    type Reply = EntryResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadEntries];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<EntryResponse, Error> {
        let found = entry::Entity::one_of(caller.user, self.0).one(ctx.core.db.read()).await?;
        Ok(EntryResponse { entry: view::one(ctx.core.db.read(), found.ok_or(Error::not_found())?).await? })
    }
}
