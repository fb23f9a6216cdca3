//! Entries that a user marked as read together, so that the mark can be undone.

use sea_orm::entity::prelude::*;
use values::id::{EntryMarkId, UserId};
use values::time::Timestamp;

/// Entries that a user marked as read together. The latest few of a user are kept.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "entry_mark")]
pub struct Model {
    /// Id of the mark, by which it is undone.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: EntryMarkId,
    /// The user who owns the entries.
    pub user_id: UserId,
    /// The ids of the entries that were unread before, 16 bytes each.
    pub entry_ids: Vec<u8>,
    /// Time at which they were marked.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(EntryMarkId);
crate::owned::newest_rows!(EntryMarkId);
