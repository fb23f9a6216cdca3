//! The view of bookmarks, loaded for many at once.

use std::collections::HashMap;

use entity::{bookmark, bookmark_tag, collection_bookmark, document, note};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, FromQueryResult, JoinType, QueryFilter,
    QuerySelect, Select, SelectModel, Selector,
};
use serde::Serialize;
use uuid::Uuid;
use values::id::{BookmarkId, CollectionId, DocumentId, UserId};
use values::kind::{BookmarkKind, ContentType, DocumentStatus};
use values::time::Timestamp;

use errors::Error;
use library::context::CoreContext;
use library::list_lengths::padded;

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

/// Returns the view of one bookmark, as the database has it now.
///
/// # Errors
/// [`Error::NotFound`] when it is gone; the database fails.
pub async fn load_view(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    row: bookmark::Model,
) -> Result<BookmarkView, Error> {
    load_views(core, db, row.user_id, &[row.id]).await?.pop().ok_or(Error::not_found())
}

/// Returns the view of a bookmark with this id.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist, is deleted, or belongs to another user; the database fails.
pub(super) async fn load_visible_view(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
) -> Result<BookmarkView, Error> {
    let visible = bookmark::Entity::one_visible_to(user, id);
    let row = select_rows(visible, db.get_database_backend()).all(db).await?.pop();
    row.ok_or(Error::not_found())?.into_view(core)
}

/// Returns the views of bookmarks of one user, in the order of the ids, with one statement. Leaves out those that are gone.
pub async fn load_views(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<Vec<BookmarkView>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let of_ids = bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.is_in(padded(ids)));
    let rows = select_rows(of_ids, db.get_database_backend()).all(db).await?;
    let mut rows: HashMap<BookmarkId, ViewRow> = rows.into_iter().map(|row| (row.id, row)).collect();
    ids.iter().filter_map(|id| rows.remove(id)).map(|row| row.into_view(core)).collect()
}

/// Returns the view of a bookmark that was saved just now, with at most one collection and without notes, from its rows as they were
/// inserted.
pub fn view_of_new(
    core: &CoreContext,
    row: bookmark::Model,
    document: document::Model,
    mut tags: Vec<String>,
    collection_ids: Vec<CollectionId>,
) -> BookmarkView {
    tags.sort_unstable();
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
        tags,
        notes: String::new(),
        collection_ids,
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

/// The columns of a view, with its tags and collections as JSON.
#[derive(FromQueryResult)]
struct ViewRow {
    id: BookmarkId,
    document_id: DocumentId,
    kind: BookmarkKind,
    url: String,
    favorite: bool,
    archived: bool,
    progress: f64,
    saved_at: Timestamp,
    updated_at: Timestamp,
    /// `None` for uploads.
    document_url: Option<String>,
    title: String,
    author: Option<String>,
    site_name: Option<String>,
    description: Option<String>,
    image_url: Option<String>,
    published_at: Option<String>,
    canonical_url: Option<String>,
    missing_reason: Option<String>,
    language: Option<String>,
    content_type: ContentType,
    word_count: Option<i32>,
    status: DocumentStatus,
    error: Option<String>,
    /// An array of names, in no order.
    tags: Option<String>,
    /// An array of ids, in the order in which the bookmark was added. The ids have hyphens on PostgreSQL alone.
    collection_ids: Option<String>,
    notes: Option<String>,
}

/// Selects the columns of the views of bookmarks.
fn select_rows(bookmarks: Select<bookmark::Entity>, backend: DbBackend) -> Selector<SelectModel<ViewRow>> {
    use bookmark::Column as B;
    use document::Column as D;
    let document = bookmark::Entity::belongs_to(document::Entity).from(B::DocumentId).to(D::Id);
    bookmarks
        .join(JoinType::InnerJoin, document.into())
        .select_only()
        .columns([B::Id, B::DocumentId, B::Kind, B::Url, B::Favorite, B::Archived, B::Progress])
        .columns([B::SavedAt, B::UpdatedAt])
        .column_as(D::Url, "document_url")
        .columns([D::Title, D::Author, D::SiteName, D::Description, D::ImageUrl, D::PublishedAt])
        .columns([D::CanonicalUrl, D::MissingReason, D::Language, D::ContentType, D::WordCount])
        .columns([D::Status, D::Error])
        .expr_as(tags(backend), "tags")
        .expr_as(collection_ids(backend), "collection_ids")
        .expr_as(notes(), "notes")
        .into_model()
}

/// Selects the tags of the bookmark of the outer statement as JSON. They are sorted in Rust: for an order SQLite would walk all tags of the
/// user by the index of their names.
fn tags(backend: DbBackend) -> SelectStatement {
    let names = if backend == DbBackend::Postgres {
        r#"CAST(json_agg("bookmark_tag"."name") AS TEXT)"#
    } else {
        r#"json_group_array("bookmark_tag"."name")"#
    };
    Query::select()
        .expr(Expr::cust(names))
        .from(bookmark_tag::Entity)
        .and_where(is_bookmark(bookmark_tag::Column::BookmarkId.into_expr()))
        .and_where(is_owner(bookmark_tag::Column::UserId.into_expr()))
        .take()
}

/// Selects the collections of the bookmark of the outer statement as JSON.
fn collection_ids(backend: DbBackend) -> SelectStatement {
    let (member, added_at) =
        (r#""collection_bookmark"."collection_id""#, r#""collection_bookmark"."added_at""#);
    let ids = if backend == DbBackend::Postgres {
        format!("CAST(json_agg({member} ORDER BY {added_at}) AS TEXT)")
    } else {
        // JSON has no bytes, as which SQLite stores ids.
        format!("json_group_array(hex({member}) ORDER BY {added_at})")
    };
    Query::select()
        .expr(Expr::cust(ids))
        .from(collection_bookmark::Entity)
        .and_where(is_bookmark(collection_bookmark::Column::BookmarkId.into_expr()))
        .and_where(is_owner(collection_bookmark::Column::UserId.into_expr()))
        .take()
}

/// Selects the note on the bookmark of the outer statement; it has one at most.
fn notes() -> SelectStatement {
    Query::select()
        .expr(note::Column::Body.into_expr())
        .from(note::Entity)
        .and_where(is_bookmark(note::Column::BookmarkId.into_expr()))
        .and_where(is_owner(note::Column::UserId.into_expr()))
        .take()
}

fn is_bookmark(id: Expr) -> Expr {
    id.equals((bookmark::Entity, bookmark::Column::Id))
}

fn is_owner(user: Expr) -> Expr {
    user.equals((bookmark::Entity, bookmark::Column::UserId))
}

impl ViewRow {
    fn into_view(self, core: &CoreContext) -> Result<BookmarkView, Error> {
        let mut tags = read_texts(self.tags.as_deref())?;
        tags.sort_unstable();
        let collections = read_texts(self.collection_ids.as_deref())?;
        let parsed = collections.iter().map(|id| Uuid::try_parse(id).map(CollectionId));
        Ok(BookmarkView {
            bookmark_id: self.id,
            document_id: self.document_id,
            kind: self.kind,
            // The URL of the bookmark as the user gave it, unless it has none: uploads have a page in the web app.
            url: match self.document_url {
                Some(_) => self.url,
                None => core.app_url_of(self.document_id),
            },
            title: self.title,
            author: self.author,
            site_name: self.site_name,
            description: self.description,
            image_url: self.image_url,
            published_at: self.published_at,
            canonical_url: self.canonical_url,
            lacks: self.missing_reason,
            language: self.language,
            content_type: self.content_type,
            tags,
            notes: self.notes.unwrap_or_default(),
            collection_ids: parsed.collect::<Result<_, _>>().map_err(Error::internal)?,
            favorite: self.favorite,
            archived: self.archived,
            progress: self.progress,
            word_count: self.word_count,
            saved_at: self.saved_at,
            updated_at: self.updated_at,
            status: self.status,
            error: self.error,
        })
    }
}

/// Reads an array of texts; `None` is an empty one.
fn read_texts(json: Option<&str>) -> Result<Vec<String>, Error> {
    json.map_or(Ok(Vec::new()), |json| serde_json::from_str(json).map_err(Error::internal))
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};

    use super::*;

    fn ids(count: usize) -> Vec<BookmarkId> {
        let now = Timestamp::from_millis(1);
        (0..count).map(|_| BookmarkId::new(now)).collect()
    }

    #[actix::test]
    async fn rows_of_views_are_found_by_their_bookmarks() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let user = UserId::new(Timestamp::from_millis(1));
        let bookmarks = bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.is_in(ids(2)));
        let select = select_rows(bookmarks, DbBackend::Sqlite).into_statement(DbBackend::Sqlite);

        let plan = QueryPlan::of(&db, select).await.unwrap();

        for index in [
            "bookmark_user (user_id=? AND id=?)",
            "bookmark_tag_bookmark (bookmark_id=? AND user_id=?)",
            "collection_bookmark_bookmark (bookmark_id=? AND user_id=?)",
        ] {
            assert!(plan.has_step(index), "{plan:#?}");
        }
        assert!(plan.full_scans().is_empty(), "{plan:#?}");
    }
}
