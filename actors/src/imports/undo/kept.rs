//! What its person has made their own since it was taken in: it stays.

use std::collections::HashSet;

use entity::id::{BookmarkId, DecisionId, DocumentId, FeedId, HighlightId, NoteId, UserId};
use entity::time::Timestamp;
use entity::{bookmark, collection_bookmark, decision, entry, highlight, import_row, note, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};

use super::super::said::{Added, Said};
use super::super::{added, marked};
use crate::error::Error;
use crate::ops::bookmarks::save::AT_ONCE;

/// Whether there is something in a bookmark that no import brought: a marked part, a word of its notes, a place in a collection
/// or in a project. `brought` is what this row put on it. Then it stays.
pub async fn is_used(
    txn: &impl ConnectionTrait,
    made: &import_row::Model,
    id: BookmarkId,
    brought: &Said,
) -> Result<bool, Error> {
    let user = made.user_id;
    let Some(row) = bookmark::Entity::one_of(user, id).one(txn).await? else { return Ok(false) };
    let filed = collection_bookmark::Entity::owned_by(user)
        .filter(collection_bookmark::Column::BookmarkId.eq(id))
        .filter(collection_bookmark::Column::CollectionId.is_not_in(brought.collections.clone()));
    Ok(!added::left_of(&added::noted(txn, user, id).await?, &brought.written).is_empty()
        || filed.one(txn).await?.is_some()
        || is_marked(txn, made, id).await?
        || is_placed(txn, user, [row.document_id]).await?)
}

/// Whether something is marked in it that the import did not bring, or not so. What it brought goes after its bookmark.
async fn is_marked(
    txn: &impl ConnectionTrait,
    made: &import_row::Model,
    id: BookmarkId,
) -> Result<bool, Error> {
    let there = highlight::Entity::owned_by(made.user_id).filter(highlight::Column::BookmarkId.eq(id));
    let there = there.all(txn).await?;
    let mut brought = HashSet::new();
    for said in marked::said_of(txn, made.user_id, there.iter().map(|row| row.id)).await? {
        let added = Added::read(said.detail.as_deref())?;
        let own = said.import_id == made.import_id && added.made;
        brought.extend(said.made_id.filter(|_| own).zip(added.mark));
    }
    Ok(there.iter().any(|row| !brought.contains(&(row.id.0, marked::sum(row)))))
}

/// Whether a highlight is as it was brought, in a bookmark that is there.
pub async fn is_removable(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: HighlightId,
    brought: Option<&str>,
) -> Result<bool, Error> {
    let Some(row) = highlight::Entity::one_of(user, id).one(txn).await? else { return Ok(false) };
    let saved = bookmark::Entity::one_of(user, row.bookmark_id).one(txn).await?;
    Ok(saved.is_some() && brought == Some(marked::sum(&row).as_str()))
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
