//! An in-app notice (spec.md: Events).

use sea_orm::entity::prelude::*;
use values::id::{NoticeId, UserId};
use values::kind::NoticeKind;
use values::time::Timestamp;

/// An in-app notice (spec.md: Events).
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "notice")]
pub struct Model {
    /// The notice; ids sort by creation time.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: NoticeId,
    /// The user to whom it is shown.
    pub user_id: UserId,
    /// Kind of the event that it reports.
    pub kind: NoticeKind,
    /// Title in one line; also the subject of the e-mail.
    pub title: String,
    /// Body, one or two sentences.
    pub body: String,
    /// Name of the client that caused the event.
    pub client: Option<String>,
    /// Time of the event; the latest notices are listed first.
    pub created_at: Timestamp,
    /// Time at which the user read it.
    pub read_at: Option<Timestamp>,
    /// Id of the key or of the connected app that it reports, by its kind. `None` in notices of versions that did not store it.
    pub subject_id: Option<Uuid>,
}

crate::owned::owned_table!(NoticeId);
crate::owned::newest_rows!(NoticeId);
