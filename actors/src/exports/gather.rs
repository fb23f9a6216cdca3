//! Everything of a person, row by row, on its way into the archive.

use std::collections::{HashMap, HashSet};

use entity::id::{BookmarkId, CollectionId, DocumentId, UserId};
use entity::kind::{DocumentStatus, ItemKind};
use entity::{
    bookmark, chunk, collection, decision, document, entry, export, feed, highlight, note, project,
    project_item, rendition, transcript_segment,
};
use sea_orm::{ColumnTrait, DatabaseConnection, QueryFilter, QueryOrder, QuerySelect};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc::Sender;
use uuid::Uuid;

use super::beside::Beside;
use super::bookmarks;
use super::job::Part;
use super::record::{
    Collection, Decision, Entry, Feed, Highlight, Item, Note, Passage, Project, Record, Spoken, Text,
};
use crate::adapters::blobs::{BlobError, PART};
use crate::adapters::sandbox::import::{LIBRARY, SIGN, VERSION, document as document_path};
use crate::app::App;
use crate::error::Error;
use crate::ops::{feeds, rendition as shown_as};
use crate::text::hexadecimal;

/// Rows that are read at once.
pub(super) const SOME: u64 = 200;

/// Sends everything.
///
/// # Errors
/// The database or the store; what was sent is of no use then.
pub async fn all(app: &App, export: &export::Model, to: &Sender<Part>) -> Result<(), Error> {
    let mut gathering = Gathering { app, user: export.user_id, to, texts: Vec::new(), files: Vec::new() };
    let sign = json!({ "format": "carrel", "version": VERSION, "exportedAt": export.created_at });
    gathering.whole(SIGN, sign.to_string()).await?;
    gathering.file(LIBRARY, true).await?;
    gathering.collections().await?;
    gathering.feeds().await?;
    gathering.bookmarks().await?;
    gathering.highlights().await?;
    gathering.entries().await?;
    gathering.projects().await?;
    gathering.texts().await?;
    bookmarks::list(&gathering).await?;
    let opml = feeds::list(app.db.read(), export.user_id).await?;
    gathering.whole("feeds.opml", opml).await?;
    gathering.files().await
}

/// What is sent, and to whom.
pub(super) struct Gathering<'a> {
    app: &'a App,
    pub(super) user: UserId,
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
    pub(super) fn db(&self) -> &DatabaseConnection {
        self.app.db.read()
    }

    async fn send(&self, part: Part) -> Result<(), Error> {
        self.to.send(part).await.map_err(|_| Error::internal("the archive takes no more"))
    }

    pub(super) async fn file(&self, name: &str, packed: bool) -> Result<(), Error> {
        self.send(Part::File { name: name.to_owned(), packed }).await
    }

    pub(super) async fn bytes(&self, text: &str) -> Result<(), Error> {
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
                    Collection { id: row.id.0, name: row.name, description: row.description, parent };
                self.line(&Record::Collection(record)).await?;
            }
            rest = waiting;
        }
        Ok(())
    }

    async fn feeds(&self) -> Result<(), Error> {
        in_lots!(self, feed, |some| {
            for row in some {
                let record = Feed {
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
            for row in some {
                let record = Highlight {
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

    async fn projects(&self) -> Result<(), Error> {
        in_lots!(self, project, |some| {
            for row in some {
                self.project(row).await?;
            }
        });
        Ok(())
    }

    async fn project(&self, row: project::Model) -> Result<(), Error> {
        let record = Project {
            id: row.id.0,
            name: row.name.clone(),
            description: row.description.clone(),
            instructions: row.instructions.clone(),
            status: row.status,
            created_at: row.created_at,
            updated_at: row.updated_at,
        };
        self.line(&Record::Project(record)).await?;
        for decision in
            decision::Entity::within(&row).order_by_asc(decision::Column::Id).all(self.db()).await?
        {
            let record = Decision {
                id: decision.id.0,
                project: row.id.0,
                title: decision.title,
                body: decision.body,
                status: decision.status,
                decided_at: decision.decided_at,
                created_at: decision.created_at,
                updated_at: Some(decision.updated_at),
            };
            self.line(&Record::Decision(record)).await?;
        }
        let notes = note::Entity::owned_by(self.user).filter(note::Column::ProjectId.eq(row.id));
        for note in notes.order_by_asc(note::Column::Id).all(self.db()).await? {
            let record = Note {
                id: note.id.0,
                project: row.id.0,
                title: note.title,
                body: note.body,
                pinned: note.pinned,
                created_at: note.created_at,
                updated_at: Some(note.updated_at),
            };
            self.line(&Record::Note(record)).await?;
        }
        self.items(&row).await
    }

    async fn items(&self, row: &project::Model) -> Result<(), Error> {
        let items = project_item::Entity::within(row).order_by_asc(project_item::Column::Id);
        for item in items.all(self.db()).await? {
            let Some(thing) = self.thing(&item).await? else { continue };
            let record = Item {
                id: item.id.0,
                project: row.id.0,
                thing,
                named: Some(item.kind),
                role: item.role,
                pinned: item.pinned,
                added_at: item.added_at,
            };
            self.line(&Record::Item(record)).await?;
        }
        Ok(())
    }

    /// The id of what an item is: the highlight, bookmark, note or entry.
    async fn thing(&self, item: &project_item::Model) -> Result<Option<Uuid>, Error> {
        if let Some(highlight) = item.highlight_id {
            return Ok(Some(highlight.0));
        }
        match item.kind {
            ItemKind::Note => {
                let own =
                    note::Entity::owned_by(self.user).filter(note::Column::DocumentId.eq(item.document_id));
                let Some(row) = own.one(self.db()).await? else { return Ok(None) };
                // The note of a bookmark is no line of its own: what it is on stands for it.
                Ok(Some(row.bookmark_id.map_or(row.id.0, |bookmark| bookmark.0)))
            }
            ItemKind::Entry => {
                let own =
                    entry::Entity::owned_by(self.user).filter(entry::Column::DocumentId.eq(item.document_id));
                Ok(own.one(self.db()).await?.map(|row| row.id.0))
            }
            ItemKind::Bookmark | ItemKind::Url | ItemKind::Highlight => {
                let own = bookmark::Entity::owned_by(self.user)
                    .filter(bookmark::Column::DocumentId.eq(item.document_id));
                Ok(own.one(self.db()).await?.map(|row| row.id.0))
            }
        }
    }

    async fn texts(&mut self) -> Result<(), Error> {
        for id in std::mem::take(&mut self.texts) {
            let Some(row) = document::Entity::one_of(self.user, id).one(self.db()).await? else { continue };
            let text = self.text(row).await?;
            let json = serde_json::to_string(&text).map_err(Error::internal)?;
            self.whole(&document_path(&id.to_string()), json).await?;
        }
        Ok(())
    }

    async fn text(&self, row: document::Model) -> Result<Text, Error> {
        let passages = chunk::Entity::owned_by(self.user)
            .filter(chunk::Column::DocumentId.eq(row.id))
            .filter(chunk::Column::Version.eq(row.version))
            .order_by_asc(chunk::Column::Ordinal)
            .all(self.db())
            .await?;
        let spoken = transcript_segment::Entity::owned_by(self.user)
            .filter(transcript_segment::Column::DocumentId.eq(row.id))
            .filter(transcript_segment::Column::Version.eq(row.version))
            .order_by_asc(transcript_segment::Column::Ordinal)
            .all(self.db())
            .await?;
        let shown = rendition::Entity::one_of(self.user, row.id).one(self.db()).await?;
        let outline = shown.as_ref().map(shown_as::outline).transpose()?.unwrap_or_default();
        Ok(Text {
            content_type: row.content_type,
            title: row.title,
            title_given: row.title_given,
            author: row.author,
            site_name: row.site_name,
            description: row.description,
            image_url: row.image_url,
            published_at: row.published_at,
            canonical_url: row.canonical_url,
            lacks: row.lacks,
            failed: row.error.filter(|_| row.status == DocumentStatus::Failed),
            language: row.language,
            passages: passages.into_iter().map(passage).collect(),
            spoken: spoken.into_iter().map(words).collect(),
            html: shown.and_then(|shown| shown.html),
            outline,
        })
    }

    async fn files(&mut self) -> Result<(), Error> {
        for (at, path) in std::mem::take(&mut self.files) {
            let local = match self.app.uploads.store.local(&at).await {
                Ok(local) => local,
                Err(BlobError::Missing) => continue,
                Err(error) => return Err(error.into()),
            };
            self.file(&path, false).await?;
            let mut file = tokio::fs::File::open(local.path()).await.map_err(BlobError::from)?;
            loop {
                let mut part = Vec::with_capacity(PART);
                (&mut file).take(PART as u64).read_to_end(&mut part).await.map_err(BlobError::from)?;
                if part.is_empty() {
                    break;
                }
                self.send(Part::Bytes(part)).await?;
            }
        }
        Ok(())
    }
}

fn passage(row: chunk::Model) -> Passage {
    Passage {
        text: row.text,
        page: row.page.and_then(|page| u32::try_from(page).ok()),
        start_seconds: row.start_seconds,
        end_seconds: row.end_seconds,
    }
}

fn words(row: transcript_segment::Model) -> Spoken {
    Spoken { start_seconds: row.start_seconds, end_seconds: row.end_seconds, text: row.text }
}

fn entry_record(row: entry::Model, bookmark: Option<Uuid>) -> Entry {
    Entry {
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
        read: row.read,
        starred: row.starred,
        document: bookmark.is_none().then_some(row.document_id.0),
        bookmark,
        text: None,
    }
}
