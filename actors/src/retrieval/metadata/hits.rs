//! Reads what is shown of documents that a search found by their metadata alone: their first passage or, without a text, what the page
//! says of itself.

use std::collections::HashMap;

use database::{Db, padded};
use entity::{chunk, document};
use errors::Error;
use sea_orm::{ColumnTrait, Condition, FromQueryResult, JoinType, QueryFilter, QuerySelect, Select};
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId, FeedId, UserId};
use values::kind::{ContentType, DocumentStatus};

use super::highlight_texts::first_highlights;
use crate::retrieval::passage_joins::first_passage;

/// The columns of a document, and of the first passage of its current text if it has one.
#[derive(Debug, FromQueryResult)]
pub struct DescribedDocument {
    /// The document.
    pub id: DocumentId,
    /// The version of its current text; 0 if it has none.
    pub document_version: i32,
    /// The bookmark whose text or note it is.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text it is.
    pub entry_id: Option<EntryId>,
    /// The feed of that entry.
    pub feed_id: Option<FeedId>,
    /// Type of its original.
    pub content_type: ContentType,
    /// Whether it is being processed, is ready, or could not be extracted.
    pub status: DocumentStatus,
    /// URL of its source, if it has one.
    pub url: Option<String>,
    /// Its title.
    pub title: String,
    /// The excerpt of its page.
    pub description: Option<String>,
    /// The first passage of its current text.
    pub chunk_id: Option<ChunkId>,
    /// Page of the passage in a PDF file, from 1.
    pub page: Option<i32>,
    /// Start time of the passage in a recording.
    pub start_seconds: Option<f64>,
    /// End time of the passage in a recording.
    pub end_seconds: Option<f64>,
    /// Text of the passage. Without a text: the excerpt, else the first highlight, else the title.
    pub text: Option<String>,
}

/// Reads documents that meet a condition. Those that the user may not read are left out.
///
/// # Errors
/// The database fails.
pub async fn read_described(
    db: &Db,
    user: UserId,
    documents: &[DocumentId],
    condition: Condition,
) -> Result<HashMap<DocumentId, DescribedDocument>, Error> {
    if documents.is_empty() {
        return Ok(HashMap::new());
    }
    let found = select(user, documents).filter(condition).into_model::<DescribedDocument>();
    let mut found = found.all(db.read()).await?;
    let lacks_excerpt = |row: &&DescribedDocument| row.text.is_none() && excerpt_of(row).is_none();
    let bookmarks = found.iter().filter(lacks_excerpt).filter_map(|row| row.bookmark_id).collect();
    let mut highlights = first_highlights(db, user, bookmarks).await?;
    for row in &mut found {
        if row.text.is_none() {
            let highlight = row.bookmark_id.and_then(|id| highlights.remove(&id));
            row.text = excerpt_of(row).or(highlight).or_else(|| Some(row.title.clone()));
        }
    }
    Ok(found.into_iter().map(|row| (row.id, row)).collect())
}

/// Returns the excerpt of a document; `None` if it is blank.
fn excerpt_of(row: &DescribedDocument) -> Option<String> {
    row.description.clone().filter(|excerpt| !excerpt.trim().is_empty())
}

fn select(user: UserId, documents: &[DocumentId]) -> Select<document::Entity> {
    document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(documents)))
        .join(JoinType::LeftJoin, first_passage(user))
        .select_only()
        .column(document::Column::Id)
        .column_as(document::Column::Version, "document_version")
        .columns([
            document::Column::BookmarkId,
            document::Column::EntryId,
            document::Column::FeedId,
            document::Column::ContentType,
            document::Column::Status,
            document::Column::Url,
            document::Column::Title,
            document::Column::Description,
        ])
        .column_as(chunk::Column::Id, "chunk_id")
        .columns([
            chunk::Column::Page,
            chunk::Column::StartSeconds,
            chunk::Column::EndSeconds,
            chunk::Column::Text,
        ])
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, QueryTrait};
    use uuid::Uuid;

    use super::*;
    use crate::retrieval::test_library::open_database;

    #[tokio::test]
    async fn documents_with_their_first_passages_are_found_by_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let ids: Vec<DocumentId> = (0..20).map(|id| DocumentId(Uuid::from_u128(id))).collect();

        let plan = select(UserId(Uuid::nil()), &ids).build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&db, plan).await.unwrap();

        assert!(plan.has_step("document_user (user_id=? AND id=?)"), "{plan:#?}");
        assert!(plan.has_step("chunk_ordinal (document_id=? AND version=? AND ordinal=?)"), "{plan:#?}");
    }
}
