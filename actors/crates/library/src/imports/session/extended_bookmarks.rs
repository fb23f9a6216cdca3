//! Bookmarks to which an import adds something. What it adds to a bookmark that it created itself, such as a page that is twice
//! in its file or a highlight in a later row, must not count as a change when the import is undone.

use std::collections::HashMap;

use entity::import_row::{self, Column};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use uuid::Uuid;
use values::id::{BookmarkId, ImportRowId};
use values::kind::ImportedKind;

use super::super::fingerprint;
use super::super::rows::trace::RowTrace;
use super::extensions::Origin;
use super::import_session::ImportSession;
use errors::Error;

impl ImportSession {
    /// Records that something is about to be added to a bookmark that the caller has locked. Returns `true` if
    /// this import created the bookmark.
    pub(in crate::imports) async fn record_extension(
        &mut self,
        txn: &impl ConnectionTrait,
        id: BookmarkId,
    ) -> Result<bool, Error> {
        if self.is_created_now(ImportedKind::Bookmark, id.0) {
            // Its first fingerprint is computed at the end of the batch, with this addition.
            return Ok(true);
        }
        let origin = match self.extensions.0.get(&id).copied() {
            Some(origin) => origin,
            // Only before the first addition of the batch: after it, the fingerprint differs because of the import itself.
            None => {
                let origin = self.find_origin(txn, id).await?;
                self.extensions.0.insert(id, origin);
                origin
            }
        };
        Ok(!matches!(origin, Origin::Foreign))
    }

    async fn find_origin(&self, txn: &impl ConnectionTrait, id: BookmarkId) -> Result<Origin, Error> {
        let Some(row) = self.find_creating_row(txn, ImportedKind::Bookmark, id.0).await? else {
            return Ok(Origin::Foreign);
        };
        let user = self.import().user_id;
        let current = fingerprint::compute(txn, user, ImportedKind::Bookmark, &[id.0]).await?.remove(&id.0);
        let is_unchanged = current.is_some() && current == RowTrace::parse(row.detail.as_deref()).fingerprint;
        Ok(if is_unchanged { Origin::Unchanged(row.id) } else { Origin::Changed })
    }

    /// Recomputes the fingerprints of the bookmarks that this batch extended. A bookmark that the user or another import changed
    /// before keeps its fingerprint, so that the undo still sees that change.
    pub(in crate::imports) async fn renew_fingerprints(
        &mut self,
        txn: &impl ConnectionTrait,
    ) -> Result<(), Error> {
        let unchanged =
            std::mem::take(&mut self.extensions.0).into_iter().filter_map(|(id, origin)| match origin {
                Origin::Unchanged(row) => Some((id.0, row)),
                Origin::Foreign | Origin::Changed => None,
            });
        let unchanged: HashMap<Uuid, ImportRowId> = unchanged.collect();
        let (user, ids) = (self.import().user_id, unchanged.keys().copied().collect::<Vec<_>>());
        for (id, fingerprint) in fingerprint::compute(txn, user, ImportedKind::Bookmark, &ids).await? {
            let Some(row) = unchanged.get(&id) else { continue };
            let trace = RowTrace { fingerprint: Some(fingerprint), ..RowTrace::default() };
            import_row::Entity::update_owned(user)
                .col_expr(Column::Detail, Expr::value(trace.to_detail()))
                .filter(Column::Id.eq(*row))
                .exec(txn)
                .await?;
        }
        Ok(())
    }

    /// Returns whether this import created that object, in this batch or in an earlier one.
    pub(in crate::imports) async fn has_created(
        &self,
        txn: &impl ConnectionTrait,
        kind: ImportedKind,
        id: Uuid,
    ) -> Result<bool, Error> {
        Ok(self.is_created_now(kind, id) || self.find_creating_row(txn, kind, id).await?.is_some())
    }

    async fn find_creating_row(
        &self,
        txn: &impl ConnectionTrait,
        kind: ImportedKind,
        id: Uuid,
    ) -> Result<Option<import_row::Model>, Error> {
        let import = self.import();
        // The query names only the object: with the import in it, SQLite may read all rows of the import for each object.
        let rows =
            import_row::Entity::owned_by(import.user_id).filter(Column::ObjectId.eq(id)).all(txn).await?;
        let created = |row: &import_row::Model| {
            row.import_id == import.id && row.kind == Some(kind) && row.has_created()
        };
        Ok(rows.into_iter().find(created))
    }
}
