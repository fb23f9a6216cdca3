//! Whether an object of an import is in use, and the locks under which that is checked.

use std::collections::HashSet;

use entity::import_row::{Column, Entity, Model};
use entity::{decision, document, entry, feed, note, project_item};
use sea_orm::sea_query::IntoCondition;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::{
    BookmarkId, DecisionId, DocumentId, EntryId, FeedId, NoteId, ProjectId, ProjectItemId, UserId,
};
use values::kind::ImportedKind;

use super::super::rows::trace::RowTrace;
use crate::{BATCH_ROWS, projects};
use errors::Error;

/// Returns whether the object of a row is in use, other than by the import itself: a bookmark or a note in a project, a feed with an
/// entry that is starred or in a project.
pub async fn is_in_use(
    txn: &impl ConnectionTrait,
    row: &Model,
    kind: ImportedKind,
    id: Uuid,
) -> Result<bool, Error> {
    match kind {
        ImportedKind::Bookmark => {
            // The document of the text, by which a project refers to highlights too, and that of the notes.
            let own = document::Column::BookmarkId.eq(BookmarkId(id));
            let documents = lock_documents(txn, row.user_id, own).await?;
            is_in_project(txn, row, &documents).await
        }
        ImportedKind::Note => {
            let Some(note) = note::Entity::one_of(row.user_id, NoteId(id)).one(txn).await? else {
                return Ok(false);
            };
            let own = document::Column::Id.eq(note.document_id);
            let documents = lock_documents(txn, row.user_id, own).await?;
            is_in_project(txn, row, &documents).await
        }
        ImportedKind::Feed => has_entry_in_use(txn, row, FeedId(id)).await,
        ImportedKind::Collection
        | ImportedKind::Decision
        | ImportedKind::Entry
        | ImportedKind::Highlight
        | ImportedKind::Item
        | ImportedKind::Project => Ok(false),
    }
}

/// Locks documents against being added to a project, whose item refers to them. Waits for a transaction that adds one now, so
/// that its item is seen.
async fn lock_documents(
    txn: &impl ConnectionTrait,
    user: UserId,
    which: impl IntoCondition,
) -> Result<Vec<DocumentId>, Error> {
    let own = document::Entity::with_hidden(user).filter(which).select_only().column(document::Column::Id);
    // In the order of the ids, as deliveries lock documents, which prevents deadlocks.
    Ok(own.order_by_asc(document::Column::Id).lock_exclusive().into_tuple().all(txn).await?)
}

/// Returns whether one of these documents is in a project to which the import did not add it.
async fn is_in_project(
    txn: &impl ConnectionTrait,
    row: &Model,
    documents: &[DocumentId],
) -> Result<bool, Error> {
    for batch in documents.chunks(BATCH_ROWS) {
        let items = project_item::Entity::visible_to(row.user_id)
            .filter(project_item::Column::DocumentId.is_in(batch.iter().copied()))
            .select_only()
            .column(project_item::Column::Id);
        let items: Vec<ProjectItemId> = items.into_tuple().all(txn).await?;
        let items: Vec<Uuid> = items.into_iter().map(|id| id.0).collect();
        if has_others(txn, row, &items, |own| own.kind == Some(ImportedKind::Item) && own.has_created())
            .await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn has_entry_in_use(txn: &impl ConnectionTrait, row: &Model, id: FeedId) -> Result<bool, Error> {
    let entries = entry::Entity::owned_by(row.user_id).filter(entry::Column::FeedId.eq(id));
    let starred = entries.clone().filter(entry::Column::Starred.eq(true));
    let starred: Vec<EntryId> = starred.select_only().column(entry::Column::Id).into_tuple().all(txn).await?;
    let starred: Vec<Uuid> = starred.into_iter().map(|id| id.0).collect();
    if has_others(txn, row, &starred, |own| RowTrace::parse(own.detail.as_deref()).is_star).await? {
        return Ok(true);
    }
    let documents: Vec<DocumentId> =
        entries.select_only().column(entry::Column::DocumentId).into_tuple().all(txn).await?;
    is_in_project(txn, row, &documents).await
}

/// Returns whether one of these objects is named by no row of the import that matches.
async fn has_others(
    txn: &impl ConnectionTrait,
    row: &Model,
    objects: &[Uuid],
    is_match: impl Fn(&Model) -> bool,
) -> Result<bool, Error> {
    for batch in objects.chunks(BATCH_ROWS) {
        // By the objects, which the index `import_row_object` serves; the rows of other imports are left out below.
        let rows = Entity::owned_by(row.user_id).filter(Column::ObjectId.is_in(batch.iter().copied()));
        let rows = rows.all(txn).await?.into_iter();
        let own = rows.filter(|own| own.import_id == row.import_id && is_match(own));
        let own: HashSet<Uuid> = own.filter_map(|own| own.object_id).collect();
        if batch.iter().any(|object| !own.contains(object)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Locks an object in the way in which its changes lock it: notes and decisions by their project, a feed with its entries.
/// Bookmarks and collections are locked per batch.
pub async fn lock(
    txn: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    id: Uuid,
) -> Result<(), Error> {
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
        ImportedKind::Feed => {
            // The feed against deliveries, which lock it first; its entries against being starred.
            feed::Entity::one_of(user, FeedId(id)).lock_exclusive().one(txn).await?;
            let entries = entry::Entity::owned_by(user).filter(entry::Column::FeedId.eq(FeedId(id)));
            // In the order of an index of the feed: for that of the ids SQLite would read all entries of the user.
            let entries = entries.order_by_asc(entry::Column::SortedAt).order_by_asc(entry::Column::Id);
            let entries = entries.select_only().column(entry::Column::Id);
            entries.lock_exclusive().into_tuple::<Uuid>().all(txn).await?;
            None
        }
        ImportedKind::Bookmark
        | ImportedKind::Collection
        | ImportedKind::Entry
        | ImportedKind::Highlight
        | ImportedKind::Item => None,
    };
    match project {
        Some(project) => match projects::lock(txn, user, project).await {
            // A project that is gone needs no lock; the caller finds its parts gone too.
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        },
        None => Ok(()),
    }
}
