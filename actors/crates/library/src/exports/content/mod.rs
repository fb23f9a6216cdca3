//! Writes the content of a library into the archive, row by row.

mod projects;
mod texts;

use std::collections::{HashMap, HashSet};

use database::Connection;
use entity::{bookmark, collection, entry, export, feed, highlight, project};
use parse::archive::{
    CollectionRecord, EntryRecord, FORMAT_VERSION, FeedRecord, HighlightRecord, LIBRARY_FILE, MANIFEST_FILE,
    Record,
};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::json;
use storage::blobs::BlobStore;
use uuid::Uuid;
use values::id::{BookmarkId, CollectionId, DocumentId, UserId};

use super::archive::ArchiveSender;
use super::bookmark_list;
use super::context::{BATCH_ROWS, ExportContext};
use super::relations::BookmarkRelations;
use crate::feeds;
use errors::Error;

/// Writes everything that a user has into the archive. After an error the archive is incomplete.
///
/// # Errors
/// [`Error::Internal`] when the database or the store fails, or the archive cannot be written.
pub(super) async fn write_all(
    ctx: &ExportContext,
    export: &export::Model,
    archive: ArchiveSender<'_>,
) -> Result<(), Error> {
    // Not one snapshot of the library: a read transaction of minutes stops the checkpoints of SQLite (row 12).
    // A record whose parent was deleted meanwhile is skipped by the import.
    let (db, user) = (ctx.core.db.read(), export.user_id);
    let mut writer =
        LibraryWriter { db, store: &*ctx.store, user, archive, texts: Vec::new(), files: Vec::new() };
    let manifest = json!({ "format": "carrel", "version": FORMAT_VERSION, "exportedAt": export.created_at });
    archive.add_file(MANIFEST_FILE, manifest.to_string()).await?;
    archive.start_file(LIBRARY_FILE).await?;
    // A record follows those that it refers to, because the import reads the lines once and in their order.
    writer.write_collections().await?;
    writer.write_feeds().await?;
    writer.write_bookmarks().await?;
    writer.write_highlights().await?;
    writer.write_entries().await?;
    writer.write_projects().await?;
    writer.write_texts().await?;
    bookmark_list::write(db, user, archive).await?;
    archive.add_file("feeds.opml", feeds::write_opml(db, user).await?).await?;
    writer.write_files().await
}

/// Writes the rows of one user.
struct LibraryWriter<'a> {
    db: &'a Connection,
    store: &'a dyn BlobStore,
    user: UserId,
    archive: ArchiveSender<'a>,
    /// Documents whose texts are still to be written.
    texts: Vec<DocumentId>,
    /// Files that are still to be written: their paths in the store and in the archive.
    files: Vec<(String, String)>,
}

/// Runs a block for each batch of the user's rows that a finder selects, in the order of their ids.
macro_rules! for_each_batch {
    ($writer:ident, $entity:ident, $finder:ident, |$batch:ident| $each:block) => {
        let mut after: Option<Uuid> = None;
        loop {
            let mut query = $entity::Entity::$finder($writer.user);
            if let Some(after) = after {
                query = query.filter($entity::Column::Id.gt(after));
            }
            let query = query.order_by_asc($entity::Column::Id).limit(BATCH_ROWS);
            let $batch = query.all($writer.db).await?;
            let Some(last) = $batch.last() else { break };
            after = Some(last.id.0);
            $each
        }
    };
}

impl LibraryWriter<'_> {
    async fn write_record(&self, record: &Record) -> Result<(), Error> {
        self.archive.write_record(record).await
    }

    /// Writes the collections, parents before their children.
    async fn write_collections(&self) -> Result<(), Error> {
        let all = collection::Entity::owned_by(self.user).order_by_asc(collection::Column::Id);
        let mut rest = all.all(self.db).await?;
        let mut written: HashSet<CollectionId> = HashSet::new();
        while !rest.is_empty() {
            let (ready, waiting): (Vec<_>, Vec<_>) = rest
                .into_iter()
                .partition(|row| row.parent_id.is_none_or(|parent| written.contains(&parent)));
            if ready.is_empty() {
                // The rest would form a cycle, which the database does not hold. It is left out rather than looped over.
                break;
            }
            for row in ready {
                written.insert(row.id);
                let parent = row.parent_id.map(|parent| parent.0);
                let record =
                    CollectionRecord { id: row.id.0, name: row.name, description: row.description, parent };
                self.write_record(&Record::Collection(record)).await?;
            }
            rest = waiting;
        }
        Ok(())
    }

    async fn write_feeds(&self) -> Result<(), Error> {
        for_each_batch!(self, feed, owned_by, |rows| {
            for row in rows {
                let record = FeedRecord {
                    id: row.id.0,
                    url: row.url,
                    title: row.title,
                    folder: row.folder,
                    full_text: row.full_text,
                };
                self.write_record(&Record::Feed(record)).await?;
            }
        });
        Ok(())
    }

    async fn write_bookmarks(&mut self) -> Result<(), Error> {
        for_each_batch!(self, bookmark, visible_to, |rows| {
            let relations = BookmarkRelations::load(self.db, self.user, &rows).await?;
            for row in rows {
                let record = relations.record(&row);
                self.texts.push(row.document_id);
                if let Some(file) = &record.file {
                    let stored = relations.store_path(&row);
                    self.files.extend(stored.map(|stored| (stored.clone(), file.path.clone())));
                }
                self.write_record(&Record::Bookmark(Box::new(record))).await?;
            }
        });
        Ok(())
    }

    async fn write_highlights(&self) -> Result<(), Error> {
        for_each_batch!(self, highlight, owned_by, |rows| {
            let ids = rows.iter().map(|row| row.bookmark_id);
            let bookmarks = bookmark::Entity::visible_to(self.user).filter(bookmark::Column::Id.is_in(ids));
            let bookmarks: Vec<BookmarkId> =
                bookmarks.select_only().column(bookmark::Column::Id).into_tuple().all(self.db).await?;
            let bookmarks: HashSet<BookmarkId> = bookmarks.into_iter().collect();
            // A deleted bookmark is not exported, so its highlights are not either.
            for row in rows.into_iter().filter(|row| bookmarks.contains(&row.bookmark_id)) {
                let record = HighlightRecord {
                    id: row.id.0,
                    bookmark: row.bookmark_id.0,
                    text: row.text,
                    note: row.note,
                    color: row.color,
                    start_offset: row.start_offset,
                    end_offset: row.end_offset,
                    created_at: row.created_at,
                };
                self.write_record(&Record::Highlight(record)).await?;
            }
        });
        Ok(())
    }

    async fn write_entries(&mut self) -> Result<(), Error> {
        for_each_batch!(self, entry, owned_by, |rows| {
            // The text of a saved entry is written with its bookmark, which shares the document.
            let documents = rows.iter().map(|row| row.document_id);
            let saved = bookmark::Entity::visible_to(self.user)
                .filter(bookmark::Column::DocumentId.is_in(documents))
                .select_only()
                .columns([bookmark::Column::DocumentId, bookmark::Column::Id]);
            let saved: Vec<(DocumentId, BookmarkId)> = saved.into_tuple().all(self.db).await?;
            let saved: HashMap<DocumentId, BookmarkId> = saved.into_iter().collect();
            for row in rows {
                let bookmark = saved.get(&row.document_id).map(|id| id.0);
                if bookmark.is_none() {
                    self.texts.push(row.document_id);
                }
                self.write_record(&Record::Entry(Box::new(entry_record(row, bookmark)))).await?;
            }
        });
        Ok(())
    }

    /// Writes all projects before their items, because a note of one project may be an item of another.
    async fn write_projects(&self) -> Result<(), Error> {
        for_each_batch!(self, project, owned_by, |rows| {
            for row in rows {
                self.write_project(row).await?;
            }
        });
        for_each_batch!(self, project, owned_by, |rows| {
            for row in rows {
                self.write_items(&row).await?;
            }
        });
        Ok(())
    }
}

fn entry_record(row: entry::Model, bookmark: Option<Uuid>) -> EntryRecord {
    EntryRecord {
        id: row.id.0,
        feed: row.feed_id.0,
        key: base16ct::lower::encode_string(&row.key_hash),
        said: base16ct::lower::encode_string(&row.content_hash),
        url: row.url,
        title: row.title,
        author: row.author,
        summary: row.summary,
        whole: row.has_full_text,
        enclosure_url: row.enclosure_url,
        enclosure_type: row.enclosure_type,
        enclosure_bytes: row.enclosure_bytes,
        published_at: row.published_at,
        sorted_at: row.sorted_at,
        created_at: Some(row.created_at),
        read: row.read,
        starred: row.starred,
        document: bookmark.is_none().then_some(row.document_id.0),
        bookmark,
        text: None,
    }
}
