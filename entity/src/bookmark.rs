//! A saved page or an uploaded file, with its place in the user's library. The text belongs to its document.

use std::ops::Range;

use std::time::Duration;

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, DocumentId, UserId};
use values::kind::{BookmarkKind, ContentType};
use values::time::Timestamp;

/// A saved page or an uploaded file, with its place in the user's library. The text belongs to its document.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "bookmark")]
pub struct Model {
    /// Id of the bookmark; it does not change when the bookmark is deleted and restored.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: BookmarkId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// Whether it is a saved page or an upload.
    pub kind: BookmarkKind,
    /// The content type of the document. A trigger keeps the copy equal (migration `m0014_title_search`).
    pub content_type: ContentType,
    /// The URL as the user gave it.
    #[sea_orm(column_type = "Text")]
    pub url: String,
    /// The normalised URL, by which bookmarks are compared; unique among a user's bookmarks that are not deleted.
    #[sea_orm(column_type = "Text")]
    pub normalized_url: String,
    /// The title of the document, by which lists are sorted and searched. A trigger keeps the copy equal (migration
    /// `m0014_title_search`).
    #[sea_orm(column_type = "Text")]
    pub title: String,
    /// Whether it is a favourite.
    pub favorite: bool,
    /// Whether the user has archived it.
    pub archived: bool,
    /// Reading progress, 0 to 1.
    pub progress: f64,
    /// Time at which it was saved; the user may set it.
    pub saved_at: Timestamp,
    /// Creation time of the row.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time of the deletion. A deleted bookmark is in no list, and is removed permanently after 30 days.
    pub deleted_at: Option<Timestamp>,
}

/// Columns that the database computes, so no row is written with them. Lists are ordered and filtered by them.
#[derive(Clone, Copy, Debug, DeriveIden)]
pub enum ComputedColumn {
    /// The first 600 characters of the title: a row of an index of PostgreSQL has 2,704 bytes at most.
    TitleKey,
    /// Which of [`FAVORITE_FLAG`], [`ARCHIVED_FLAG`] and [`UNREAD_FLAG`] the bookmark has, as their sum.
    Flags,
}

/// The bit of a favourite in [`ComputedColumn::Flags`].
pub const FAVORITE_FLAG: i32 = 4;
/// The bit of an archived bookmark in [`ComputedColumn::Flags`].
pub const ARCHIVED_FLAG: i32 = 2;
/// The bit of a bookmark with a progress below 1 in [`ComputedColumn::Flags`].
pub const UNREAD_FLAG: i32 = 1;
/// The values that [`ComputedColumn::Flags`] can have.
pub const ALL_FLAGS: Range<i32> = 0..8;

/// The number of characters of [`ComputedColumn::TitleKey`].
const TITLE_KEY_CHARS: usize = 600;

impl Model {
    /// Returns the value of [`ComputedColumn::Flags`].
    pub fn flags(&self) -> i32 {
        let flags = [
            (self.favorite, FAVORITE_FLAG),
            (self.archived, ARCHIVED_FLAG),
            (self.progress < 1.0, UNREAD_FLAG),
        ];
        flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum()
    }

    /// Returns the value of [`ComputedColumn::TitleKey`].
    pub fn title_key(&self) -> String {
        self.title.chars().take(TITLE_KEY_CHARS).collect()
    }
}

/// Time within which a deleted bookmark can be restored (spec.md: Bookmark).
pub const RESTORE_PERIOD: Duration = Duration::from_secs(30 * 24 * 3600);

crate::owned::owned_changes!();

impl Entity {
    /// Sets `updated_at` of the bookmark of a document: clients that synchronise ask for what changed since a time.
    ///
    /// # Errors
    /// [`DbErr`] when the database fails.
    pub async fn touch_for_document(
        db: &impl ConnectionTrait,
        user: UserId,
        document: DocumentId,
        now: Timestamp,
    ) -> Result<(), DbErr> {
        Self::touch_for_documents(db, user, [document], now).await
    }

    /// Records that the bookmarks of these documents changed now. Sends no statement for no documents.
    ///
    /// # Errors
    /// [`DbErr`] when the database fails.
    pub async fn touch_for_documents(
        db: &impl ConnectionTrait,
        user: UserId,
        documents: impl IntoIterator<Item = DocumentId>,
        now: Timestamp,
    ) -> Result<(), DbErr> {
        let documents: Vec<DocumentId> = documents.into_iter().collect();
        if documents.is_empty() {
            return Ok(());
        }
        Self::update_owned(user)
            .col_expr(Column::UpdatedAt, Expr::value(now))
            .filter(Column::DocumentId.is_in(documents))
            .exec(db)
            .await
            .map(drop)
    }

    /// Records that bookmarks of a user changed now.
    ///
    /// # Errors
    /// [`DbErr`] when the database fails.
    pub async fn touch(
        db: &impl ConnectionTrait,
        user: UserId,
        ids: impl IntoIterator<Item = BookmarkId>,
        now: Timestamp,
    ) -> Result<(), DbErr> {
        Self::update_owned(user)
            .col_expr(Column::UpdatedAt, Expr::value(now))
            .filter(Column::Id.is_in(ids))
            .exec(db)
            .await
            .map(drop)
    }

    /// Returns all bookmarks of a user, including deleted ones.
    pub fn with_deleted(user: UserId) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user))
    }

    /// Returns the bookmarks of a user that are not deleted.
    pub fn visible_to(user: UserId) -> Select<Entity> {
        Self::with_deleted(user).filter(Column::DeletedAt.is_null())
    }

    /// Returns the bookmark with this id, if it belongs to this user and is not deleted.
    pub fn one_visible_to(user: UserId, id: BookmarkId) -> Select<Entity> {
        Self::visible_to(user).filter(Column::Id.eq(id))
    }

    /// Returns the bookmarks of all users that can no longer be restored, for the clean-up.
    pub fn past_restore_period(now: Timestamp) -> Select<Entity> {
        Self::find().filter(Column::DeletedAt.lt(now - RESTORE_PERIOD))
    }
}
