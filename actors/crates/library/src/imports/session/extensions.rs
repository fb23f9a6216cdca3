//! Bookmarks to which an import adds something. What it adds to a bookmark of its own, such as a page that stands in its file twice or
//! a highlight further down, must not count as a change when the import is undone.

use std::collections::HashMap;

use entity::id::{BookmarkId, ImportRowId};
use entity::import_row::{self, Column};
use entity::kind::ImportedKind;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::fingerprint;
use super::row_trace::RowTrace;
use super::take::Taking;
use errors::Error;

/// What a batch knows of the bookmarks of earlier batches, or of before the import, to which it adds something.
#[derive(Debug, Default)]
pub struct Extensions(HashMap<BookmarkId, Origin>);

/// How a bookmark came to be.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// Not by this import.
    Foreign,
    /// By an earlier batch of this import, and it was changed since.
    Changed,
    /// By the row of an earlier batch of this import, and it is as that batch left it.
    Unchanged(ImportRowId),
}

impl Taking {
    /// To be called before something is added to a bookmark, which is locked. Returns whether this import created the bookmark.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub(super) async fn extend(&mut self, txn: &impl ConnectionTrait, id: BookmarkId) -> Result<bool, Error> {
        if self.is_created_now(ImportedKind::Bookmark, id.0) {
            // Its first fingerprint is taken at the end of the batch.
            return Ok(true);
        }
        let origin = match self.extensions.0.get(&id).copied() {
            Some(origin) => origin,
            None => {
                let origin = self.origin_of(txn, id).await?;
                self.extensions.0.insert(id, origin);
                origin
            }
        };
        Ok(!matches!(origin, Origin::Foreign))
    }

    async fn origin_of(&self, txn: &impl ConnectionTrait, id: BookmarkId) -> Result<Origin, Error> {
        let Some(row) = self.row_that_created(txn, ImportedKind::Bookmark, id.0).await? else {
            return Ok(Origin::Foreign);
        };
        let user = self.import().user_id;
        let now = fingerprint::of(txn, user, ImportedKind::Bookmark, &[id.0]).await?.remove(&id.0);
        let is_unchanged = now.is_some() && now == RowTrace::parse(row.detail.as_deref()).fingerprint;
        Ok(if is_unchanged { Origin::Unchanged(row.id) } else { Origin::Changed })
    }

    /// Takes the fingerprints of this batch's extended bookmarks again, unless somebody else had changed them before.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub(super) async fn renew_fingerprints(&mut self, txn: &impl ConnectionTrait) -> Result<(), Error> {
        let unchanged =
            std::mem::take(&mut self.extensions.0).into_iter().filter_map(|(id, origin)| match origin {
                Origin::Unchanged(row) => Some((id.0, row)),
                Origin::Foreign | Origin::Changed => None,
            });
        let unchanged: HashMap<Uuid, ImportRowId> = unchanged.collect();
        let (user, ids) = (self.import().user_id, unchanged.keys().copied().collect::<Vec<_>>());
        for (id, fingerprint) in fingerprint::of(txn, user, ImportedKind::Bookmark, &ids).await? {
            let Some(row) = unchanged.get(&id) else { continue };
            let trace = RowTrace { fingerprint: Some(fingerprint), ..RowTrace::default() };
            import_row::Entity::update_many()
                .col_expr(Column::Detail, Expr::value(trace.to_detail()))
                .filter(Column::UserId.eq(user))
                .filter(Column::Id.eq(*row))
                .exec(txn)
                .await?;
        }
        Ok(())
    }

    /// Whether this import created that thing, in this batch or in an earlier one.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub(super) async fn has_created(
        &self,
        txn: &impl ConnectionTrait,
        kind: ImportedKind,
        id: Uuid,
    ) -> Result<bool, Error> {
        Ok(self.is_created_now(kind, id) || self.row_that_created(txn, kind, id).await?.is_some())
    }

    async fn row_that_created(
        &self,
        txn: &impl ConnectionTrait,
        kind: ImportedKind,
        id: Uuid,
    ) -> Result<Option<import_row::Model>, Error> {
        let import = self.import();
        // Only by the thing: with the import in the query, SQLite may read all rows of the import for each thing.
        let rows =
            import_row::Entity::owned_by(import.user_id).filter(Column::MadeId.eq(id)).all(txn).await?;
        let created = |row: &import_row::Model| {
            row.import_id == import.id && row.kind == Some(kind) && row.has_created()
        };
        Ok(rows.into_iter().find(created))
    }
}
