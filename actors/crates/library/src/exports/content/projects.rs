//! Writes projects with their decisions, notes and items.

use std::collections::HashMap;

use entity::{bookmark, decision, entry, note, project, project_item};
use parse::archive::{DecisionRecord, NoteRecord, ProjectItemRecord, ProjectRecord, Record};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::{BookmarkId, DocumentId, EntryId};
use values::kind::ItemKind;

use super::LibraryWriter;
use errors::Error;

impl LibraryWriter<'_> {
    pub(super) async fn write_project(&self, row: project::Model) -> Result<(), Error> {
        let record = ProjectRecord {
            id: row.id.0,
            name: row.name.clone(),
            description: row.description.clone(),
            instructions: row.instructions.clone(),
            status: row.status,
            created_at: row.created_at,
            updated_at: row.updated_at,
        };
        self.write_record(&Record::Project(record)).await?;
        for decision in decision::Entity::within(&row).order_by_asc(decision::Column::Id).all(self.db).await?
        {
            let record = DecisionRecord {
                id: decision.id.0,
                project: row.id.0,
                title: decision.title,
                body: decision.body,
                status: decision.status,
                decided_at: decision.decided_at,
                created_at: decision.created_at,
                updated_at: Some(decision.updated_at),
            };
            self.write_record(&Record::Decision(record)).await?;
        }
        let notes = note::Entity::owned_by(self.user).filter(note::Column::ProjectId.eq(row.id));
        for note in notes.order_by_asc(note::Column::Id).all(self.db).await? {
            let record = NoteRecord {
                id: note.id.0,
                project: row.id.0,
                title: note.title,
                body: note.body,
                pinned: note.pinned,
                created_at: note.created_at,
                updated_at: Some(note.updated_at),
            };
            self.write_record(&Record::Note(record)).await?;
        }
        Ok(())
    }

    pub(super) async fn write_items(&self, row: &project::Model) -> Result<(), Error> {
        let items = project_item::Entity::within(row).order_by_asc(project_item::Column::Id);
        let items = items.all(self.db).await?;
        let ids = self.ids_of_items(&items).await?;
        for item in items {
            let Some(thing) = ids.of(&item) else { continue };
            let record = ProjectItemRecord {
                id: item.id.0,
                project: row.id.0,
                thing,
                named: Some(item.kind),
                role: item.role,
                pinned: item.pinned,
                added_at: item.added_at,
            };
            self.write_record(&Record::Item(record)).await?;
        }
        Ok(())
    }

    /// Loads the ids of what the items of a project are, with one statement for each kind that there is.
    async fn ids_of_items(&self, items: &[project_item::Model]) -> Result<ItemIds, Error> {
        let of_kind = |is_kind: fn(ItemKind) -> bool| -> Vec<DocumentId> {
            let whole = items.iter().filter(|item| item.highlight_id.is_none());
            whole.filter(|item| is_kind(item.kind)).map(|item| item.document_id).collect()
        };
        Ok(ItemIds {
            notes: self.ids_of_notes(of_kind(|kind| kind == ItemKind::Note)).await?,
            entries: self.ids_of_entries(of_kind(|kind| kind == ItemKind::Entry)).await?,
            bookmarks: self
                .ids_of_bookmarks(of_kind(|kind| !matches!(kind, ItemKind::Note | ItemKind::Entry)))
                .await?,
        })
    }

    async fn ids_of_notes(&self, documents: Vec<DocumentId>) -> Result<HashMap<DocumentId, Uuid>, Error> {
        if documents.is_empty() {
            return Ok(HashMap::new());
        }
        let mut ids = HashMap::new();
        let notes = note::Entity::owned_by(self.user).filter(note::Column::DocumentId.is_in(documents));
        for row in notes.all(self.db).await? {
            // The bookmark's record has no notes then, so the import would find no note to which the item could refer.
            if row.bookmark_id.is_none() || !row.body.is_empty() {
                // The note on a bookmark has no record; the id of its bookmark, with the kind `note`, refers to it.
                let id = row.bookmark_id.map_or(row.id.0, |bookmark| bookmark.0);
                ids.insert(row.document_id, id);
            }
        }
        Ok(ids)
    }

    async fn ids_of_entries(&self, documents: Vec<DocumentId>) -> Result<HashMap<DocumentId, Uuid>, Error> {
        if documents.is_empty() {
            return Ok(HashMap::new());
        }
        let entries = entry::Entity::owned_by(self.user)
            .filter(entry::Column::DocumentId.is_in(documents))
            .select_only()
            .columns([entry::Column::DocumentId, entry::Column::Id]);
        let entries: Vec<(DocumentId, EntryId)> = entries.into_tuple().all(self.db).await?;
        Ok(entries.into_iter().map(|(document, entry)| (document, entry.0)).collect())
    }

    async fn ids_of_bookmarks(&self, documents: Vec<DocumentId>) -> Result<HashMap<DocumentId, Uuid>, Error> {
        if documents.is_empty() {
            return Ok(HashMap::new());
        }
        let bookmarks = bookmark::Entity::visible_to(self.user)
            .filter(bookmark::Column::DocumentId.is_in(documents))
            .select_only()
            .columns([bookmark::Column::DocumentId, bookmark::Column::Id]);
        let bookmarks: Vec<(DocumentId, BookmarkId)> = bookmarks.into_tuple().all(self.db).await?;
        Ok(bookmarks.into_iter().map(|(document, bookmark)| (document, bookmark.0)).collect())
    }
}

/// The ids of notes, entries and bookmarks that are items, by their documents.
struct ItemIds {
    notes: HashMap<DocumentId, Uuid>,
    entries: HashMap<DocumentId, Uuid>,
    bookmarks: HashMap<DocumentId, Uuid>,
}

impl ItemIds {
    /// Returns the id of the highlight, bookmark, note or entry that an item is.
    fn of(&self, item: &project_item::Model) -> Option<Uuid> {
        if let Some(highlight) = item.highlight_id {
            return Some(highlight.0);
        }
        let ids = match item.kind {
            ItemKind::Note => &self.notes,
            ItemKind::Entry => &self.entries,
            ItemKind::Bookmark | ItemKind::Url | ItemKind::Highlight => &self.bookmarks,
        };
        ids.get(&item.document_id).copied()
    }
}
