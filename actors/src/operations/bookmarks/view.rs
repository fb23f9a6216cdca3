//! The view of bookmarks, loaded for many at once.

use std::collections::HashMap;

use entity::{bookmark, bookmark_tag, collection_bookmark, document, note};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, Select};
use serde::Serialize;
use values::id::{BookmarkId, CollectionId, DocumentId, UserId};
use values::kind::{BookmarkKind, ContentType, DocumentStatus};
use values::time::Timestamp;

use errors::Error;
use library::context::CoreContext;

/// A bookmark (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkView {
    bookmark_id: BookmarkId,
    /// The document with the text; `GET /documents/:id` reads it.
    document_id: DocumentId,
    /// Whether it is a saved page or an upload.
    kind: BookmarkKind,
    /// URL as it was saved; of an upload its page in the web app.
    url: String,
    /// Title: the user's, or the one that the source states. The URL until the page was fetched.
    title: String,
    /// Names of the authors; null if the source states none.
    author: Option<String>,
    /// Name of the site; null if the page states none.
    site_name: Option<String>,
    /// Description from the metadata of the page; null if it has none.
    description: Option<String>,
    /// URL of the picture of the page; null if it names none.
    image_url: Option<String>,
    /// Publication date that the page states: a date, or a time with its UTC offset; null if it states none.
    published_at: Option<String>,
    /// Canonical URL that the page states; null if it states none.
    canonical_url: Option<String>,
    /// What is missing from the text, such as scanned pages of a PDF; null if the text is complete.
    lacks: Option<String>,
    /// ISO 639-1 code of the language; null if it was not detected.
    language: Option<String>,
    content_type: ContentType,
    /// The user's tags, sorted by name.
    tags: Vec<String>,
    /// The user's notes, as Markdown; empty without notes.
    notes: String,
    /// Collections that contain the bookmark, in the order in which it was added to them.
    collection_ids: Vec<CollectionId>,
    favorite: bool,
    archived: bool,
    /// Reading progress, from 0 to 1. A bookmark with less than 1 is unread.
    progress: f64,
    /// Number of words of the text; null until it was extracted.
    word_count: Option<i32>,
    saved_at: Timestamp,
    /// When the bookmark or its text, notes, tags, highlights or collections last changed.
    updated_at: Timestamp,
    /// `processing` until the text is readable and searchable, then `ready`, or `failed` after a failed attempt.
    status: DocumentStatus,
    /// Why the last attempt to make the text failed; null if it did not fail.
    error: Option<String>,
}

/// A bookmark, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BookmarkResponse {
    /// The bookmark after the request.
    pub bookmark: BookmarkView,
}

/// Returns the view of one bookmark.
///
/// # Errors
/// [`Error::NotFound`] when its document is gone; the database fails.
pub async fn load_view(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    row: bookmark::Model,
) -> Result<BookmarkView, Error> {
    load_views(core, db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())
}

/// Returns the views of bookmarks of one user, in their order, with four queries.
pub async fn load_views(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<bookmark::Model>,
) -> Result<Vec<BookmarkView>, Error> {
    let ids: Vec<BookmarkId> = rows.iter().map(|row| row.id).collect();
    let documents: Vec<DocumentId> = rows.iter().map(|row| row.document_id).collect();
    let documents =
        document::Entity::with_hidden(user).filter(document::Column::Id.is_in(documents)).all(db).await?;
    let mut documents: HashMap<DocumentId, document::Model> =
        documents.into_iter().map(|row| (row.id, row)).collect();
    let mut tags = tags(db, user, &ids).await?;
    let mut notes = notes(db, user, &ids).await?;
    let mut collections = collections(db, user, &ids).await?;
    let views = rows.into_iter().filter_map(|row| {
        // No document: both were removed after the bookmarks were read.
        let document = documents.remove(&row.document_id)?;
        let attributes = Attributes {
            tags: tags.remove(&row.id).unwrap_or_default(),
            notes: notes.remove(&row.id).unwrap_or_default(),
            collections: collections.remove(&row.id).unwrap_or_default(),
        };
        Some(view_of(core, row, document, attributes))
    });
    Ok(views.collect())
}

/// What belongs to a bookmark in other tables.
struct Attributes {
    /// Sorted by name.
    tags: Vec<String>,
    notes: String,
    collections: Vec<CollectionId>,
}

/// Returns the view of a bookmark that was saved just now, with at most one collection and without notes, from its rows as they were
/// inserted.
pub fn view_of_new(
    core: &CoreContext,
    row: bookmark::Model,
    document: document::Model,
    mut tags: Vec<String>,
    collections: Vec<CollectionId>,
) -> BookmarkView {
    tags.sort_unstable();
    view_of(core, row, document, Attributes { tags, notes: String::new(), collections })
}

fn view_of(
    core: &CoreContext,
    row: bookmark::Model,
    document: document::Model,
    attributes: Attributes,
) -> BookmarkView {
    BookmarkView {
        bookmark_id: row.id,
        document_id: row.document_id,
        kind: row.kind,
        // The URL of the bookmark as the user gave it, unless it has none: uploads have a page in the web app.
        url: if document.url.is_some() { row.url } else { core.url_of(&document) },
        title: document.title,
        author: document.author,
        site_name: document.site_name,
        description: document.description,
        image_url: document.image_url,
        published_at: document.published_at,
        canonical_url: document.canonical_url,
        lacks: document.missing_reason,
        language: document.language,
        content_type: document.content_type,
        tags: attributes.tags,
        notes: attributes.notes,
        collection_ids: attributes.collections,
        favorite: row.favorite,
        archived: row.archived,
        progress: row.progress,
        word_count: document.word_count,
        saved_at: row.saved_at,
        updated_at: row.updated_at,
        status: document.status,
        error: document.error,
    }
}

async fn tags(
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<HashMap<BookmarkId, Vec<String>>, Error> {
    let mut found: HashMap<BookmarkId, Vec<String>> = HashMap::new();
    for row in tag_rows(user, ids).all(db).await? {
        found.entry(row.bookmark_id).or_default().push(row.name);
    }
    for names in found.values_mut() {
        // Sorted here: for an ORDER BY, SQLite would walk all tags of the user by the index of their names.
        names.sort_unstable();
    }
    Ok(found)
}

/// Selects the tags of bookmarks, in no order: with an order by name SQLite reads all tags of the user from `bookmark_tag_user`.
fn tag_rows(user: UserId, ids: &[BookmarkId]) -> Select<bookmark_tag::Entity> {
    bookmark_tag::Entity::owned_by(user).filter(bookmark_tag::Column::BookmarkId.is_in(ids.iter().copied()))
}

async fn notes(
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<HashMap<BookmarkId, String>, Error> {
    let selected = note::Entity::owned_by(user).filter(note::Column::BookmarkId.is_in(ids.iter().copied()));
    let rows = selected.all(db).await?.into_iter();
    Ok(rows.filter_map(|row| Some((row.bookmark_id?, row.body))).collect())
}

async fn collections(
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<HashMap<BookmarkId, Vec<CollectionId>>, Error> {
    let own = collection_bookmark::Entity::owned_by(user);
    let selected = own.filter(collection_bookmark::Column::BookmarkId.is_in(ids.iter().copied()));
    let mut found: HashMap<BookmarkId, Vec<CollectionId>> = HashMap::new();
    for row in selected.order_by_asc(collection_bookmark::Column::AddedAt).all(db).await? {
        found.entry(row.bookmark_id).or_default().push(row.collection_id);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};

    use super::*;

    #[actix::test]
    async fn tags_of_a_list_page_are_found_by_their_bookmarks() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let now = Timestamp::from_millis(1);
        let ids = [BookmarkId::new(now), BookmarkId::new(now)];
        let select = tag_rows(UserId::new(now), &ids).build(DbBackend::Sqlite);

        let plan = QueryPlan::of(&db, select).await.unwrap();

        assert!(plan.has_step("bookmark_tag_bookmark (bookmark_id=? AND user_id=?)"), "{plan:#?}");
    }
}
