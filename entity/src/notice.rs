//! An in-app notice (spec.md: Events).

use crate::id::{NoticeId, UserId};
use crate::kind::NoticeKind;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An in-app notice (spec.md: Events).
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "notice")]
pub struct Model {
    /// The notice; ids sort by creation time.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: NoticeId,
    /// The recipient.
    pub user_id: UserId,
    /// Kind of event.
    pub kind: NoticeKind,
    /// Title, one line.
    pub title: String,
    /// Body, one or two sentences.
    pub body: String,
    /// Name of the client that caused the event.
    pub client: Option<String>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time at which the user read it.
    pub read_at: Option<Timestamp>,
}

crate::owned::owned_table!(NoticeId);
