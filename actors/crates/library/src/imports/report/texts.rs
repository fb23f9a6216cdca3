//! The progress of the texts of the bookmarks that an import created.

use database::padded;
use std::collections::BTreeMap;

use entity::{document, import};
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter, QuerySelect};
use values::kind::{ContentType, DocumentStatus};

use super::super::created;
use crate::BATCH_ROWS;
use crate::context::CoreContext;
use crate::text_counts::TextCounts;
use errors::Error;

/// Counts those failed texts of an import's bookmarks that are tried again, because a job of them waits or runs. Reads a row for each
/// bookmark, so it is slow for a large import.
pub async fn count_retried_texts(core: &CoreContext, import: &import::Model) -> Result<u64, Error> {
    let bookmarks = created::list_bookmarks(core.db.read(), import).await?;
    let mut retried = 0;
    for batch in bookmarks.chunks(BATCH_ROWS) {
        retried += document::Entity::visible_to(import.user_id)
            .filter(document::Column::BookmarkId.is_in(padded(batch)))
            .filter(document::Column::ContentType.ne(ContentType::Note))
            .filter(document::Column::Status.eq(DocumentStatus::Failed))
            .filter(document::Column::Id.in_subquery(jobs::pending_documents(import.user_id)))
            .count(core.db.read())
            .await?;
    }
    Ok(retried)
}

/// Counts the texts of the bookmarks that an import created. The count of a large import may have ended two seconds ago
/// ([`RecentTextCounts`](crate::text_counts::RecentTextCounts)).
pub async fn count_texts(core: &CoreContext, import: &import::Model) -> Result<TextCounts, Error> {
    core.text_counts.find_or_count(import, count_now(core, import)).await
}

async fn count_now(core: &CoreContext, import: &import::Model) -> Result<TextCounts, Error> {
    let bookmarks = created::list_bookmarks(core.db.read(), import).await?;
    let mut totals: BTreeMap<&str, i64> = BTreeMap::new();
    // Short lists of ids: a table that has just grown has no statistics, and a join over it may take minutes.
    for batch in bookmarks.chunks(BATCH_ROWS) {
        let counts: Vec<(DocumentStatus, i64)> = document::Entity::visible_to(import.user_id)
            .filter(document::Column::BookmarkId.is_in(padded(batch)))
            .filter(document::Column::ContentType.ne(ContentType::Note))
            .select_only()
            .column(document::Column::Status)
            .column_as(document::Column::Id.count(), "count")
            .group_by(document::Column::Status)
            .into_tuple()
            .all(core.db.read())
            .await?;
        counts.into_iter().for_each(|(status, n)| *totals.entry(status.name()).or_default() += n);
    }
    let total = |status: DocumentStatus| totals.get(status.name()).copied().unwrap_or_default();
    Ok(TextCounts {
        processing: total(DocumentStatus::Processing),
        ready: total(DocumentStatus::Ready),
        failed: total(DocumentStatus::Failed),
    })
}
