//! A file in the blob store. The row exists before the first byte is written and until the file is removed, so that no crash leaves
//! a file without a row.

use sea_orm::Condition;
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Query, SelectStatement};
use values::id::{DocumentId, ExportId, FileId, ImportId, UploadId, UserId};
use values::time::Timestamp;

/// A file in the blob store.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "stored_file")]
pub struct Model {
    /// Id of the file.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FileId,
    /// The upload whose content this is; `None` while it is received, and once it is no longer needed.
    pub upload_id: Option<UploadId>,
    /// The import whose file this is.
    pub import_id: Option<ImportId>,
    /// The export whose file this is.
    pub export_id: Option<ExportId>,
    /// The document whose fetched recording this is, until it is transcribed.
    pub document_id: Option<DocumentId>,
    /// The user towards whose `transfer_bytes` it counts: set for files of imports and exports before their first byte is written.
    pub user_id: Option<UserId>,
    /// Its size in bytes, or the bytes reserved for it while it is written; 0 if it counts towards no user.
    pub bytes: i64,
    /// Its path in the store, derived from its id, or from the id of the upload while a client sends the bytes to a bucket.
    #[sea_orm(column_type = "Text")]
    pub path: String,
    /// Time before which a file without an owner is not removed, because it is being written or its removal failed. For a fetched
    /// recording it is the time of the last use.
    pub keep_until: Timestamp,
    /// Whether it is being removed; then it cannot be assigned to an owner.
    pub is_being_deleted: bool,
}

crate::owned::no_relations!();

impl Entity {
    /// Returns an update of files that count towards this user's `transfer_bytes`.
    pub fn update_owned(user: UserId) -> sea_orm::UpdateMany<Entity> {
        Self::update_many().filter(Column::UserId.eq(user))
    }

    /// Returns an update of the files of an upload.
    pub fn update_of_upload(id: UploadId) -> sea_orm::UpdateMany<Entity> {
        Self::update_many().filter(Column::UploadId.eq(id))
    }

    /// Returns an update of the files of a document.
    pub fn update_of_document(id: DocumentId) -> sea_orm::UpdateMany<Entity> {
        Self::update_many().filter(Column::DocumentId.eq(id))
    }

    /// Returns an update of the file with this id, if it has no owner.
    pub fn update_unowned(id: FileId) -> sea_orm::UpdateMany<Entity> {
        Self::update_many().filter(Column::Id.eq(id)).filter(Self::is_unowned())
    }

    /// Returns the file of an upload.
    pub fn of_upload(id: UploadId) -> Select<Entity> {
        Self::find().filter(Column::UploadId.eq(id))
    }

    /// Returns the files of several uploads.
    pub fn of_uploads(ids: impl IntoIterator<Item = UploadId>) -> Select<Entity> {
        Self::find().filter(Column::UploadId.is_in(ids))
    }

    /// Returns the file of an import.
    pub fn of_import(id: ImportId) -> Select<Entity> {
        Self::find().filter(Column::ImportId.eq(id))
    }

    /// Returns a query for the ids of the imports that have a file.
    pub fn imports() -> SelectStatement {
        let mut select = Query::select();
        select.column(Column::ImportId).from(Self).and_where(Column::ImportId.is_not_null()).to_owned()
    }

    /// Returns the file of an export.
    pub fn of_export(id: ExportId) -> Select<Entity> {
        Self::find().filter(Column::ExportId.eq(id))
    }

    /// Returns the fetched recording of a document.
    pub fn of_document(id: DocumentId) -> Select<Entity> {
        Self::find().filter(Column::DocumentId.eq(id))
    }

    /// Returns the files of a user's imports and exports that are kept or being written.
    pub fn transfers_of(user: UserId, now: Timestamp) -> Select<Entity> {
        let is_needed = Condition::any()
            .add(Column::ImportId.is_not_null())
            .add(Column::ExportId.is_not_null())
            .add(Column::KeepUntil.gt(now));
        Self::find()
            .filter(Column::UserId.eq(user))
            .filter(is_needed)
            .filter(Column::IsBeingDeleted.eq(false))
    }

    /// Returns the files that have no owner and are not being written, for removal.
    pub fn unused(now: Timestamp) -> Select<Entity> {
        Self::find().filter(Self::is_unowned()).filter(Column::KeepUntil.lt(now))
    }

    /// Returns the condition that a file has no owner.
    pub fn is_unowned() -> Condition {
        Condition::all()
            .add(Column::UploadId.is_null())
            .add(Column::ImportId.is_null())
            .add(Column::ExportId.is_null())
            .add(Column::DocumentId.is_null())
    }
}
