//! How many bytes the files of a user's imports and exports may take up together: `plans.<plan>.transfer_bytes`.
//!
//! A file counts by its row in `stored_file`, from before its first byte until it is released, with the bytes that are reserved
//! for it. They are reserved in a transaction that locks the user's rows ([`crate::owned_transaction`]), so of two concurrent
//! files the second counts the first. The file of a writer that died counts for half a minute more.
//!
//! Some files are kept only in case they are needed again. They are released for a new file that does not fit otherwise: first
//! the files of imports that wait after a dry run or failed, then packed exports, each time the oldest. The latest export is released
//! only for another export, and only once that is packed ([`finish_export`]), so that a failed export does not replace it. Until
//! then it counts as released for the new one although it still exists, so the files may exceed the plan's limit by at most the
//! bytes of the latest export.

use std::collections::HashSet;

use entity::stored_file::{Column, Entity, Model};
use entity::{export, import, user};
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};
use values::id::{ExportId, FileId, ImportId, UserId};
use values::kind::ImportState;
use values::time::Timestamp;

use crate::context::CoreContext;
use crate::owned_transaction::begin_owned;
use crate::stored_files::{self, FileLease};
use errors::Error;

/// The purpose of a file that counts towards the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// The file is to be imported.
    Import,
    /// The file is an export that is being packed.
    Export,
}

/// Returns the bytes that the files of a user's imports and exports take up, or that are reserved for them.
pub async fn used_bytes(db: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<u64, Error> {
    let files = Entity::transfers_of(user, now).all(db).await?;
    Ok(total(files.iter().map(|file| bytes_of(file.bytes))))
}

/// Checks that there is room for a file of unknown length.
///
/// # Errors
/// [`Error::TransfersFull`] when there is none; [`Error::NotFound`] when the account was removed.
pub async fn must_have_room(
    db: &impl ConnectionTrait,
    core: &CoreContext,
    user: UserId,
    kind: TransferKind,
) -> Result<(), Error> {
    let (kept, limit) = (kept_files(db, user, core.clock.now()).await?, limit_of(db, core, user).await?);
    // One byte: the length is not known, and a quota that is used up must refuse every file.
    if files_to_release(&kept, 1, limit, kind).is_some() { Ok(()) } else { Err(full_error(&kept, limit)) }
}

/// Creates the row of a file that is about to be written, leases it, and reserves bytes for it: 0 if its length is unknown.
///
/// # Errors
/// [`Error::TransfersFull`] when they do not fit; [`Error::NotFound`] when the account was removed; [`Error::Internal`] when the
/// database fails. The file must not be written then.
pub async fn lease(
    core: &CoreContext,
    user: UserId,
    kind: TransferKind,
    bytes: u64,
) -> Result<FileLease, Error> {
    let row = Model { user_id: Some(user), bytes: column_of(bytes), ..stored_files::new_row(core) };
    // The lock of `begin_owned` makes the check and the insert one step: files that begin at the same time count each other.
    let txn = begin_owned(&core.db, user).await?;
    make_room(&txn, core, user, NewFile { id: row.id, kind, bytes }).await?;
    Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    txn.commit().await?;
    Ok(stored_files::start_lease(core, None, row))
}

/// Reserves this many bytes in total for a file that is being written.
///
/// # Errors
/// The same as [`lease`]; the file keeps what was reserved before.
pub async fn reserve(
    core: &CoreContext,
    user: UserId,
    file: FileId,
    kind: TransferKind,
    bytes: u64,
) -> Result<(), Error> {
    let txn = begin_owned(&core.db, user).await?;
    make_room(&txn, core, user, NewFile { id: file, kind, bytes }).await?;
    record_bytes(&txn, user, file, bytes).await?;
    Ok(txn.commit().await?)
}

/// Releases the files that a packed export replaces, including the latest export before it, in the transaction that finishes it.
///
/// # Errors
/// The same as [`lease`]: [`Error::TransfersFull`] when the plan allows less than when the export was packed.
pub async fn finish_export(
    txn: &impl ConnectionTrait,
    core: &CoreContext,
    user: UserId,
    file: FileId,
    bytes: u64,
) -> Result<(), Error> {
    let plan = find_room(txn, core, user, NewFile { id: file, kind: TransferKind::Export, bytes }).await?;
    release(txn, user, &plan.to_release).await
}

/// Records the length of a file, which is at most what was reserved for it.
pub async fn record_bytes(
    db: &impl ConnectionTrait,
    user: UserId,
    file: FileId,
    bytes: u64,
) -> Result<(), Error> {
    Entity::update_owned(user)
        .col_expr(Column::Bytes, Expr::value(column_of(bytes)))
        .filter(Column::Id.eq(file))
        .exec(db)
        .await?;
    Ok(())
}

/// A file for which bytes are to be reserved.
#[derive(Clone, Copy)]
struct NewFile {
    id: FileId,
    kind: TransferKind,
    bytes: u64,
}

/// Releases other files for a file that is being written, or refuses the file. The latest export is kept even
/// where it counts as released.
async fn make_room(
    txn: &impl ConnectionTrait,
    core: &CoreContext,
    user: UserId,
    new: NewFile,
) -> Result<(), Error> {
    let ReleasePlan { mut to_release, latest_export } = find_room(txn, core, user, new).await?;
    // An export reserves bytes many times while it is packed and may still fail; the user must not lose the latest one to it.
    to_release.retain(|file| Some(file.id) != latest_export);
    release(txn, user, &to_release).await
}

/// The files that are released for a new one.
struct ReleasePlan {
    to_release: Vec<KeptFile>,
    /// The file of the latest packed export, whether it is released or not.
    latest_export: Option<FileId>,
}

/// Finds room for a file, or refuses the file. A file counts as one byte at least.
async fn find_room(
    txn: &impl ConnectionTrait,
    core: &CoreContext,
    user: UserId,
    new: NewFile,
) -> Result<ReleasePlan, Error> {
    let mut kept = kept_files(txn, user, core.clock.now()).await?;
    // The file's earlier reservation is part of the new one.
    kept.retain(|file| file.id != new.id);
    let limit = limit_of(txn, core, user).await?;
    match files_to_release(&kept, new.bytes.max(1), limit, new.kind) {
        Some(to_release) => Ok(ReleasePlan { to_release, latest_export: latest_export(&kept) }),
        None => Err(full_error(&kept, limit)),
    }
}

fn latest_export(kept: &[KeptFile]) -> Option<FileId> {
    kept.iter().rfind(|file| matches!(file.purpose, Purpose::Export(_))).map(|file| file.id)
}

async fn limit_of(db: &impl ConnectionTrait, core: &CoreContext, user: UserId) -> Result<u64, Error> {
    // The plan is read again: the file of an import may arrive for hours, and an export is packed by a job.
    let owner = user::Entity::find_by_id(user).one(db).await?.ok_or(Error::not_found())?;
    Ok(core.plans.limits(owner.plan).transfer_bytes)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeptFile {
    id: FileId,
    bytes: u64,
    purpose: Purpose,
}

/// The reason to keep a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// It is being written or read.
    InUse,
    /// Its import may still be started or resumed.
    WaitingImport,
    /// It is a packed export.
    Export(ExportId),
}

/// Returns the files that count towards the limit, the oldest first.
async fn kept_files(db: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<Vec<KeptFile>, Error> {
    // Ids are UUIDv7, so their order is the order in which the files were begun.
    let rows = Entity::transfers_of(user, now).order_by_asc(Column::Id).all(db).await?;
    let imports = rows.iter().filter_map(|row| row.import_id).collect();
    let waiting = waiting_imports(db, user, imports).await?;
    let purpose = |row: &Model| match (row.import_id, row.export_id) {
        (Some(import), _) if waiting.contains(&import) => Purpose::WaitingImport,
        (None, Some(export)) => Purpose::Export(export),
        // A file without an owner is being written under its lease.
        (Some(_), _) | (None, None) => Purpose::InUse,
    };
    let kept =
        rows.iter().map(|row| KeptFile { id: row.id, bytes: bytes_of(row.bytes), purpose: purpose(row) });
    Ok(kept.collect())
}

/// Returns those of these imports that are idle until their user starts or resumes them.
async fn waiting_imports(
    db: &impl ConnectionTrait,
    user: UserId,
    imports: Vec<ImportId>,
) -> Result<HashSet<ImportId>, Error> {
    if imports.is_empty() {
        return Ok(HashSet::new());
    }
    // Not `Paused`: a paused import is one that the user means to continue, and it needs the rest of its file.
    let waiting = [ImportState::DryRunDone, ImportState::Failed, ImportState::HalfUndone];
    let found: Vec<ImportId> = import::Entity::owned_by(user)
        .filter(import::Column::Id.is_in(imports))
        .filter(import::Column::State.is_in(waiting))
        .select_only()
        .column(import::Column::Id)
        .into_tuple()
        .all(db)
        .await?;
    Ok(found.into_iter().collect())
}

/// Returns the files to release for a file of this many bytes, or `None` if it does not fit even then.
fn files_to_release(kept: &[KeptFile], bytes: u64, limit: u64, kind: TransferKind) -> Option<Vec<KeptFile>> {
    let mut used = total(kept.iter().map(|file| file.bytes));
    let mut files = Vec::new();
    for file in spare_files(kept, kind) {
        if used.saturating_add(bytes) <= limit {
            break;
        }
        used = used.saturating_sub(file.bytes);
        files.push(*file);
    }
    (used.saturating_add(bytes) <= limit).then_some(files)
}

/// Returns the files that may be released, in the order in which they are.
fn spare_files(kept: &[KeptFile], kind: TransferKind) -> impl Iterator<Item = &KeptFile> {
    let exports = kept.iter().filter(|file| matches!(file.purpose, Purpose::Export(_)));
    let count = match kind {
        TransferKind::Import => exports.clone().count().saturating_sub(1),
        TransferKind::Export => exports.clone().count(),
    };
    kept.iter().filter(|file| file.purpose == Purpose::WaitingImport).chain(exports.take(count))
}

/// Detaches files from their imports, and deletes the exports that own them. The clean-up of the store deletes the files within
/// seconds, once this transaction is committed.
async fn release(txn: &impl ConnectionTrait, user: UserId, files: &[KeptFile]) -> Result<(), Error> {
    if files.is_empty() {
        return Ok(());
    }
    Entity::update_owned(user)
        .col_expr(Column::ImportId, Expr::value(None::<ImportId>))
        .filter(Column::Id.is_in(files.iter().map(|file| file.id)))
        .exec(txn)
        .await?;
    let exports = files.iter().filter_map(|file| match file.purpose {
        Purpose::Export(id) => Some(id),
        Purpose::InUse | Purpose::WaitingImport => None,
    });
    let exports: Vec<ExportId> = exports.collect();
    if exports.is_empty() {
        return Ok(());
    }
    // The file of a deleted export has no owner, so it is deleted too.
    export::Entity::delete_owned(user).filter(export::Column::Id.is_in(exports)).exec(txn).await?;
    Ok(())
}

fn full_error(kept: &[KeptFile], limit: u64) -> Error {
    Error::TransfersFull { used: total(kept.iter().map(|file| file.bytes)), limit }
}

fn total(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

fn bytes_of(column: i64) -> u64 {
    u64::try_from(column).unwrap_or_default()
}

/// Returns the bytes as a value of a signed column. A larger number exceeds every limit anyway.
fn column_of(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};
    use uuid::Uuid;

    use super::*;

    const WAITING: Purpose = Purpose::WaitingImport;
    const EXPORT: Purpose = Purpose::Export(ExportId(Uuid::nil()));

    /// Files of these sizes, oldest first.
    fn files_of<const N: usize>(files: [(u64, Purpose); N]) -> Vec<KeptFile> {
        let file = |(n, (bytes, purpose))| KeptFile { id: FileId(Uuid::from_u128(n)), bytes, purpose };
        (0..).zip(files).map(file).collect()
    }

    /// Numbers of the files that are released under a limit of 100 bytes.
    fn released_numbers(kept: &[KeptFile], bytes: u64, kind: TransferKind) -> Option<Vec<u128>> {
        let files = files_to_release(kept, bytes, 100, kind)?;
        Some(files.iter().map(|file| file.id.0.as_u128()).collect())
    }

    #[test]
    fn file_fits_if_files_in_use_leave_room() {
        let kept = files_of([(60, Purpose::InUse)]);

        assert_eq!(released_numbers(&kept, 40, TransferKind::Import), Some(vec![]));
        assert_eq!(released_numbers(&kept, 41, TransferKind::Import), None);
        assert_eq!(released_numbers(&kept, u64::MAX, TransferKind::Export), None);
    }

    #[test]
    fn files_of_waiting_imports_are_released_before_exports() {
        let kept = files_of([(30, EXPORT), (30, WAITING), (30, WAITING), (10, EXPORT)]);

        assert_eq!(released_numbers(&kept, 30, TransferKind::Import), Some(vec![1]));
        assert_eq!(released_numbers(&kept, 31, TransferKind::Import), Some(vec![1, 2]));
        assert_eq!(released_numbers(&kept, 61, TransferKind::Import), Some(vec![1, 2, 0]));
    }

    #[test]
    fn latest_export_is_released_only_for_an_export() {
        let kept = files_of([(10, EXPORT), (60, EXPORT)]);

        assert_eq!(released_numbers(&kept, 40, TransferKind::Import), Some(vec![0]));
        assert_eq!(released_numbers(&kept, 41, TransferKind::Import), None);
        assert_eq!(released_numbers(&kept, 41, TransferKind::Export), Some(vec![0, 1]));
        assert_eq!(latest_export(&kept), Some(kept[1].id));
    }

    #[tokio::test]
    async fn files_of_a_user_are_found_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let (user, now) = (UserId(Uuid::from_u128(7)), Timestamp::from_millis(1));

        let find = Entity::transfers_of(user, now).order_by_asc(Column::Id).build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&db, find).await.unwrap();

        assert!(plan.has_step("stored_file_user (user_id=?)"), "{plan:#?}");
    }
}
