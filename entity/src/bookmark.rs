//! A saved page or upload: what the person does with it. Its text is the document's.

use std::time::Duration;

use crate::id::{BookmarkId, DocumentId, UserId};
use crate::kind::BookmarkKind;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A saved page or upload: what the person does with it. Its text is the document's.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "bookmark")]
pub struct Model {
    /// The bookmark.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: BookmarkId,
    /// Whose it is.
    pub user_id: UserId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// How it came to be.
    pub kind: BookmarkKind,
    /// The address as it was given.
    #[sea_orm(column_type = "Text")]
    pub url: String,
    /// What addresses are compared by; unique among a user's bookmarks that are not deleted.
    #[sea_orm(column_type = "Text")]
    pub normalized_url: String,
    /// Marked as a favourite.
    pub favorite: bool,
    /// Put away.
    pub archived: bool,
    /// How far it is read, 0 to 1.
    pub progress: f64,
    /// When it was saved; the person may set it.
    pub saved_at: Timestamp,
    /// When the row was made.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
    /// Gone from every list since then; for good after 30 days.
    pub deleted_at: Option<Timestamp>,
}

/// A deleted bookmark may be restored for so long (spec.md: Bookmark).
pub const RESTORABLE: Duration = Duration::from_secs(30 * 24 * 3600);

crate::owned::owned_changes!();

impl Entity {
    /// Says of a document's bookmark that something of it changed: a client that keeps a copy in step asks by that time.
    pub async fn touch_of(
        db: &impl ConnectionTrait,
        user: UserId,
        document: DocumentId,
        now: Timestamp,
    ) -> Result<(), DbErr> {
        Self::update_many()
            .col_expr(Column::UpdatedAt, Expr::value(now))
            .filter(Column::UserId.eq(user))
            .filter(Column::DocumentId.eq(document))
            .exec(db)
            .await
            .map(drop)
    }

    /// Records that bookmarks of a user changed now.
    ///
    /// # Errors
    /// The database fails.
    pub async fn touch(
        db: &impl ConnectionTrait,
        user: UserId,
        ids: impl IntoIterator<Item = BookmarkId>,
        now: Timestamp,
    ) -> Result<(), DbErr> {
        Self::update_many()
            .col_expr(Column::UpdatedAt, Expr::value(now))
            .filter(Column::UserId.eq(user))
            .filter(Column::Id.is_in(ids))
            .exec(db)
            .await
            .map(drop)
    }

    /// The bookmarks of one user that are not deleted.
    pub fn owned_by(user: UserId) -> Select<Entity> {
        Self::with_deleted(user).filter(Column::DeletedAt.is_null())
    }

    /// One bookmark, if it is this user's and not deleted.
    pub fn one_of(user: UserId, id: BookmarkId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::Id.eq(id))
    }

    /// The bookmarks of one user, deleted ones too.
    pub fn with_deleted(user: UserId) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user))
    }

    /// Those that can be restored no more, of every user: what the clean-up takes away.
    pub fn past_restoring(now: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::DeletedAt.lt(now - RESTORABLE))
    }
}
