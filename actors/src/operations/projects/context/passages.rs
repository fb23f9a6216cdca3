//! The passages of a project that answer some words best.
//!
//! They are looked for among the documents that are in the project now, by name: what was added a moment ago is found, and
//! what was taken out is not, whatever the index was told by then.

use entity::id::DocumentId;
use entity::kind::ContentType;
use entity::{document, note, project, project_item};
use sea_orm::{ColumnTrait, Condition, QueryFilter, QuerySelect, QueryTrait};
use search::index::Filter;

use crate::context::OperationContext;
use errors::Error;
use crate::retrieval::SearchQuery;
use crate::retrieval::passage::{self, SearchResult};

/// Passages at most.
const MOST: usize = 8;
/// So many more are looked for: what was replaced a moment ago may still stand in the index.
const SPARE: usize = 20;

/// The best passages from the project's sources and notes, best first.
pub async fn find(ctx: &OperationContext, project: &project::Model, query: &str) -> Result<Vec<SearchResult>, Error> {
    let documents = documents(ctx, project).await?;
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let documents = documents.into_iter().map(|id| id.0).collect();
    let within = Filter { documents: Some(documents), ..Filter::default() };
    let wanted = SearchQuery { query: query.to_owned(), within, limit: MOST + SPARE };
    let ranked = ctx.retrieval.search(project.user_id, wanted.clone()).await?;
    passage::load(&ctx.core, project.user_id, &wanted, &ranked.found, MOST).await
}

/// The texts of the items, what the person noted on those that are bookmarks, and the project's own notes.
async fn documents(ctx: &OperationContext, project: &project::Model) -> Result<Vec<DocumentId>, Error> {
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
    let noted = note::Entity::owned_by(project.user_id)
        .filter(note::Column::BookmarkId.in_subquery(bookmarks))
        .select_only()
        .column(note::Column::DocumentId)
        .into_query();
    let any = Condition::any()
        .add(Column::ProjectId.eq(project.id))
        .add(Column::Id.in_subquery(items))
        .add(Column::Id.in_subquery(noted));
    let found = document::Entity::readable_by(project.user_id).filter(any);
    Ok(found.select_only().column(Column::Id).into_tuple().all(ctx.core.db.read()).await?)
}
