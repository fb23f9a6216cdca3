//! The row of the view of a bookmark: one statement reads it with its document, tags, collections and note.

use entity::{bookmark, bookmark_tag, collection_bookmark, document, note};
use errors::Error;
use library::context::CoreContext;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, DbBackend, EntityTrait, FromQueryResult, JoinType, QuerySelect, Select, SelectModel,
    Selector,
};
use uuid::Uuid;
use values::id::{BookmarkId, CollectionId, DocumentId};
use values::kind::{BookmarkKind, ContentType, DocumentStatus};
use values::time::Timestamp;

use super::response::BookmarkView;

/// The columns of a view, with its tags and collections as JSON.
#[derive(FromQueryResult)]
pub(super) struct ViewRow {
    pub id: BookmarkId,
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

impl ViewRow {
    /// Returns the row of a bookmark that has neither tags nor collections nor a note yet.
    pub fn of_new(row: bookmark::Model, document: document::Model) -> Self {
        Self {
            id: row.id,
            document_id: row.document_id,
            kind: row.kind,
            url: row.url,
            favorite: row.favorite,
            archived: row.archived,
            progress: row.progress,
            saved_at: row.saved_at,
            updated_at: row.updated_at,
            document_url: document.url,
            title: document.title,
            author: document.author,
            site_name: document.site_name,
            description: document.description,
            image_url: document.image_url,
            published_at: document.published_at,
            canonical_url: document.canonical_url,
            missing_reason: document.missing_reason,
            language: document.language,
            content_type: document.content_type,
            word_count: document.word_count,
            status: document.status,
            error: document.error,
            tags: None,
            collection_ids: None,
            notes: None,
        }
    }

    /// Returns the view.
    ///
    /// # Errors
    /// [`Error::Internal`] when the JSON of the tags or collections cannot be read.
    pub fn into_view(self, core: &CoreContext) -> Result<BookmarkView, Error> {
        let tags = read_texts(self.tags.as_deref())?;
        let collections = read_texts(self.collection_ids.as_deref())?;
        let parsed = collections.iter().map(|id| Uuid::try_parse(id).map(CollectionId));
        let collection_ids = parsed.collect::<Result<_, _>>().map_err(Error::internal)?;
        Ok(self.into_view_with(core, tags, collection_ids))
    }

    /// Returns the view with these tags, in any order, and these collections, in the order in which the bookmark was added to them.
    pub fn into_view_with(
        self,
        core: &CoreContext,
        mut tags: Vec<String>,
        collection_ids: Vec<CollectionId>,
    ) -> BookmarkView {
        tags.sort_unstable();
        BookmarkView {
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
            collection_ids,
            favorite: self.favorite,
            archived: self.archived,
            progress: self.progress,
            word_count: self.word_count,
            saved_at: self.saved_at,
            updated_at: self.updated_at,
            status: self.status,
            error: self.error,
        }
    }
}

/// Selects the columns of the views of bookmarks.
pub(super) fn select_rows(
    bookmarks: Select<bookmark::Entity>,
    backend: DbBackend,
) -> Selector<SelectModel<ViewRow>> {
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

/// Reads an array of texts; `None` is an empty one.
fn read_texts(json: Option<&str>) -> Result<Vec<String>, Error> {
    json.map_or(Ok(Vec::new()), |json| serde_json::from_str(json).map_err(Error::internal))
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::QueryFilter;
    use values::id::UserId;

    use super::*;

    #[actix::test]
    async fn rows_of_views_are_found_by_their_bookmarks() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let now = Timestamp::from_millis(1);
        let ids = [BookmarkId::new(now), BookmarkId::new(now)];
        let bookmarks =
            bookmark::Entity::with_deleted(UserId::new(now)).filter(bookmark::Column::Id.is_in(ids));
        let select = select_rows(bookmarks, DbBackend::Sqlite).into_statement(DbBackend::Sqlite);

        let plan = QueryPlan::of(&db, select).await.unwrap();

        for index in [
            "bookmark_user (user_id=? AND id=?)",
            "sqlite_autoindex_bookmark_tag_1 (bookmark_id=? AND user_id=?)",
            "collection_bookmark_bookmark (bookmark_id=? AND user_id=?)",
        ] {
            assert!(plan.has_step(index), "{plan:#?}");
        }
        assert!(plan.full_scans().is_empty(), "{plan:#?}");
    }
}
