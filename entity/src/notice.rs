//! An in-app notice (spec.md: Events).

use crate::id::{NoticeId, UserId};
use crate::kind::NoticeKind;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An in-app notice (spec.md: Events).
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "notice")]
pub struct Model {
    /// The notice; notices sort by their making.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: NoticeId,
    /// Who is told.
    pub user_id: UserId,
    /// What it tells of.
    pub kind: NoticeKind,
    /// One line.
    pub title: String,
    /// A sentence or two.
    pub body: String,
    /// The client that it names.
    pub client: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the person read it.
    pub read_at: Option<Timestamp>,
}

crate::owned::owned_table!(NoticeId);
