//! What its person has made their own since it was taken in: it stays.

use entity::id::{BookmarkId, DecisionId, DocumentId, FeedId, NoteId, UserId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{bookmark, collection_bookmark, decision, entry, highlight, import_row, note, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect, QueryTrait};

use crate::error::Error;
use crate::ops::bookmarks::save::AT_ONCE;

/// Whether its person has since marked something in it, written of it, filed it, or put it into a project: then it stays.
pub async fn is_used(
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
pub async fn is_own(txn: &impl ConnectionTrait, user: UserId, id: NoteId) -> Result<bool, Error> {
    let Some(row) = note::Entity::one_of(user, id).one(txn).await? else { return Ok(false) };
    Ok(is_since(row.updated_at, id.made_at()) || is_placed(txn, user, [row.document_id]).await?)
}

/// Whether its person has changed a decision since: it cannot be restored either.
pub async fn is_changed(txn: &impl ConnectionTrait, user: UserId, id: DecisionId) -> Result<bool, Error> {
    let row = decision::Entity::owned_by(user).filter(decision::Column::Id.eq(id)).one(txn).await?;
    Ok(row.is_some_and(|row| is_since(row.updated_at, id.made_at())))
}

/// Whether a change is younger than the taking in. The times of a thing may be older: an export brings them along.
fn is_since(changed: Timestamp, taken_in: Option<Timestamp>) -> bool {
    taken_in.is_some_and(|taken_in| changed > taken_in)
}

/// Whether its person keeps something of a feed: an entry that is starred, or stands in a project. The stars that the import
/// brought were taken back before.
pub async fn has_kept(txn: &impl ConnectionTrait, user: UserId, id: FeedId) -> Result<bool, Error> {
    let entries = entry::Entity::owned_by(user).filter(entry::Column::FeedId.eq(id));
    if entries.clone().filter(entry::Column::Starred.eq(true)).one(txn).await?.is_some() {
        return Ok(true);
    }
    let documents: Vec<DocumentId> =
        entries.select_only().column(entry::Column::DocumentId).into_tuple().all(txn).await?;
    for some in documents.chunks(AT_ONCE) {
        if is_placed(txn, user, some.iter().copied()).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
