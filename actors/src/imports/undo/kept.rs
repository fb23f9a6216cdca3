//! What its person has made their own since it was taken in: it stays.

use std::collections::HashSet;

use entity::id::{
    BookmarkId, DecisionId, DocumentId, FeedId, HighlightId, NoteId, ProjectId, ProjectItemId, UserId,
};
use entity::kind::ImportedKind;
use entity::{bookmark, collection_bookmark, decision, entry, feed, highlight, note, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::super::said::{Added, Said};
use super::super::{added, known_highlights, paragraphs, sums};
use crate::error::Error;
use crate::ops::bookmarks::save::AT_ONCE;
use crate::ops::projects;

/// Whether there is something in a bookmark that no import brought: a highlight, a word of its notes, a place in a collection
/// or in a project. `brought` is what this row put on it. Then it stays.
pub async fn is_used(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
    brought: &Said,
) -> Result<bool, Error> {
    let Some(row) = bookmark::Entity::one_of(user, id).one(txn).await? else { return Ok(false) };
    let filed = collection_bookmark::Entity::owned_by(user)
        .filter(collection_bookmark::Column::BookmarkId.eq(id))
        .filter(collection_bookmark::Column::CollectionId.is_not_in(brought.collections.clone()));
    let notes = added::noted(txn, user, id).await?;
    Ok(!paragraphs::left_of(&notes, &brought.written).is_empty()
        || filed.one(txn).await?.is_some()
        || is_marked(txn, user, id).await?
        || is_placed(txn, user, [row.document_id]).await?)
}

/// Whether something is marked in it that no import brought, or not so.
async fn is_marked(txn: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<bool, Error> {
    let there = highlight::Entity::owned_by(user).filter(highlight::Column::BookmarkId.eq(id));
    let there = there.all(txn).await?;
    let mut brought = HashSet::new();
    for said in known_highlights::said_of(txn, user, there.iter().map(|row| row.id)).await? {
        let added = Added::read(said.detail.as_deref())?;
        brought.extend(said.made_id.filter(|_| added.made).zip(added.sum));
    }
    Ok(there.iter().any(|row| !brought.contains(&(row.id.0, sums::of_highlight(row)))))
}

/// Whether a thing that could not be restored stays: it is not as it was made (`sum`), or something of its person's hangs on
/// it. Until the transaction ends nobody changes it.
pub async fn stays(
    txn: &impl ConnectionTrait,
    user: UserId,
    (kind, id): (ImportedKind, Uuid),
    sum: Option<&str>,
) -> Result<bool, Error> {
    hold(txn, user, kind, id).await?;
    let now = sums::of(txn, user, kind, &[id]).await?.remove(&id);
    if now.is_none() || now.as_deref() != sum {
        return Ok(true);
    }
    match kind {
        ImportedKind::Feed => has_kept(txn, user, FeedId(id)).await,
        ImportedKind::Highlight => {
            let chosen = project_item::Entity::owned_by(user);
            let chosen = chosen.filter(project_item::Column::HighlightId.eq(HighlightId(id)));
            Ok(chosen.one(txn).await?.is_some())
        }
        ImportedKind::Note => {
            let row = note::Entity::one_of(user, NoteId(id)).one(txn).await?;
            is_placed(txn, user, row.map(|row| row.document_id)).await
        }
        ImportedKind::Bookmark
        | ImportedKind::Collection
        | ImportedKind::Entry
        | ImportedKind::Project
        | ImportedKind::Decision
        | ImportedKind::Item => Ok(false),
    }
}

/// Holds a thing as those do who change it: what belongs to a project by that, a feed with its entries.
async fn hold(txn: &impl ConnectionTrait, user: UserId, kind: ImportedKind, id: Uuid) -> Result<(), Error> {
    let project = match kind {
        ImportedKind::Project => Some(ProjectId(id)),
        ImportedKind::Note => {
            let row = note::Entity::one_of(user, NoteId(id)).one(txn).await?;
            row.and_then(|row| row.project_id)
        }
        ImportedKind::Decision => {
            let own = decision::Entity::owned_by(user).filter(decision::Column::Id.eq(DecisionId(id)));
            own.one(txn).await?.map(|row| row.project_id)
        }
        ImportedKind::Item => {
            let own = project_item::Entity::owned_by(user);
            let own = own.filter(project_item::Column::Id.eq(ProjectItemId(id)));
            own.one(txn).await?.map(|row| row.project_id)
        }
        ImportedKind::Highlight => {
            highlight::Entity::one_of(user, HighlightId(id)).lock_exclusive().one(txn).await?;
            None
        }
        ImportedKind::Feed => {
            feed::Entity::one_of(user, FeedId(id)).lock_exclusive().one(txn).await?;
            let entries = entry::Entity::owned_by(user).filter(entry::Column::FeedId.eq(FeedId(id)));
            let entries = entries.order_by_asc(entry::Column::Id).select_only().column(entry::Column::Id);
            entries.lock_exclusive().into_tuple::<Uuid>().all(txn).await?;
            None
        }
        ImportedKind::Bookmark | ImportedKind::Collection | ImportedKind::Entry => None,
    };
    match project {
        Some(project) => match projects::locked(txn, user, project).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        },
        None => Ok(()),
    }
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

/// Whether its person keeps something of a feed: an entry that is starred, or stands in a project. The stars that the import
/// brought were taken back before.
async fn has_kept(txn: &impl ConnectionTrait, user: UserId, id: FeedId) -> Result<bool, Error> {
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
