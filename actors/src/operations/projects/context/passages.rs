//! The passages of a project that match some words best.
//!
//! The search names the documents that the project contains now. An item is found as soon as it is added, and not after it was
//! removed, even if the index was not updated yet.

use entity::project;
use library::bookmarks::BookmarkConditions;
use library::projects;
use search::index::{DocumentSet, Filter};
use search::query_syntax::ParsedQuery;

use crate::context::OperationContext;
use crate::retrieval::SearchQuery;
use crate::retrieval::passage::{self, SearchResult};
use errors::Error;

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
    let documents = projects::documents_of(&ctx.core, project).await?;
    // The search would be for nothing, and takes a slot.
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let documents = documents.into_iter().map(|id| id.0).collect();
    let within = Filter { documents: DocumentSet::Only(documents), ..Filter::default() };
    let search = SearchQuery {
        query: ParsedQuery::of(query),
        within,
        bookmarks: BookmarkConditions::default(),
        limit: MAX_PASSAGES + SPARE_HITS,
    };
    let ranked = ctx.retrieval.search(project.user_id, search.clone()).await?;
    passage::load(&ctx.core, project.user_id, &search, &ranked, MAX_PASSAGES).await
}
