//! Everything of a person, row by row, on its way into the archive.

mod projects;
mod texts;

use std::collections::{HashMap, HashSet};

use database::Connection;
use entity::id::{BookmarkId, CollectionId, DocumentId, UserId};
use entity::{bookmark, collection, entry, export, feed, highlight, project};
use parse::archive::{
    CollectionRecord, EntryRecord, FORMAT_VERSION, FeedRecord, HighlightRecord, LIBRARY_FILE, MANIFEST_FILE,
    Record,
};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::json;
use text::hexadecimal;
use tokio::sync::mpsc::Sender;
use uuid::Uuid;

use super::beside::Beside;
use super::bookmarks;
use super::job::Part;
use actors::context::CoreContext;
use errors::Error;
use actors::operations::feeds;

/// Rows that are read at once.
pub(in crate::exports) const SOME: u64 = 200;

/// Sends everything.
///
/// # Errors
/// The database or the store; what was sent is of no use then.
pub async fn all(core: &CoreContext, export: &export::Model, to: &Sender<Part>) -> Result<(), Error> {
    let mut gathering = Gathering { app, user: export.user_id, to, texts: Vec::new(), files: Vec::new() };
    let sign = json!({ "format": "carrel", "version": FORMAT_VERSION, "exportedAt": export.created_at });
    gathering.whole(MANIFEST_FILE, sign.to_string()).await?;
    gathering.file(LIBRARY_FILE, true).await?;
    gathering.collections().await?;
    gathering.feeds().await?;
    gathering.bookmarks().await?;
    gathering.highlights().await?;
    gathering.entries().await?;
    gathering.projects().await?;
    gathering.texts().await?;
    bookmarks::list(&gathering).await?;
    let opml = feeds::list(core.db.read(), export.user_id).await?;
    gathering.whole("feeds.opml", opml).await?;
    gathering.files().await
}

/// What is sent, and to whom.
pub(in crate::exports) struct Gathering<'a> {
    app: &'a CoreContext,
    pub(in crate::exports) user: UserId,
    to: &'a Sender<Part>,
    /// Documents whose texts are to come.
    texts: Vec<DocumentId>,
    /// Where files stand in the store, and are to stand in the archive.
    files: Vec<(String, String)>,
}

/// Rows of one owner in the order of their ids, some at a time.
macro_rules! in_lots {
    ($gathering:ident, $entity:ident, |$some:ident| $each:block) => {
        let mut after: Option<Uuid> = None;
        loop {
            let mut query = $entity::Entity::owned_by($gathering.user);
            if let Some(after) = after {
                query = query.filter($entity::Column::Id.gt(after));
            }
            let query = query.order_by_asc($entity::Column::Id).limit(SOME);
            let $some = query.all($gathering.app.db.read()).await?;
            let Some(last) = $some.last() else { break };
            after = Some(last.id.0);
            $each
        }
    };
}

impl Gathering<'_> {
    pub(in crate::exports) fn db(&self) -> &Connection {
        self.app.db.read()
    }

    async fn send(&self, part: Part) -> Result<(), Error> {
        self.to.send(part).await.map_err(|_| Error::internal("the archive takes no more"))
    }

    pub(in crate::exports) async fn file(&self, name: &str, packed: bool) -> Result<(), Error> {
        self.send(Part::File { name: name.to_owned(), packed }).await
    }

    pub(in crate::exports) async fn bytes(&self, text: &str) -> Result<(), Error> {
        self.send(Part::Bytes(text.as_bytes().to_vec())).await
    }

    async fn whole(&self, name: &str, text: String) -> Result<(), Error> {
        self.file(name, true).await?;
        self.send(Part::Bytes(text.into_bytes())).await
    }

    async fn line(&self, record: &Record) -> Result<(), Error> {
        let mut line = serde_json::to_vec(record).map_err(Error::internal)?;
        line.push(b'\n');
        self.send(Part::Bytes(line)).await
    }

    /// Those that others stand in come before them.
    async fn collections(&self) -> Result<(), Error> {
        let all = collection::Entity::owned_by(self.user).order_by_asc(collection::Column::Id);
        let mut rest = all.all(self.db()).await?;
        let mut told: HashSet<CollectionId> = HashSet::new();
        while !rest.is_empty() {
            let (ready, waiting): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|row| row.parent_id.is_none_or(|parent| told.contains(&parent)));
            if ready.is_empty() {
                // A circle cannot be; were there one, its collections would be left out.
                break;
            }
            for row in ready {
                told.insert(row.id);
                let parent = row.parent_id.map(|parent| parent.0);
                let record =
                    CollectionRecord { id: row.id.0, name: row.name, description: row.description, parent };
                self.line(&Record::Collection(record)).await?;
            }
            rest = waiting;
        }
        Ok(())
    }

    async fn feeds(&self) -> Result<(), Error> {
        in_lots!(self, feed, |some| {
            for row in some {
                let record = FeedRecord {
                    id: row.id.0,
                    url: row.url,
                    title: row.title,
                    folder: row.folder,
                    full_text: row.full_text,
                };
                self.line(&Record::Feed(record)).await?;
            }
        });
        Ok(())
    }

    async fn bookmarks(&mut self) -> Result<(), Error> {
        in_lots!(self, bookmark, |some| {
            let beside = Beside::of(self, &some).await?;
            for row in some {
                let record = beside.record(&row);
                self.texts.push(row.document_id);
                if let Some(file) = &record.file {
                    let at = beside.stored(&row);
                    self.files.extend(at.map(|at| (at.clone(), file.path.clone())));
                }
                self.line(&Record::Bookmark(Box::new(record))).await?;
            }
        });
        Ok(())
    }

    async fn highlights(&self) -> Result<(), Error> {
        in_lots!(self, highlight, |some| {
            let marked = some.iter().map(|row| row.bookmark_id);
            let there = bookmark::Entity::owned_by(self.user).filter(bookmark::Column::Id.is_in(marked));
            let there: HashSet<BookmarkId> =
                there.all(self.db()).await?.into_iter().map(|row| row.id).collect();
            // Those of deleted bookmarks have no line to belong to.
            for row in some.into_iter().filter(|row| there.contains(&row.bookmark_id)) {
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
                self.line(&Record::Highlight(record)).await?;
            }
        });
        Ok(())
    }

    async fn entries(&mut self) -> Result<(), Error> {
        in_lots!(self, entry, |some| {
            let documents = some.iter().map(|row| row.document_id);
            let saved = bookmark::Entity::owned_by(self.user)
                .filter(bookmark::Column::DocumentId.is_in(documents))
                .all(self.db())
                .await?;
            let saved: HashMap<DocumentId, BookmarkId> =
                saved.into_iter().map(|row| (row.document_id, row.id)).collect();
            for row in some {
                let bookmark = saved.get(&row.document_id).map(|id| id.0);
                if bookmark.is_none() {
                    self.texts.push(row.document_id);
                }
                self.line(&Record::Entry(Box::new(entry_record(row, bookmark)))).await?;
            }
        });
        Ok(())
    }

    /// What stands in projects comes behind all of them: a note of one may have its place in another.
    async fn projects(&self) -> Result<(), Error> {
        in_lots!(self, project, |some| {
            for row in some {
                self.project(row).await?;
            }
        });
        in_lots!(self, project, |some| {
            for row in some {
                self.items(&row).await?;
            }
        });
        Ok(())
    }
}

fn entry_record(row: entry::Model, bookmark: Option<Uuid>) -> EntryRecord {
    EntryRecord {
        id: row.id.0,
        feed: row.feed_id.0,
        key: hexadecimal(&row.key_hash),
        said: hexadecimal(&row.content_hash),
        url: row.url,
        title: row.title,
        author: row.author,
        summary: row.summary,
        whole: row.whole,
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
