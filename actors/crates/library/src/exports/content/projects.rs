//! Writes projects with their decisions, notes and items.

use entity::{bookmark, decision, entry, note, project, project_item};
use parse::archive::{DecisionRecord, NoteRecord, ProjectItemRecord, ProjectRecord, Record};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use uuid::Uuid;
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
        for item in items.all(self.db).await? {
            let Some(thing) = self.item_id(&item).await? else { continue };
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

    /// Returns the id of the highlight, bookmark, note or entry that an item is.
    async fn item_id(&self, item: &project_item::Model) -> Result<Option<Uuid>, Error> {
        if let Some(highlight) = item.highlight_id {
            return Ok(Some(highlight.0));
        }
        match item.kind {
            ItemKind::Note => {
                let own =
                    note::Entity::owned_by(self.user).filter(note::Column::DocumentId.eq(item.document_id));
                let Some(row) = own.one(self.db).await? else { return Ok(None) };
                // The bookmark's record has no notes then, so the import would find no note to which the item could refer.
                if row.bookmark_id.is_some() && row.body.is_empty() {
                    return Ok(None);
                }
                // The note on a bookmark has no record; the id of its bookmark, with the kind `note`, refers to it.
                Ok(Some(row.bookmark_id.map_or(row.id.0, |bookmark| bookmark.0)))
            }
            ItemKind::Entry => {
                let own =
                    entry::Entity::owned_by(self.user).filter(entry::Column::DocumentId.eq(item.document_id));
                Ok(own.one(self.db).await?.map(|row| row.id.0))
            }
            ItemKind::Bookmark | ItemKind::Url | ItemKind::Highlight => {
                let own = bookmark::Entity::visible_to(self.user)
                    .filter(bookmark::Column::DocumentId.eq(item.document_id));
                Ok(own.one(self.db).await?.map(|row| row.id.0))
            }
        }
    }
}
