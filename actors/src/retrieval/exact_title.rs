//! Hits below the first page of a search whose documents have the query for their title. They belong above all others.

use database::{Db, padded};
use entity::document;
use errors::Error;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, Select};
use search::title_match::TitleMatch;
use values::id::{DocumentId, UserId};

use super::ranked_hits::SearchHit;

/// Maximum number of hits whose titles are read. The title counts twice among the words of a passage, so a document of that title is
/// among the best hits, if not among the first.
const MAX_TITLES: usize = 32;

/// Returns those of the first hits whose documents have this query for their title, in their order.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn find(
    db: &Db,
    user: UserId,
    query: &str,
    hits: &[SearchHit],
) -> Result<Vec<SearchHit>, Error> {
    let hits = hits.get(..MAX_TITLES).unwrap_or(hits);
    let documents: Vec<DocumentId> = hits.iter().map(|hit| hit.document).collect();
    let titles: Vec<(DocumentId, String)> =
        select_titles(user, &documents).into_tuple().all(db.read()).await?;
    let has_title = |hit: &&SearchHit| {
        titles
            .iter()
            .any(|(id, title)| *id == hit.document && TitleMatch::of(title, query) == TitleMatch::Exact)
    };
    Ok(hits.iter().filter(has_title).copied().collect())
}

/// Selects the ids and titles of these documents, of those that the user may read.
fn select_titles(user: UserId, documents: &[DocumentId]) -> Select<document::Entity> {
    document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(documents)))
        .select_only()
        .columns([document::Column::Id, document::Column::Title])
}
