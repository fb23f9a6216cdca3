//! The view of bookmarks, loaded for many at once.

use std::collections::HashMap;

use entity::id::{BookmarkId, CollectionId, DocumentId, UserId};
use entity::kind::{BookmarkKind, ContentType, DocumentStatus};
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, collection_bookmark, document, note};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder};
use serde::Serialize;

use errors::Error;
use library::context::CoreContext;

/// A bookmark (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkView {
    bookmark_id: BookmarkId,
    document_id: DocumentId,
    /// Whether it is a saved page or an upload.
    kind: BookmarkKind,
    url: String,
    title: String,
    author: Option<String>,
    site_name: Option<String>,
    description: Option<String>,
    image_url: Option<String>,
    /// Publication date that the page states: a date, or a time with its UTC offset.
    published_at: Option<String>,
    /// Canonical URL that the page states.
    canonical_url: Option<String>,
    /// What is missing from the text, such as scanned pages of a PDF.
    lacks: Option<String>,
    /// ISO 639-1 code of the language; null if it was not detected.
    language: Option<String>,
    content_type: ContentType,
    tags: Vec<String>,
    notes: String,
    collection_ids: Vec<CollectionId>,
    favorite: bool,
    archived: bool,
    progress: f64,
    word_count: Option<i32>,
    saved_at: Timestamp,
    updated_at: Timestamp,
    status: DocumentStatus,
    error: Option<String>,
}

/// A bookmark.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BookmarkResponse {
    /// The bookmark.
    pub bookmark: BookmarkView,
}

/// Returns the view of one bookmark.
///
/// # Errors
/// [`Error::NotFound`] when its document is gone; the database fails.
pub async fn one(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    row: bookmark::Model,
) -> Result<BookmarkView, Error> {
    many(core, db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())
}

/// Returns the views of bookmarks of one user, in their order, with four queries.
///
/// # Errors
/// The database fails.
pub async fn many(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<bookmark::Model>,
) -> Result<Vec<BookmarkView>, Error> {
    let ids: Vec<BookmarkId> = rows.iter().map(|row| row.id).collect();
    let documents: Vec<DocumentId> = rows.iter().map(|row| row.document_id).collect();
    let documents =
        document::Entity::owned_by(user).filter(document::Column::Id.is_in(documents)).all(db).await?;
    let mut documents: HashMap<DocumentId, document::Model> =
        documents.into_iter().map(|row| (row.id, row)).collect();
    let mut tags = tags(db, user, &ids).await?;
    let mut notes = notes(db, user, &ids).await?;
    let mut collections = collections(db, user, &ids).await?;
    let views = rows.into_iter().filter_map(|row| {
        let document = documents.remove(&row.document_id)?;
        Some(BookmarkView {
            bookmark_id: row.id,
            document_id: row.document_id,
            kind: row.kind,
            url: if document.url.is_some() { row.url } else { core.url_of(&document) },
            title: document.title,
            author: document.author,
            site_name: document.site_name,
            description: document.description,
            image_url: document.image_url,
            published_at: document.published_at,
            canonical_url: document.canonical_url,
            lacks: document.missing_content,
            language: document.language,
            content_type: document.content_type,
            tags: tags.remove(&row.id).unwrap_or_default(),
            notes: notes.remove(&row.id).unwrap_or_default(),
            collection_ids: collections.remove(&row.id).unwrap_or_default(),
            favorite: row.favorite,
            archived: row.archived,
            progress: row.progress,
            word_count: document.word_count,
            saved_at: row.saved_at,
            updated_at: row.updated_at,
            status: document.status,
            error: document.error,
        })
    });
    Ok(views.collect())
}

async fn tags(
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<HashMap<BookmarkId, Vec<String>>, Error> {
    let own = bookmark_tag::Entity::owned_by(user);
    let of = own.filter(bookmark_tag::Column::BookmarkId.is_in(ids.iter().copied()));
    let mut found: HashMap<BookmarkId, Vec<String>> = HashMap::new();
    for row in of.order_by_asc(bookmark_tag::Column::Name).all(db).await? {
        found.entry(row.bookmark_id).or_default().push(row.name);
    }
    Ok(found)
}

async fn notes(
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<HashMap<BookmarkId, String>, Error> {
    let of = note::Entity::owned_by(user).filter(note::Column::BookmarkId.is_in(ids.iter().copied()));
    let rows = of.all(db).await?.into_iter();
    Ok(rows.filter_map(|row| Some((row.bookmark_id?, row.body))).collect())
}

async fn collections(
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<HashMap<BookmarkId, Vec<CollectionId>>, Error> {
    let own = collection_bookmark::Entity::owned_by(user);
    let of = own.filter(collection_bookmark::Column::BookmarkId.is_in(ids.iter().copied()));
    let mut found: HashMap<BookmarkId, Vec<CollectionId>> = HashMap::new();
    for row in of.order_by_asc(collection_bookmark::Column::AddedAt).all(db).await? {
        found.entry(row.bookmark_id).or_default().push(row.collection_id);
    }
    Ok(found)
}
