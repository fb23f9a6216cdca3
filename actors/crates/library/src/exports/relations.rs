//! What other tables hold about bookmarks, loaded for a batch of bookmarks at a time.

use std::collections::HashMap;

use database::Connection;
use entity::{bookmark, collection_bookmark, document, note, stored_file, upload};
use parse::archive::{BookmarkRecord, FileRecord};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::{BookmarkId, DocumentId, UserId};

use crate::bookmarks::tags_of_bookmarks;
use errors::Error;

/// The rows of other tables that belong to a batch of bookmarks.
#[derive(Default)]
pub(super) struct BookmarkRelations {
    titles: HashMap<DocumentId, String>,
    tags: HashMap<BookmarkId, Vec<String>>,
    notes: HashMap<BookmarkId, note::Model>,
    collections: HashMap<BookmarkId, Vec<Uuid>>,
    uploads: HashMap<DocumentId, upload::Model>,
    store_paths: HashMap<DocumentId, String>,
}

impl BookmarkRelations {
    pub(super) async fn load(
        db: &Connection,
        user: UserId,
        bookmarks: &[bookmark::Model],
    ) -> Result<Self, Error> {
        if bookmarks.is_empty() {
            return Ok(Self::default());
        }
        let ids: Vec<BookmarkId> = bookmarks.iter().map(|row| row.id).collect();
        let documents: Vec<DocumentId> = bookmarks.iter().map(|row| row.document_id).collect();
        let mut relations = Self::default();
        let rows = document::Entity::visible_to(user)
            .filter(document::Column::Id.is_in(documents.clone()))
            .select_only()
            .columns([document::Column::Id, document::Column::Title]);
        let titles: Vec<(DocumentId, String)> = rows.into_tuple().all(db).await?;
        relations.titles = titles.into_iter().collect();
        relations.tags = tags_of_bookmarks(db, user, &ids).await?;
        let rows = note::Entity::owned_by(user).filter(note::Column::BookmarkId.is_in(ids.clone()));
        // A note that the user emptied counts as none.
        let notes = rows.all(db).await?.into_iter().filter(|row| !row.body.is_empty());
        relations.notes = notes.filter_map(|row| Some((row.bookmark_id?, row))).collect();
        let rows = collection_bookmark::Entity::owned_by(user)
            .filter(collection_bookmark::Column::BookmarkId.is_in(ids))
            .order_by_asc(collection_bookmark::Column::CollectionId);
        for row in rows.all(db).await? {
            relations.collections.entry(row.bookmark_id).or_default().push(row.collection_id.0);
        }
        let rows = upload::Entity::owned_by(user).filter(upload::Column::DocumentId.is_in(documents));
        let rows = rows.all(db).await?;
        if rows.is_empty() {
            return Ok(relations);
        }
        let files = stored_file::Entity::of_uploads(rows.iter().map(|row| row.id)).all(db).await?;
        let mut paths: HashMap<_, _> = files.into_iter().map(|file| (file.upload_id, file.path)).collect();
        for row in rows {
            let Some(document) = row.document_id else { continue };
            relations.store_paths.extend(paths.remove(&Some(row.id)).map(|path| (document, path)));
            relations.uploads.insert(document, row);
        }
        Ok(relations)
    }

    /// Returns the path in the store of the file that was uploaded for a bookmark.
    pub(super) fn store_path(&self, row: &bookmark::Model) -> Option<&String> {
        self.store_paths.get(&row.document_id)
    }

    pub(super) fn title(&self, row: &bookmark::Model) -> &str {
        self.titles.get(&row.document_id).map_or("", String::as_str)
    }

    pub(super) fn record(&self, row: &bookmark::Model) -> BookmarkRecord {
        let file = self.uploads.get(&row.document_id).map(|upload| FileRecord {
            path: format!("files/{}", upload.id),
            filename: upload.filename.clone(),
            content_type: upload.content_type.clone(),
            bytes: u64::try_from(upload.bytes).unwrap_or_default(),
            sha256: upload.sha256.clone(),
        });
        let note = self.notes.get(&row.id);
        BookmarkRecord {
            id: row.id.0,
            form: row.kind,
            url: row.url.clone(),
            tags: self.tags.get(&row.id).cloned().unwrap_or_default(),
            notes: note.map(|note| note.body.clone()),
            notes_created_at: note.map(|note| note.created_at),
            notes_updated_at: note.map(|note| note.updated_at),
            collections: self.collections.get(&row.id).cloned().unwrap_or_default(),
            favorite: row.favorite,
            archived: row.archived,
            progress: row.progress,
            saved_at: row.saved_at,
            document: row.document_id.0,
            file,
            // Texts are separate files of the archive (`content::texts`).
            text: None,
        }
    }
}
