//! The passages of a project that match some words best.
//!
//! The search names the documents that the project contains now. An item is found as soon as it is added, and not after it was
//! removed, even if the index was not updated yet.

use entity::{document, note, project, project_item};
use sea_orm::sea_query::UnionType;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QuerySelect, QueryTrait};
use search::index::Filter;
use values::id::DocumentId;
use values::kind::ContentType;

use crate::context::OperationContext;
use crate::retrieval::SearchQuery;
use crate::retrieval::passage::{self, SearchResult};
use errors::Error;
use library::context::CoreContext;

const MAX_PASSAGES: usize = 8;
/// Additional hits of the search: the index may still contain passages that were just replaced.
const SPARE_HITS: usize = 20;

/// Returns the passages of the project's sources and notes that match the query best, best first.
///
/// # Errors
/// The errors of [`Retrieval::search`](crate::retrieval::Retrieval::search).
pub async fn find(
    ctx: &OperationContext,
    project: &project::Model,
    query: &str,
) -> Result<Vec<SearchResult>, Error> {
    let documents = project_documents(&ctx.core, project).await?;
    // The search would be for nothing, and takes a slot.
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let documents = documents.into_iter().map(|id| id.0).collect();
    let within = Filter { documents: Some(documents), ..Filter::default() };
    let search = SearchQuery { query: query.to_owned(), within, limit: MAX_PASSAGES + SPARE_HITS };
    let ranked = ctx.retrieval.search(project.user_id, search.clone()).await?;
    passage::load(&ctx.core, project.user_id, &search, &ranked.hits, MAX_PASSAGES).await
}

/// Returns the documents of the items, of the notes on items that are bookmarks, and of the project's own notes.
async fn project_documents(core: &CoreContext, project: &project::Model) -> Result<Vec<DocumentId>, Error> {
    use document::Column;
    let items = project_item::Entity::within(project)
        .select_only()
        .column(project_item::Column::DocumentId)
        .into_query();
    let bookmarks = project_item::Entity::within(project)
        .filter(Column::ContentType.ne(ContentType::Note))
        .filter(Column::BookmarkId.is_not_null())
        .select_only()
        .column(Column::BookmarkId)
        .into_query();
    let notes = note::Entity::owned_by(project.user_id)
        .filter(note::Column::BookmarkId.in_subquery(bookmarks))
        .select_only()
        .column(note::Column::DocumentId)
        .into_query();
    let visible = || document::Entity::visible_to(project.user_id).select_only().column(Column::Id);
    // A union of three selects, each of which an index serves: for one condition SQLite would read all documents of the user.
    let all = visible()
        .filter(Column::ProjectId.eq(project.id))
        .into_query()
        .union(UnionType::Distinct, visible().filter(Column::Id.in_subquery(items)).into_query())
        .union(UnionType::Distinct, visible().filter(Column::Id.in_subquery(notes)).into_query())
        .to_owned();
    let rows = core.db.read().query_all(&all).await?;
    let ids: Result<Vec<DocumentId>, DbErr> = rows.iter().map(|row| row.try_get_by_index(0)).collect();
    Ok(ids?)
}
