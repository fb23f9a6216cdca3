//! Whether an object of an import is in use, and the locks under which that is checked.

use database::padded;
use std::collections::HashSet;

use entity::import_row::{Column, Entity, Model};
use entity::{decision, document, entry, feed, note, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, DatabaseBackend, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::{
    BookmarkId, DecisionId, DocumentId, EntryId, FeedId, ImportId, NoteId, ProjectId, ProjectItemId, UserId,
};
use values::kind::ImportedKind;

use super::super::rows::trace::RowTrace;
use crate::{BATCH_ROWS, projects};
use errors::Error;

/// Which import is undone.
#[derive(Clone, Copy, Debug)]
pub struct OwnedImport {
    /// The owner.
    pub user: UserId,
    /// The import.
    pub id: ImportId,
}

/// Returns whether the object of a row is in use, other than by the import itself: a note in a project, a feed with an entry that is
/// starred or in a project.
///
/// # Errors
/// [`Error::Internal`] for a bookmark: bookmarks are looked up together ([`find_bookmarks_in_use`]).
pub async fn is_in_use(
    txn: &impl ConnectionTrait,
    row: &Model,
    kind: ImportedKind,
    id: Uuid,
) -> Result<bool, Error> {
    let import = OwnedImport { user: row.user_id, id: row.import_id };
    match kind {
        ImportedKind::Note => {
            let Some(note) = note::Entity::one_of(row.user_id, NoteId(id)).one(txn).await? else {
                return Ok(false);
            };
            let own = document::Entity::with_hidden(row.user_id);
            own.filter(document::Column::Id.eq(note.document_id)).lock_exclusive().one(txn).await?;
            is_in_project(txn, import, &[note.document_id]).await
        }
        ImportedKind::Feed => has_entry_in_use(txn, import, FeedId(id)).await,
        ImportedKind::Bookmark => Err(Error::internal("bookmarks are looked up together")),
        ImportedKind::Collection
        | ImportedKind::Decision
        | ImportedKind::Entry
        | ImportedKind::Highlight
        | ImportedKind::Item
        | ImportedKind::Project => Ok(false),
    }
}

/// Returns those of these bookmarks that are in a project to which the import did not add them.
pub async fn find_bookmarks_in_use(
    txn: &impl ConnectionTrait,
    import: OwnedImport,
    bookmarks: &[Uuid],
) -> Result<HashSet<Uuid>, Error> {
    let mut in_use = HashSet::new();
    for batch in bookmarks.chunks(BATCH_ROWS) {
        let documents = lock_documents(txn, import.user, batch).await?;
        let ids: Vec<DocumentId> = documents.iter().map(|(id, _)| *id).collect();
        let used = find_documents_in_use(txn, import, &ids).await?;
        let used = documents.into_iter().filter(|(id, _)| used.contains(id));
        in_use.extend(used.map(|(_, bookmark)| bookmark.0));
    }
    Ok(in_use)
}

/// Locks the documents of bookmarks against being added to a project, whose item refers to them: those of the texts, by which a project
/// refers to highlights too, and those of the notes. Waits for a transaction that adds one now, so that its item is seen. Returns
/// each with its bookmark.
async fn lock_documents(
    txn: &impl ConnectionTrait,
    user: UserId,
    bookmarks: &[Uuid],
) -> Result<Vec<(DocumentId, BookmarkId)>, Error> {
    let mut own = document::Entity::with_hidden(user)
        .filter(document::Column::BookmarkId.is_in(padded(bookmarks)))
        .select_only()
        .column(document::Column::Id)
        .column(document::Column::BookmarkId);
    // In the order of the ids, as deliveries lock documents, which prevents deadlocks. SQLite has no locks of rows, and for this order
    // it would read all documents of the user.
    if txn.get_database_backend() == DatabaseBackend::Postgres {
        own = own.order_by_asc(document::Column::Id);
    }
    Ok(own.lock_exclusive().into_tuple().all(txn).await?)
}

/// Returns those of these documents that are in a project to which the import did not add them. They are the documents of at most
/// [`BATCH_ROWS`] objects.
async fn find_documents_in_use(
    txn: &impl ConnectionTrait,
    import: OwnedImport,
    documents: &[DocumentId],
) -> Result<HashSet<DocumentId>, Error> {
    let items = project_item::Entity::visible_to(import.user)
        .filter(project_item::Column::DocumentId.is_in(padded(documents)))
        .select_only()
        .column(project_item::Column::Id)
        .column(project_item::Column::DocumentId);
    let items: Vec<(ProjectItemId, DocumentId)> = items.into_tuple().all(txn).await?;
    let ids: Vec<Uuid> = items.iter().map(|(id, _)| id.0).collect();
    let is_item = |own: &Model| own.kind == Some(ImportedKind::Item) && own.has_created();
    let others = find_others(txn, import, &ids, is_item).await?;
    let of_others = items.into_iter().filter(|(id, _)| others.contains(&id.0));
    Ok(of_others.map(|(_, document)| document).collect())
}

/// Returns whether one of these documents is in a project to which the import did not add it.
async fn is_in_project(
    txn: &impl ConnectionTrait,
    import: OwnedImport,
    documents: &[DocumentId],
) -> Result<bool, Error> {
    for batch in documents.chunks(BATCH_ROWS) {
        if !find_documents_in_use(txn, import, batch).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn has_entry_in_use(
    txn: &impl ConnectionTrait,
    import: OwnedImport,
    id: FeedId,
) -> Result<bool, Error> {
    let entries = entry::Entity::owned_by(import.user).filter(entry::Column::FeedId.eq(id));
    let starred = entries.clone().filter(entry::Column::Starred.eq(true));
    let starred: Vec<EntryId> = starred.select_only().column(entry::Column::Id).into_tuple().all(txn).await?;
    let starred: Vec<Uuid> = starred.into_iter().map(|id| id.0).collect();
    let is_star = |own: &Model| RowTrace::parse(own.detail.as_deref()).is_star;
    if !find_others(txn, import, &starred, is_star).await?.is_empty() {
        return Ok(true);
    }
    let documents: Vec<DocumentId> =
        entries.select_only().column(entry::Column::DocumentId).into_tuple().all(txn).await?;
    is_in_project(txn, import, &documents).await
}

/// Returns those of these objects, of any number, that are named by no row of the import that matches.
async fn find_others(
    txn: &impl ConnectionTrait,
    import: OwnedImport,
    objects: &[Uuid],
    is_match: impl Fn(&Model) -> bool,
) -> Result<HashSet<Uuid>, Error> {
    let mut others: HashSet<Uuid> = objects.iter().copied().collect();
    for batch in objects.chunks(BATCH_ROWS) {
        // By the objects, which the index `import_row_object` serves; the rows of other imports are left out below.
        let rows = Entity::owned_by(import.user).filter(Column::ObjectId.is_in(padded(batch)));
        for row in rows.all(txn).await?.iter().filter(|row| row.import_id == import.id && is_match(row)) {
            if let Some(object) = &row.object_id {
                others.remove(object);
            }
        }
    }
    Ok(others)
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
