//! The beginning of an import: its row, its file and its job, in one transaction.

use entity::id::{ImportId, UserId};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, RowOutcome};
use entity::time::Timestamp;
use entity::{import_row, stored_file, user};
use parse::bookmarks::Format;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect,
};

use super::faults::MAX_LISTED_FAULTS;
use super::release_files;
use crate::context::CoreContext;
use errors::Error;
use jobs::{Priority, JobKind};
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::begin_owned;
use crate::stored_files::{self, Held, Owner};

/// Imports that are listed.
const LISTED: u64 = 50;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct New {
    /// Whose library.
    pub user: UserId,
    /// Name of the file, where it has one.
    pub file_name: Option<String>,
    /// Which program wrote the file; none is to be found out.
    pub format: Option<Format>,
    /// It is only looked at what would come of it.
    pub dry_run: bool,
}

impl New {
    /// The row of it.
    pub fn row(self, now: Timestamp) -> import::Model {
        import::Model {
            id: ImportId::new(now),
            user_id: self.user,
            file_name: self.file_name.as_deref().and_then(kept_file_name),
            state: ImportState::Running,
            dry_run: self.dry_run,
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

/// Characters of a file name that are kept.
const MAX_FILE_NAME_CHARS: usize = 255;

/// Returns the name of a file without its folders and without control characters, which PostgreSQL or a terminal may not take.
fn kept_file_name(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let kept: String = name.chars().filter(|c| !c.is_control()).take(MAX_FILE_NAME_CHARS).collect();
    (!kept.trim().is_empty()).then_some(kept)
}

/// Imports of one user whose files are still to be read. Another one is refused beyond it.
const MAX_UNDER_WAY: usize = 5;
const _: () = assert!(MAX_UNDER_WAY == 5, "the message of `make_room` has this number");
/// Files of one user's imports that are kept after a dry run or a failure: the latest.
const MAX_WAITING_FILES: usize = 5;

/// Begins an import of a file that was written. Of the user's dry runs and failed imports the latest few keep their files.
///
/// # Errors
/// [`Error::Conflict`] where as many are under way as may be, [`Error::LibraryFull`]; the database. Then there is no import.
pub async fn begin(core: &CoreContext, new: New, file: Held) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let row = new.row(now);
    let txn = begin_owned(&core.db, row.user_id).await?;
    make_room(&txn, core, row.user_id).await?;
    Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    if !stored::give(&txn, file.id, Owner::Import(row.id)).await? {
        return Err(Error::internal("a file was removed while it was written"));
    }
    ask(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(row)
}

/// Refuses to start or resume an import whose file was deleted: it is kept for a while only.
pub(super) async fn must_have_file(txn: &impl ConnectionTrait, id: ImportId) -> Result<(), Error> {
    match stored_file::Entity::of_import(id).one(txn).await? {
        Some(_) => Ok(()),
        None => Err(Error::Conflict("the file of the import was deleted: import it again")),
    }
}

/// Whether another file may come: asked before one is read, and again when it is here.
///
/// # Errors
/// [`Error::Conflict`] where as many are under way as may be, [`Error::LibraryFull`]; the database.
pub async fn may_begin(core: &CoreContext, user: UserId) -> Result<(), Error> {
    let txn = begin_owned(&core.db, user).await?;
    make_room(&txn, core, user).await
}

async fn make_room(txn: &impl ConnectionTrait, core: &CoreContext, user: UserId) -> Result<(), Error> {
    // Held, so that two that begin at once count each other.
    user::Entity::find_by_id(user).lock_exclusive().one(txn).await?.ok_or(Error::not_found())?;
    LibraryRoom::of_owner(txn, core, user).await?.must_fit(0)?;
    let under_way = [ImportState::Running, ImportState::Undoing, ImportState::Paused];
    let kept = Entity::owned_by(user)
        .filter(Expr::col(Column::Id).in_subquery(stored_file::Entity::imports()))
        .order_by_desc(Column::Id);
    let (going_on, ended): (Vec<_>, Vec<_>) =
        kept.all(txn).await?.into_iter().partition(|import| under_way.contains(&import.state));
    if going_on.len() >= MAX_UNDER_WAY {
        return Err(Error::Conflict(
            "5 imports are running or paused, and no more are allowed: wait for one to finish, or undo one",
        ));
    }
    let older = ended.into_iter().skip(MAX_WAITING_FILES).map(|import| import.id);
    release_files(txn, Condition::all().add(Column::Id.is_in(older))).await
}

/// An import of this person, as far as it is.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn find(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    Entity::one_of(user, id).one(core.db.read()).await?.ok_or(Error::not_found())
}

/// The imports of this person, the latest first.
///
/// # Errors
/// The database.
pub async fn latest(core: &CoreContext, user: UserId) -> Result<Vec<import::Model>, Error> {
    let latest = Entity::owned_by(user).order_by_desc(Column::Id).limit(LISTED);
    Ok(latest.all(core.db.read()).await?)
}

/// The rows of an import that were passed over, the first of them: where they stand, and why.
///
/// # Errors
/// The database.
pub async fn skipped(core: &CoreContext, import: &import::Model) -> Result<Vec<(i64, String)>, Error> {
    let rows = import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Outcome.eq(RowOutcome::Skipped))
        .order_by_asc(import_row::Column::Line)
        .limit(u64::from(MAX_LISTED_FAULTS.unsigned_abs()))
        .all(core.db.read())
        .await?;
    Ok(rows.into_iter().map(|row| (row.line, row.detail.unwrap_or_default())).collect())
}

pub(super) async fn ask(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: Timestamp,
) -> Result<(), Error> {
    Ok(jobs::enqueue(txn, import.user_id, JobKind::Import, import.id.0, Priority::Now, now).await?)
}

/// Takes in what was only looked at.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where it is not waiting for that.
pub async fn start(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let txn = begin_owned(&core.db, user).await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
    let started = Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Running))
        .col_expr(Column::DryRun, Expr::value(false))
        .col_expr(Column::Done, Expr::value(0_i64))
        .col_expr(Column::Created, Expr::value(0))
        .col_expr(Column::Updated, Expr::value(0))
        .col_expr(Column::Skipped, Expr::value(0))
        .col_expr(Column::UnlistedFaults, Expr::value(None::<String>))
        .col_expr(Column::FaultsInARow, Expr::value(0))
        .col_expr(Column::FinishedAt, Expr::value(None::<Timestamp>))
        .filter(Column::UserId.eq(user))
        .filter(Column::Id.eq(row.id))
        .filter(Column::State.eq(ImportState::DryRunDone))
        .exec(&txn)
        .await?;
    if started.rows_affected == 0 {
        return Err(Error::Conflict("only a finished dry run can be started"));
    }
    must_have_file(&txn, row.id).await?;
    import_row::Entity::delete_many()
        .filter(import_row::Column::UserId.eq(user))
        .filter(import_row::Column::ImportId.eq(row.id))
        .exec(&txn)
        .await?;
    ask(&txn, &row, now).await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
    txn.commit().await?;
    Ok(row)
}
