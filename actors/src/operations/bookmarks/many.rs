//! Changes of many bookmarks in one request, with the record by which they are undone.
//!
//! Each batch has its own transaction, so that other requests can write in between: a change of 20,000 bookmarks takes seconds.

use database::{Transaction, padded};
use entity::{bookmark, collection};
use schemars::JsonSchema;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, UndoId};
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use errors::Error;
use library::BATCH_ROWS;
use library::bookmarks;
use library::library_quota::LibraryRoom;
use library::owned_transaction::{begin_owned, begin_request};
use library::undo::{BookmarkChange, UNDO_PERIOD, begin_undo, record_step};

/// Changes of bookmarks, which are undone together.
pub(in crate::operations) struct ManyChanges {
    /// The changes, in their order.
    pub parts: Vec<ChangePart>,
    /// Whether deleted bookmarks are changed too.
    pub with_deleted: bool,
}

/// Changes of the same bookmarks, one after the other on each batch.
pub(in crate::operations) struct ChangePart {
    /// The bookmarks; those that are gone are left out.
    pub ids: Vec<BookmarkId>,
    /// The changes.
    pub changes: Vec<BookmarkChange>,
}

/// Bookmarks that are changed in one transaction.
struct PartBatch<'a> {
    ids: &'a [BookmarkId],
    changes: &'a [BookmarkChange],
}

/// What was changed, and how it is undone.
#[derive(Debug)]
pub(in crate::operations) struct ManyChanged {
    /// The number of bookmarks that are different than before.
    pub changed: usize,
    /// How the changes are undone; `None` if nothing was changed.
    pub undo: Option<UndoToken>,
}

/// The token by which a change is undone: `POST /undo/:token`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoToken {
    /// The token.
    pub token: UndoId,
    /// When it expires: ten minutes after the change.
    pub expires_at: Timestamp,
}

/// The record of a change while it is carried out.
#[derive(Default)]
struct UndoRecord {
    token: Option<UndoToken>,
    steps: i32,
}

impl ManyChanges {
    /// Carries the changes out. If it fails, earlier batches stay changed.
    ///
    /// # Errors
    /// [`Error::NotFound`] when a collection does not exist or belongs to another user; the library is full, or the database fails.
    pub(in crate::operations) async fn run(
        self,
        caller: &Caller,
        ctx: &OperationContext,
    ) -> Result<ManyChanged, Error> {
        let (mut changed, mut record) = (0_usize, UndoRecord::default());
        let batches = self.parts.iter().flat_map(|part| {
            part.ids.chunks(BATCH_ROWS).map(|ids| PartBatch { ids, changes: &part.changes })
        });
        for (index, batch) in batches.enumerate() {
            let txn = if index == 0 {
                begin_request(&ctx.core.db, &caller.owner()).await?
            } else {
                begin_owned(&ctx.core.db, caller.user).await?
            };
            changed =
                changed.saturating_add(self.change_batch(&txn, &batch, caller, ctx, &mut record).await?);
            txn.commit().await?;
        }
        ctx.job_signal.notify();
        Ok(ManyChanged { changed, undo: record.token })
    }

    /// Changes a batch, and returns how many of its bookmarks are different than before.
    async fn change_batch(
        &self,
        txn: &Transaction,
        batch: &PartBatch<'_>,
        caller: &Caller,
        ctx: &OperationContext,
        record: &mut UndoRecord,
    ) -> Result<usize, Error> {
        let (user, now) = (caller.user, ctx.core.clock.now());
        batch.lock_collections(txn, caller).await?;
        let found = if self.with_deleted {
            bookmark::Entity::with_deleted(user)
        } else {
            bookmark::Entity::visible_to(user)
        };
        let found = found.filter(bookmark::Column::Id.is_in(padded(batch.ids)));
        let locked = bookmarks::lock(txn, found).await?;
        let room = LibraryRoom::of_request(txn, &ctx.core, &caller.owner()).await?;
        let mut changed = 0;
        for change in batch.changes {
            if let Some(step) = change.apply(txn, user, &locked, now).await? {
                changed = changed.max(step.bookmarks());
                let token = match record.token {
                    Some(token) => token,
                    None => {
                        let token = begin_undo(txn, user, now).await?;
                        UndoToken { token, expires_at: now + UNDO_PERIOD }
                    }
                };
                record_step(txn, user, token.token, record.steps, &step).await?;
                *record = UndoRecord { token: Some(token), steps: record.steps.saturating_add(1) };
            }
        }
        if batch.changes.iter().any(adds_text) {
            room.must_hold(txn).await?;
        }
        Ok(changed)
    }
}

impl PartBatch<'_> {
    /// Locks the collections of the changes, which come before bookmarks in the order of locks.
    async fn lock_collections(&self, txn: &Transaction, caller: &Caller) -> Result<(), Error> {
        for change in self.changes {
            let id = match change {
                BookmarkChange::PutIntoCollection(id) | BookmarkChange::TakeFromCollection(id) => *id,
                BookmarkChange::SetArchived(_)
                | BookmarkChange::SetFavorite(_)
                | BookmarkChange::AddTag(_)
                | BookmarkChange::RemoveTag(_)
                | BookmarkChange::Delete => continue,
            };
            let found = collection::Entity::one_of(caller.user, id).lock(LockType::NoKeyUpdate);
            found.one(txn).await?.ok_or_else(|| Error::not_found().of_item("collectionId"))?;
        }
        Ok(())
    }
}

/// Returns whether a change makes the library larger.
fn adds_text(change: &BookmarkChange) -> bool {
    match change {
        BookmarkChange::AddTag(_) | BookmarkChange::PutIntoCollection(_) => true,
        BookmarkChange::SetArchived(_)
        | BookmarkChange::SetFavorite(_)
        | BookmarkChange::RemoveTag(_)
        | BookmarkChange::TakeFromCollection(_)
        | BookmarkChange::Delete => false,
    }
}
