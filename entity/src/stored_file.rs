//! The bytes of a file in the store. The row is there before the first byte and until the last is gone, so no crash
//! leaves a file that no row names.

use crate::id::{DocumentId, ExportId, FileId, ImportId, UploadId, UserId};
use crate::time::Timestamp;
use sea_orm::Condition;
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Query, SelectStatement};

/// The bytes of a file in the store.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "stored_file")]
pub struct Model {
    /// The file.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FileId,
    /// The upload whose bytes these are; none while they arrive, and once nothing needs them any more.
    pub upload_id: Option<UploadId>,
    /// The import whose file this is.
    pub import_id: Option<ImportId>,
    /// The export whose file this is.
    pub export_id: Option<ExportId>,
    /// The document whose recording this is, as it was fetched, until it was heard.
    pub document_id: Option<DocumentId>,
    /// The account towards whose `transfer_bytes` it counts: the file of an import or an export, from before its first byte.
    pub user_id: Option<UserId>,
    /// How many bytes it takes up, or are reserved for it while it is written; 0 of a file that counts towards no account.
    pub bytes: i64,
    /// Its path in the store, made from the id alone.
    #[sea_orm(column_type = "Text")]
    pub path: String,
    /// A file that belongs to nothing is left alone until then: somebody writes it. Of a fetched recording: when it was used
    /// last.
    pub held_until: Timestamp,
    /// It is being removed and can belong to nothing any more.
    pub doomed: bool,
}

crate::owned::no_relations!();

impl Entity {
    /// The bytes of an upload.
    pub fn of_upload(id: UploadId) -> Select<Entity> {
        Self::find().filter(Column::UploadId.eq(id))
    }

    /// The bytes of several uploads.
    pub fn of_uploads(ids: impl IntoIterator<Item = UploadId>) -> Select<Entity> {
        Self::find().filter(Column::UploadId.is_in(ids))
    }

    /// The file of an import.
    pub fn of_import(id: ImportId) -> Select<Entity> {
        Self::find().filter(Column::ImportId.eq(id))
    }

    /// The imports that have a file.
    pub fn imports() -> SelectStatement {
        let mut select = Query::select();
        select.column(Column::ImportId).from(Self).and_where(Column::ImportId.is_not_null()).to_owned()
    }

    /// The file of an export.
    pub fn of_export(id: ExportId) -> Select<Entity> {
        Self::find().filter(Column::ExportId.eq(id))
    }

    /// The fetched recording of a document.
    pub fn of_document(id: DocumentId) -> Select<Entity> {
        Self::find().filter(Column::DocumentId.eq(id))
    }

    /// The files of a user's imports and exports that are kept or being written.
    pub fn transfers_of(user: UserId, now: Timestamp) -> Select<Entity> {
        let is_needed = Condition::any()
            .add(Column::ImportId.is_not_null())
            .add(Column::ExportId.is_not_null())
            .add(Column::HeldUntil.gt(now));
        Self::find().filter(Column::UserId.eq(user)).filter(is_needed).filter(Column::Doomed.eq(false))
    }

    /// Files that nothing needs and nobody writes: for removal.
    pub fn loose(now: Timestamp) -> Select<Entity> {
        Self::find().filter(Self::owned_by_nothing()).filter(Column::HeldUntil.lt(now))
    }

    /// Whether a file belongs to nothing.
    pub fn owned_by_nothing() -> Condition {
        Condition::all()
            .add(Column::UploadId.is_null())
            .add(Column::ImportId.is_null())
            .add(Column::ExportId.is_null())
            .add(Column::DocumentId.is_null())
    }
}
