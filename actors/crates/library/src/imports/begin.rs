//! Begins an import: its row, its file and its job, in one transaction. A dry run becomes an import when it is started.

use database::library_counts::ROW_BYTES;
use entity::import::{self, Column, Entity};
use entity::{import_row, stored_file, user};
use parse::bookmarks::Format;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect,
};
use values::id::{ImportId, UserId};
use values::kind::ImportState;
use values::time::Timestamp;

use super::retention::release_files;
use crate::context::CoreContext;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::begin_owned;
use crate::stored_files::{self, FileLease, FileOwner};
use errors::Error;
use jobs::{JobKind, Priority};

const MAX_LISTED_IMPORTS: u64 = 50;

/// An import that is about to begin.
#[derive(Clone, Debug)]
pub struct NewImport {
    /// The user into whose library the file is imported.
    pub user: UserId,
    /// Name of the file, if it has one.
    pub file_name: Option<String>,
    /// Format of the file; `None` to detect it.
    pub format: Option<Format>,
    /// Whether the import only previews what would become of the rows.
    pub dry_run: bool,
}

impl NewImport {
    /// Returns the import's row, with a new id.
    pub fn row(self, now: Timestamp) -> import::Model {
        import::Model {
            id: ImportId::new(now),
            user_id: self.user,
            file_name: self.file_name.as_deref().and_then(clean_file_name),
            state: ImportState::Running,
            is_dry_run: self.dry_run,
            format: self.format.map(|format| format.name().to_owned()),
            unread_columns: None,
            done: 0,
            created: 0,
            updated: 0,
            skipped: 0,
            unlisted_faults: None,
            faults_in_a_row: 0,
            error: None,
            created_at: now,
            finished_at: None,
        }
    }
}

/// Characters of a stored file name; a longer one is cut.
const MAX_FILE_NAME_CHARS: usize = 255;

/// Returns the name of a file without its folders and without control characters, which PostgreSQL or a terminal may not take.
fn clean_file_name(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_FILE_NAME_CHARS).collect();
    (!name.trim().is_empty()).then_some(name)
}

/// Imports of one user that are running, paused or being undone and have their files. Another one is refused.
const MAX_OPEN_IMPORTS: usize = 5;
/// Files of one user's dry runs and failed imports that are kept: the latest.
const MAX_WAITING_FILES: usize = 5;

/// Begins the import of a file that was written to the store. Releases the files of the user's older dry runs and failed imports.
///
/// # Errors
/// [`Error::Conflict`] when the user has too many open imports; [`Error::LibraryFull`] when nothing more fits into the library.
/// Then there is no import.
pub async fn begin(core: &CoreContext, new: NewImport, file: FileLease) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let row = new.row(now);
    let txn = begin_owned(&core.db, row.user_id).await?;
    make_room(&txn, core, row.user_id).await?;
    Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    // Row, file and job in one transaction: after a crash there is a complete import, or a file without an owner, which is deleted.
    if !stored_files::assign(&txn, file.id, FileOwner::Import(row.id)).await? {
        return Err(Error::internal("a file was removed while it was written"));
    }
    enqueue_job(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(row)
}

/// Refuses to start or resume an import whose file was deleted because it had been kept long enough.
///
/// # Errors
/// [`Error::Conflict`] without a file.
pub(super) async fn require_file(txn: &impl ConnectionTrait, id: ImportId) -> Result<(), Error> {
    match stored_file::Entity::of_import(id).one(txn).await? {
        Some(_) => Ok(()),
        None => Err(Error::conflict("the file of the import was deleted: import it again")),
    }
}

/// Checks that the user may begin another import. Called before a file is received; [`begin`] checks it again.
///
/// # Errors
/// [`Error::Conflict`] when the user has too many open imports; [`Error::LibraryFull`] when nothing more fits into the library.
pub async fn ensure_can_begin(core: &CoreContext, user: UserId) -> Result<(), Error> {
    let txn = begin_owned(&core.db, user).await?;
    // Not committed: the check must not release files for an import whose file may never arrive.
    make_room(&txn, core, user).await
}

async fn make_room(txn: &impl ConnectionTrait, core: &CoreContext, user: UserId) -> Result<(), Error> {
    // Locked, so that of two imports that begin at the same time the second counts the first.
    user::Entity::find_by_id(user).lock_exclusive().one(txn).await?.ok_or(Error::not_found())?;
    // The row of the import counts.
    LibraryRoom::of_owner(txn, core, user).await?.must_fit(ROW_BYTES)?;
    // Imports without a file do not count: those of a request end with it, and a finished one whose pages are paused reads nothing.
    let open_states = [ImportState::Running, ImportState::Undoing, ImportState::Paused];
    let with_file = Entity::owned_by(user)
        .filter(Expr::col(Column::Id).in_subquery(stored_file::Entity::imports()))
        .order_by_desc(Column::Id);
    let (open, ended): (Vec<_>, Vec<_>) =
        with_file.all(txn).await?.into_iter().partition(|import| open_states.contains(&import.state));
    if open.len() >= MAX_OPEN_IMPORTS {
        return Err(Error::conflict(format!(
            "{MAX_OPEN_IMPORTS} imports are running or paused, and no more are allowed: wait for one to finish, or undo one"
        )));
    }
    let older: Vec<_> = ended.into_iter().skip(MAX_WAITING_FILES).map(|import| import.id).collect();
    if older.is_empty() {
        return Ok(());
    }
    release_files(txn, Condition::all().add(Column::Id.is_in(older))).await
}

/// Finds an import of a user.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist or belongs to another user.
pub async fn find(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    Entity::one_of(user, id).one(core.db.read()).await?.ok_or(Error::not_found())
}

/// Lists the latest 50 imports of a user, the latest first.
pub async fn list_latest(core: &CoreContext, user: UserId) -> Result<Vec<import::Model>, Error> {
    let latest = Entity::owned_by(user).order_by_desc(Column::Id).limit(MAX_LISTED_IMPORTS);
    Ok(latest.all(core.db.read()).await?)
}

/// Enqueues the job of an import, in the transaction that sets its state.
pub(super) async fn enqueue_job(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: Timestamp,
) -> Result<(), Error> {
    Ok(jobs::enqueue(txn, import.user_id, JobKind::Import, import.id.0, Priority::Now, now).await?)
}

/// Starts the import of a dry run that has finished. Deletes the rows of the dry run.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist or belongs to another user; [`Error::Conflict`] when it is not a finished dry run, or
/// its file was deleted.
pub async fn start(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let txn = begin_owned(&core.db, user).await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
    let started = Entity::update_owned(user)
        .col_expr(Column::State, Expr::value(ImportState::Running))
        .col_expr(Column::IsDryRun, Expr::value(false))
        .col_expr(Column::Done, Expr::value(0_i64))
        .col_expr(Column::Created, Expr::value(0))
        .col_expr(Column::Updated, Expr::value(0))
        .col_expr(Column::Skipped, Expr::value(0))
        .col_expr(Column::UnlistedFaults, Expr::value(None::<String>))
        .col_expr(Column::FaultsInARow, Expr::value(0))
        .col_expr(Column::FinishedAt, Expr::value(None::<Timestamp>))
        .filter(Column::Id.eq(row.id))
        .filter(Column::State.eq(ImportState::DryRunDone))
        .exec(&txn)
        .await?;
    if started.rows_affected == 0 {
        return Err(Error::conflict("only a finished dry run can be started; wait until it has finished"));
    }
    require_file(&txn, row.id).await?;
    // The rows of the dry run name no objects. The import writes its own, from the first row on.
    import_row::Entity::delete_owned(user).filter(import_row::Column::ImportId.eq(row.id)).exec(&txn).await?;
    enqueue_job(&txn, &row, now).await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
    txn.commit().await?;
    Ok(row)
}
