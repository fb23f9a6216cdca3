//! Taking an import back: what it made goes, the newest first, and what it only added to loses what it got: tags, filings,
//! marks, progress, notes. What was deleted can be restored as after any deletion.

use entity::id::{
    BookmarkId, CollectionId, DecisionId, DocumentId, EntryId, FeedId, HighlightId, ImportId, NoteId,
    ProjectId, ProjectItemId, UserId,
};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, ImportedKind, RowOutcome};
use entity::{
    bookmark, collection, collection_bookmark, decision, entry, highlight, import_row, job, note,
    project_item,
};
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};
use uuid::Uuid;

use super::pause::release_pages;
use super::{added, begin, hand_on, made, said};
use crate::app::App;
use crate::desk::Desk;
use crate::error::Error;
use crate::ingest::queue::Priority;
use crate::ingest::{Failure, queue};
use crate::ops::bookmarks::save::{self, AT_ONCE};
use crate::ops::{bookmarks, feeds, notes, projects};

/// Rows of one transaction.
const LOT: u64 = 100;

/// Begins to take an import back.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where nothing was made, or it is being made.
pub async fn undo(desk: &Desk, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = desk.clock.now();
    let txn = desk.db.begin().await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::NotFound)?;
    let begun = Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Undoing))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .filter(Column::Id.eq(row.id))
        .filter(Column::DryRun.eq(false))
        .filter(Column::State.is_in([
            ImportState::Done,
            ImportState::Paused,
            ImportState::Failed,
            ImportState::HalfUndone,
        ]))
        .exec(&txn)
        .await?;
    if begun.rows_affected == 0 {
        return Err(Error::Conflict("the import can be taken back once it is done, paused or failed"));
    }
    // What waited while it was paused finds its document gone.
    release_pages(&txn, &row, now).await?;
    begin::ask(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(import::Model { state: ImportState::Undoing, error: None, ..row })
}

/// Takes rows back, a lot at a time.
///
/// # Errors
/// [`Failure`], as every job.
pub async fn run(app: &App, job: &job::Model, import: &import::Model) -> Result<(), Failure> {
    loop {
        let now = app.clock.now();
        let txn = app.db.begin().await?;
        let lot = import_row::Entity::within(import.user_id, import.id)
            .filter(import_row::Column::MadeId.is_not_null())
            .filter(import_row::Column::Kind.ne(ImportedKind::Collection))
            .order_by_desc(import_row::Column::Line)
            // What was made beside a row goes after the row: `beside` comes before the names of all other outcomes.
            .order_by_desc(import_row::Column::Outcome)
            .order_by_desc(import_row::Column::Id)
            .limit(LOT)
            .all(&txn)
            .await?;
        if lot.is_empty() {
            drop(txn);
            remove_collections(app, job, import).await?;
            let txn = app.db.begin().await?;
            if queue::finish(&txn, job, app.clock.now()).await? {
                undone(&txn, import, now).await?;
                txn.commit().await?;
            }
            return Ok(());
        }
        if !queue::advance(&txn, job, now).await? {
            return Err(Failure::LeaseLost);
        }
        hold(&txn, import.user_id, &lot).await?;
        for row in &lot {
            take_back(&txn, app, row).await?;
        }
        import_row::Entity::update_many()
            .col_expr(import_row::Column::MadeId, Expr::value(None::<Uuid>))
            .filter(import_row::Column::UserId.eq(import.user_id))
            .filter(import_row::Column::Id.is_in(lot.iter().map(|row| row.id)))
            .exec(&txn)
            .await?;
        txn.commit().await?;
        app.ingest.wake();
    }
}

/// Holds the bookmarks of a lot, in the order in which everybody does.
async fn hold(txn: &impl ConnectionTrait, user: UserId, lot: &[import_row::Model]) -> Result<(), Error> {
    let of_bookmarks = lot.iter().filter(|row| row.kind == Some(ImportedKind::Bookmark));
    let ids = of_bookmarks.filter_map(|row| row.made_id);
    let chosen = bookmark::Entity::owned_by(user).filter(bookmark::Column::Id.is_in(ids));
    save::lock(txn, chosen).await.map(drop)
}

async fn undone(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: entity::time::Timestamp,
) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Undone))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(Column::UserId.eq(import.user_id))
        .filter(Column::Id.eq(import.id))
        .exec(txn)
        .await?;
    Ok(())
}

async fn take_back(txn: &impl ConnectionTrait, app: &App, row: &import_row::Model) -> Result<(), Error> {
    let (Some(kind), Some(id), user, now) = (row.kind, row.made_id, row.user_id, app.clock.now()) else {
        return Ok(());
    };
    match (row.outcome, kind) {
        (RowOutcome::Updated, ImportedKind::Bookmark) => {
            added::take_back(txn, user, BookmarkId(id), &said::alone(txn, row).await?, now).await
        }
        (RowOutcome::Updated, ImportedKind::Entry) => {
            added::unmark(txn, user, EntryId(id), &said::alone(txn, row).await?).await
        }
        (RowOutcome::Updated | RowOutcome::Skipped, _) => Ok(()),
        (RowOutcome::Created | RowOutcome::Beside, _)
            if hand_on::thing(txn, user, row.import_id, id).await? =>
        {
            Ok(())
        }
        (RowOutcome::Created | RowOutcome::Beside, kind) => match kind {
            ImportedKind::Bookmark => {
                // What it added to one that was handed on to it is not its person's.
                if row.detail.is_some() {
                    added::take_back(txn, user, BookmarkId(id), &said::alone(txn, row).await?, now).await?;
                }
                match is_used(txn, row, BookmarkId(id)).await? {
                    true => Ok(()),
                    false => gone(bookmarks::delete(txn, user, BookmarkId(id), Priority::Backlog, now).await),
                }
            }
            ImportedKind::Feed if has_kept(txn, row, FeedId(id)).await? => Ok(()),
            ImportedKind::Feed => gone(feeds::leave(txn, user, FeedId(id), now).await),
            // They go last, once nothing is in them any more.
            ImportedKind::Collection => Ok(()),
            ImportedKind::Highlight => {
                let own = highlight::Entity::delete_many().filter(highlight::Column::UserId.eq(user));
                own.filter(highlight::Column::Id.eq(HighlightId(id))).exec(txn).await?;
                Ok(())
            }
            ImportedKind::Project => gone(projects::delete_empty(txn, user, ProjectId(id)).await),
            ImportedKind::Note if is_own(txn, user, NoteId(id)).await? => Ok(()),
            ImportedKind::Note => gone(notes::take_back(txn, user, NoteId(id), now).await),
            ImportedKind::Decision => {
                let own = decision::Entity::delete_many().filter(decision::Column::UserId.eq(user));
                own.filter(decision::Column::Id.eq(DecisionId(id))).exec(txn).await?;
                Ok(())
            }
            ImportedKind::Item => {
                let own = project_item::Entity::delete_many().filter(project_item::Column::UserId.eq(user));
                own.filter(project_item::Column::Id.eq(ProjectItemId(id))).exec(txn).await?;
                Ok(())
            }
            // Those of a feed that was followed before stay, as what the feed brings does.
            ImportedKind::Entry => Ok(()),
        },
    }
}

/// Whether its person has since marked something in it, written of it, filed it, or put it into a project: then it stays.
async fn is_used(
    txn: &impl ConnectionTrait,
    made: &import_row::Model,
    id: BookmarkId,
) -> Result<bool, Error> {
    let user = made.user_id;
    let Some(row) = bookmark::Entity::one_of(user, id).one(txn).await? else { return Ok(false) };
    // The marks that the import brought go after their bookmark.
    let brought = import_row::Entity::within(user, made.import_id)
        .filter(import_row::Column::Kind.eq(ImportedKind::Highlight))
        .filter(import_row::Column::MadeId.is_not_null())
        .select_only()
        .column(import_row::Column::MadeId);
    let marked = highlight::Entity::owned_by(user)
        .filter(highlight::Column::BookmarkId.eq(id))
        .filter(highlight::Column::Id.not_in_subquery(brought.into_query()));
    let written = note::Entity::owned_by(user)
        .filter(note::Column::BookmarkId.eq(id))
        .filter(note::Column::Body.ne(""))
        .filter(note::Column::UpdatedAt.gt(row.created_at));
    let filed = collection_bookmark::Entity::owned_by(user)
        .filter(collection_bookmark::Column::BookmarkId.eq(id))
        .filter(collection_bookmark::Column::AddedAt.gt(row.created_at));
    Ok(marked.one(txn).await?.is_some()
        || written.one(txn).await?.is_some()
        || filed.one(txn).await?.is_some()
        || is_placed(txn, user, [row.document_id]).await?)
}

/// Whether one of these documents stands in a project. What the import itself put there was taken back before them.
async fn is_placed(
    txn: &impl ConnectionTrait,
    user: UserId,
    documents: impl IntoIterator<Item = DocumentId>,
) -> Result<bool, Error> {
    let placed = project_item::Entity::owned_by(user);
    let placed = placed.filter(project_item::Column::DocumentId.is_in(documents));
    Ok(placed.one(txn).await?.is_some())
}

/// Whether its person has written in a note since, or put it into a project: it cannot be restored, so it stays.
async fn is_own(txn: &impl ConnectionTrait, user: UserId, id: NoteId) -> Result<bool, Error> {
    let Some(row) = note::Entity::one_of(user, id).one(txn).await? else { return Ok(false) };
    // Its own times may be older: an export brings them along.
    let is_changed = id.made_at().is_some_and(|taken_in| row.updated_at > taken_in);
    Ok(is_changed || is_placed(txn, user, [row.document_id]).await?)
}

/// Whether its person keeps something of a feed: an entry that was starred since, or stands in a project. The stars of an
/// export are the import's own.
async fn has_kept(txn: &impl ConnectionTrait, row: &import_row::Model, id: FeedId) -> Result<bool, Error> {
    let entries = entry::Entity::owned_by(row.user_id).filter(entry::Column::FeedId.eq(id));
    let brought = import_row::Entity::within(row.user_id, row.import_id)
        .filter(import_row::Column::Kind.eq(ImportedKind::Entry));
    if brought.one(txn).await?.is_none()
        && entries.clone().filter(entry::Column::Starred.eq(true)).one(txn).await?.is_some()
    {
        return Ok(true);
    }
    let documents: Vec<DocumentId> =
        entries.select_only().column(entry::Column::DocumentId).into_tuple().all(txn).await?;
    for some in documents.chunks(AT_ONCE) {
        if is_placed(txn, row.user_id, some.iter().copied()).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is gone already need not go.
fn gone<T>(done: Result<T, Error>) -> Result<(), Error> {
    match done {
        Ok(_) | Err(Error::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The collections that were made and hold nothing else by now, a lot at a time; those within others go before these.
async fn remove_collections(app: &App, job: &job::Model, import: &import::Model) -> Result<(), Failure> {
    let mut left = made::collections(app.db.read(), import).await?;
    loop {
        let mut stay = Vec::new();
        for some in left.chunks(AT_ONCE) {
            let (now, txn) = (app.clock.now(), app.db.begin().await?);
            if !queue::advance(&txn, job, now).await? {
                return Err(Failure::LeaseLost);
            }
            stay.extend(remove_empty(&txn, import.user_id, some).await?);
            txn.commit().await?;
        }
        if stay.len() == left.len() {
            let (now, txn) = (app.clock.now(), app.db.begin().await?);
            hand_on::collections(&txn, (import.user_id, import.id), stay, now).await?;
            return Ok(txn.commit().await?);
        }
        left = stay;
    }
}

/// Removes those in which nothing is; the others.
async fn remove_empty(
    txn: &impl ConnectionTrait,
    user: UserId,
    some: &[CollectionId],
) -> Result<Vec<CollectionId>, Error> {
    let filing = |column| Expr::col((collection_bookmark::Entity, column));
    let filed = Query::select()
        .expr(Expr::val(1))
        .from(collection_bookmark::Entity)
        .inner_join(
            bookmark::Entity,
            Expr::col((bookmark::Entity, bookmark::Column::Id))
                .equals((collection_bookmark::Entity, collection_bookmark::Column::BookmarkId)),
        )
        .and_where(
            filing(collection_bookmark::Column::CollectionId)
                .equals((collection::Entity, collection::Column::Id)),
        )
        .and_where(filing(collection_bookmark::Column::UserId).eq(user))
        .and_where(Expr::col((bookmark::Entity, bookmark::Column::DeletedAt)).is_null())
        .to_owned();
    let inner = Alias::new("inner_one");
    let within = Query::select()
        .expr(Expr::val(1))
        .from_as(collection::Entity, inner.clone())
        .and_where(Expr::col((inner.clone(), collection::Column::UserId)).eq(user))
        .and_where(
            Expr::col((inner, collection::Column::ParentId))
                .equals((collection::Entity, collection::Column::Id)),
        )
        .to_owned();
    collection::Entity::delete_many()
        .filter(collection::Column::UserId.eq(user))
        .filter(collection::Column::Id.is_in(some.iter().copied()))
        .filter(Expr::exists(filed).not())
        .filter(Expr::exists(within).not())
        .exec(txn)
        .await?;
    let stay = collection::Entity::owned_by(user)
        .filter(collection::Column::Id.is_in(some.iter().copied()))
        .select_only()
        .column(collection::Column::Id);
    Ok(stay.into_tuple().all(txn).await?)
}
