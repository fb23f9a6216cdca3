//! Marks entries as read and stars them.

use database::Db;
use entity::{entry, feed};
use errors::Error;
use library::owned_transaction::{begin_owned, begin_request};
use schemars::JsonSchema;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};
use serde::Serialize;
use validation::{Flag, Id, Time, request};
use values::id::{EntryId, FeedId, UserId};
use values::scope::Scope;
use values::time::Timestamp;

use super::filter::EntryFilter;
use super::view::{self, EntryResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Entries that are marked as read in one transaction.
const BATCH_ROWS: u64 = 1000;

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
        let unread = EntryFilter {
            user: caller.user,
            feeds: self.feed.map(|feed| vec![feed]),
            read: Some(false),
            starred: None,
            after: None,
            before: self.before,
            up_to: None,
        };
        let mut marked = 0;
        for part in unread.parts(None) {
            marked += mark_full_batches(&ctx.core.db, caller.user, &part).await?;
        }
        // The rest in the transaction of the request, which also marks its Idempotency-Key.
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        for part in unread.parts(None) {
            marked += mark(&txn, caller.user, select_ids(&part)).await?;
        }
        txn.commit().await?;
        Ok(MarkEntriesResponse { marked })
    }
}

/// Marks unread entries as read until fewer than a batch are left. Each batch is one transaction: other writers wait for a batch, and
/// not for all entries of the user.
async fn mark_full_batches(db: &Db, user: UserId, unread: &Select<entry::Entity>) -> Result<u64, Error> {
    let mut marked = 0;
    loop {
        let beyond_batch = select_ids(unread).offset(BATCH_ROWS).limit(1).into_tuple::<EntryId>();
        if beyond_batch.one(db.read()).await?.is_none() {
            return Ok(marked);
        }
        let txn = begin_owned(db, user).await?;
        let rows = mark(&txn, user, select_ids(unread).limit(BATCH_ROWS)).await?;
        txn.commit().await?;
        marked += rows;
        // Another request has marked them meanwhile, and marks the others too.
        if rows == 0 {
            return Ok(marked);
        }
    }
}

/// Selects the ids in the order of the list, which an index has: without an order SQLite may choose an index of all entries.
pub(super) fn select_ids(unread: &Select<entry::Entity>) -> Select<entry::Entity> {
    unread
        .clone()
        .order_by_desc(entry::Column::SortedAt)
        .order_by_desc(entry::Column::Id)
        .select_only()
        .column(entry::Column::Id)
}

/// Marks these unread entries as read and returns their number.
async fn mark(txn: &impl ConnectionTrait, user: UserId, unread: Select<entry::Entity>) -> Result<u64, Error> {
    let marked = entry::Entity::update_owned(user)
        .col_expr(entry::Column::Read, Expr::value(true))
        .filter(entry::Column::Id.in_subquery(unread.into_query()));
    Ok(marked.exec(txn).await?.rows_affected)
}

#[cfg(test)]
mod tests {
    use database::{QueryPlan, insert_all};
    use uuid::Uuid;

    use super::super::test_feeds::{FollowedFeeds, open};
    use super::*;

    /// Returns the ids of the unread entries.
    async fn unread_ids(db: &Db, user: UserId) -> Vec<EntryId> {
        let unread = entry::Entity::owned_by(user).filter(entry::Column::Read.eq(false));
        select_ids(&unread).into_tuple().all(db.read()).await.unwrap()
    }

    #[actix::test]
    async fn full_batches_are_marked_and_the_rest_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let feeds = FollowedFeeds::insert(&db).await;
        let count = i64::try_from(BATCH_ROWS).unwrap() * 2 + 10;
        let rows = (0..count).map(|n| entry::Model { read: n < 5, ..feeds.entry(n) });
        insert_all::<entry::Entity>(db.write(), rows, None).await.unwrap();
        let filter = EntryFilter {
            user: feeds.user,
            feeds: Some(vec![feeds.ids[0]]),
            read: Some(false),
            starred: Some(false),
            after: None,
            before: None,
            up_to: None,
        };
        let parts = filter.parts(None);
        let [unread] = &parts[..] else { panic!("{}", parts.len()) };

        let marked = mark_full_batches(&db, feeds.user, unread).await.unwrap();
        let left = unread_ids(&db, feeds.user).await.len();
        let rest = mark(db.write(), feeds.user, select_ids(unread)).await.unwrap();

        assert_eq!((marked, left, rest), (BATCH_ROWS * 2, 5, 5));
        assert!(unread_ids(&db, feeds.user).await.is_empty());
    }

    #[actix::test]
    async fn entries_to_mark_are_found_by_their_marks() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let backend = db.read().get_database_backend();
        let user = UserId(Uuid::nil());

        for feed in [None, Some(FeedId(Uuid::nil()))] {
            for before in [None, Some(Timestamp::from_millis(1))] {
                let filter = EntryFilter {
                    user,
                    feeds: feed.map(|feed| vec![feed]),
                    read: Some(false),
                    starred: None,
                    after: None,
                    before,
                    up_to: None,
                };
                for part in filter.parts(None) {
                    let ids = select_ids(&part).limit(BATCH_ROWS).into_query();
                    let update = entry::Entity::update_owned(user)
                        .col_expr(entry::Column::Read, Expr::value(true))
                        .filter(entry::Column::Id.in_subquery(ids));
                    let plan = QueryPlan::of(&db, update.build(backend)).await.unwrap();

                    assert!(plan.has_step("entry_user_id (user_id=? AND id=?)"), "{plan:#?}");
                    assert!(plan.has_step("_marks (") || plan.has_step("entry_user_moved ("), "{plan:#?}");
                    assert!(!plan.sorts(), "{plan:#?}");
                }
            }
        }
    }
}
