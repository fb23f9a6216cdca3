//! Marks the entries from the start of a list to one of them as read, and undoes it.

use std::time::Duration;

use entity::{entry, entry_mark};
use errors::Error;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use serde::Serialize;
use uuid::Uuid;
use validation::{Choice, DisplayName, Id, NoFields, request};
use values::id::{EntryId, EntryMarkId, FeedId, UserId};
use values::scope::Scope;
use values::time::Timestamp;

use super::mark::select_ids;
use super::stream::{StreamSelection, StreamShow};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Entries that one request marks.
const MAX_MARKED_ENTRIES: u64 = 5000;
/// Entries that one statement changes.
const BATCH_ROWS: usize = 500;
/// Marks of a user that are kept.
const MAX_MARKS: u64 = 20;
/// Time within which a mark can be undone.
const UNDO_PERIOD: Duration = Duration::from_secs(10 * 60);

/// Marks the entries of a list as read, from its start to an entry.
#[derive(Debug)]
pub struct MarkAbove {
    selection: StreamSelection,
    up_to: Option<EntryId>,
}

request! {
    /// A list of entries, and where the mark ends.
    pub struct MarkAboveRequest {
        /// Marks entries of this feed.
        pub feed_id?: Id<FeedId>,
        /// Marks entries of the feeds in this folder.
        pub folder?: DisplayName<1, 300>,
        /// The list whose unread entries are marked. Default `unread`.
        pub show?: Choice<StreamShow>,
        /// The last entry that is marked. Default: the end of the list.
        pub up_to?: Id<EntryId>,
    }
    "folder" excludes "feedId": "must not be given together with feedId";
}

impl FromRequest for MarkAbove {
    type Request = MarkAboveRequest;

    fn from_request(_: &Target, request: MarkAboveRequest) -> Result<Self, Error> {
        let selection = StreamSelection {
            feed: request.feed_id.map(Id::into_inner),
            folder: request.folder.map(DisplayName::into_inner),
            show: request.show.map_or(StreamShow::Unread, Choice::into_inner),
        };
        Ok(Self { selection, up_to: request.up_to.map(Id::into_inner) })
    }
}

/// The entries that were marked.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarkAboveResponse {
    /// Number of entries that were unread before, at most 5,000.
    pub marked: usize,
    /// Id by which the mark is undone within ten minutes; null if nothing was marked.
    pub mark_id: Option<EntryMarkId>,
    /// Whether unread entries of the list are left because there were too many for one request.
    pub has_more: bool,
}

impl Operation for MarkAbove {
    type Reply = MarkAboveResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<MarkAboveResponse, Error> {
        let user = caller.user;
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let mut ids = self.unread_ids(&txn, user).await?;
        let max_marked = usize::try_from(MAX_MARKED_ENTRIES).unwrap_or(usize::MAX);
        let has_more = ids.len() > max_marked;
        ids.truncate(max_marked);
        let mark_id = mark_as_read(&txn, user, &ids, ctx.core.clock.now()).await?;
        txn.commit().await?;
        Ok(MarkAboveResponse { marked: ids.len(), mark_id, has_more })
    }
}

impl MarkAbove {
    /// Returns the unread entries from the start of the list to the last one that is marked. If there are more than the maximum, at least
    /// one more than the maximum is returned.
    async fn unread_ids(&self, txn: &impl ConnectionTrait, user: UserId) -> Result<Vec<EntryId>, Error> {
        let up_to = match self.up_to {
            None => None,
            Some(id) => {
                let row = entry::Entity::one_of(user, id).one(txn).await?.ok_or(Error::not_found())?;
                Some((row.sorted_at, row.id))
            }
        };
        let mut ids = Vec::new();
        for mut filter in self.selection.filters(txn, user).await? {
            filter.read = Some(false);
            filter.up_to = up_to;
            for part in filter.parts(None) {
                let unread = select_ids(&part).limit(MAX_MARKED_ENTRIES + 1);
                ids.extend(unread.into_tuple::<EntryId>().all(txn).await?);
            }
        }
        Ok(ids)
    }
}

/// Marks unread entries of a user as read, and stores them so that the mark can be undone. Returns its id; `None` for no entries.
pub(super) async fn mark_as_read(
    txn: &impl ConnectionTrait,
    user: UserId,
    entries: &[EntryId],
    now: Timestamp,
) -> Result<Option<EntryMarkId>, DbErr> {
    if entries.is_empty() {
        return Ok(None);
    }
    set_read(txn, user, entries, true).await?;
    let id = EntryMarkId::new(now);
    let entry_ids = entries.iter().flat_map(|entry| *entry.0.as_bytes()).collect();
    let row = entry_mark::Model { id, user_id: user, entry_ids, created_at: now };
    entry_mark::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    let oldest = entry_mark::Entity::is_beyond_newest(user, MAX_MARKS, id);
    entry_mark::Entity::delete_owned(user).filter(oldest).exec(txn).await?;
    Ok(Some(id))
}

/// Marks those of the entries that are not so as read or unread, and returns their number.
async fn set_read(
    txn: &impl ConnectionTrait,
    user: UserId,
    entries: &[EntryId],
    is_read: bool,
) -> Result<u64, DbErr> {
    let mut changed = 0;
    for batch in entries.chunks(BATCH_ROWS) {
        let update = entry::Entity::update_owned(user)
            .col_expr(entry::Column::Read, Expr::value(is_read))
            .filter(entry::Column::Id.is_in(database::padded(batch)));
        changed += update.exec(txn).await?.rows_affected;
    }
    Ok(changed)
}

/// Marks the entries as unread again that a request has marked as read within the last ten minutes.
#[derive(Debug)]
pub struct UndoMark(EntryMarkId);

impl FromRequest for UndoMark {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The number of entries that are unread again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UndoMarkResponse {
    /// Number of entries. Those that were removed meanwhile do not count.
    pub unmarked: u64,
}

impl Operation for UndoMark {
    type Reply = UndoMarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<UndoMarkResponse, Error> {
        let user = caller.user;
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = entry_mark::Entity::one_of(user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        if ctx.core.clock.now().since(row.created_at) > UNDO_PERIOD {
            return Err(Error::conflict("the mark is older than ten minutes and can no longer be undone"));
        }
        let (ids, _) = row.entry_ids.as_chunks::<16>();
        let ids: Vec<EntryId> = ids.iter().map(|bytes| EntryId(Uuid::from_bytes(*bytes))).collect();
        let unmarked = set_read(&txn, user, &ids, false).await?;
        entry_mark::Entity::delete_owned_row(&txn, user, row).await?;
        txn.commit().await?;
        Ok(UndoMarkResponse { unmarked })
    }
}
