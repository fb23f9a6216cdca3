//! Finds what lines of an import became, in this batch, an earlier one, or before a crash.

use entity::{collection, feed, import_row};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use uuid::Uuid;
use values::id::{CollectionId, FeedId};
use values::kind::ImportedKind;

use super::import_session::ImportSession;
use errors::Error;

impl ImportSession {
    /// Returns what a line of this import became, by the id that its object had.
    pub(in crate::imports) async fn find_imported(
        &self,
        txn: &impl ConnectionTrait,
        id: Uuid,
    ) -> Result<Option<(ImportedKind, Uuid)>, Error> {
        if let Some(object) = self.imported.get(&id) {
            return Ok(Some(*object));
        }
        // The map is only a cache of the stored rows: another run of the job may have imported the line, before a crash or before it
        // yielded.
        let row = import_row::Entity::within(self.import.user_id, self.import.id)
            .filter(import_row::Column::SourceId.eq(id))
            .one(txn)
            .await?;
        Ok(row.and_then(|row| row.kind.zip(row.object_id)))
    }

    /// Returns what a line of this import became, if it is of this kind.
    pub(in crate::imports) async fn find_imported_of_kind(
        &self,
        txn: &impl ConnectionTrait,
        kind: ImportedKind,
        id: Uuid,
    ) -> Result<Option<Uuid>, Error> {
        let object = self.find_imported(txn, id).await?;
        Ok(object.filter(|(found, _)| *found == kind).map(|(_, id)| id))
    }

    /// Returns whether a line of this import became that object.
    pub(in crate::imports) async fn is_claimed(
        &self,
        db: &impl ConnectionTrait,
        kind: ImportedKind,
        id: Uuid,
    ) -> Result<bool, Error> {
        if self.claimed.contains(&(kind, id)) {
            return Ok(true);
        }
        let row = import_row::Entity::within(self.import.user_id, self.import.id)
            .filter(import_row::Column::Kind.eq(kind))
            .filter(import_row::Column::ObjectId.eq(id));
        Ok(row.one(db).await?.is_some())
    }

    /// Returns the collection that a line became, and locks it against deletion until the transaction ends. `None` when the user
    /// has deleted it, or the line was not imported.
    pub(in crate::imports) async fn lock_imported_collection(
        &self,
        txn: &impl ConnectionTrait,
        source: Uuid,
    ) -> Result<Option<CollectionId>, Error> {
        let imported = self.find_imported_of_kind(txn, ImportedKind::Collection, source).await?;
        let Some(id) = imported else { return Ok(None) };
        let row = collection::Entity::one_of(self.import.user_id, CollectionId(id));
        // KEY SHARE, as a foreign key takes it: the collection can be renamed meanwhile, but not deleted.
        Ok(row.lock(LockType::KeyShare).one(txn).await?.map(|row| row.id))
    }

    /// Returns the feed that a line became, and locks it against deletion until the transaction ends. `None` when the user has
    /// unfollowed it, or the line was not imported.
    pub(in crate::imports) async fn lock_imported_feed(
        &self,
        txn: &impl ConnectionTrait,
        source: Uuid,
    ) -> Result<Option<FeedId>, Error> {
        let imported = self.find_imported_of_kind(txn, ImportedKind::Feed, source).await?;
        let Some(id) = imported else { return Ok(None) };
        let row = feed::Entity::one_of(self.import.user_id, FeedId(id));
        // KEY SHARE, as deliveries take it: both may add entries to the feed at the same time.
        Ok(row.lock(LockType::KeyShare).one(txn).await?.map(|row| row.id))
    }
}
