//! How far the texts are of what an import saved.

use std::collections::BTreeMap;

use entity::kind::{ContentType, DocumentStatus};
use entity::{document, import};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use serde::Serialize;

use super::made::bookmarks;
use crate::context::CoreContext;
use errors::Error;
use crate::bookmarks::save::AT_ONCE;

/// Texts of bookmarks that an import made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Texts {
    /// Those that wait to be read or are being read.
    pub processing: i64,
    /// Those that can be read and searched.
    pub ready: i64,
    /// Those whose last try failed.
    pub failed: i64,
}

/// Counts the texts of what an import made. It reads a row for each bookmark, so it is slow for a large import.
///
/// # Errors
/// The database fails.
pub async fn texts(core: &CoreContext, import: &import::Model) -> Result<Texts, Error> {
    let made = bookmarks(core.db.read(), import).await?;
    let mut counted: BTreeMap<&str, i64> = BTreeMap::new();
    // By short lists of ids: a table that has just grown has no statistics, and a join over it may take minutes.
    for some in made.chunks(AT_ONCE) {
        let found: Vec<(DocumentStatus, i64)> = document::Entity::readable_by(import.user_id)
            .filter(document::Column::BookmarkId.is_in(some.iter().copied()))
            .filter(document::Column::ContentType.ne(ContentType::Note))
            .select_only()
            .column(document::Column::Status)
            .column_as(document::Column::Id.count(), "count")
            .group_by(document::Column::Status)
            .into_tuple()
            .all(core.db.read())
            .await?;
        found.into_iter().for_each(|(status, n)| *counted.entry(status.name()).or_default() += n);
    }
    let of = |status: DocumentStatus| counted.get(status.name()).copied().unwrap_or_default();
    Ok(Texts {
        processing: of(DocumentStatus::Processing),
        ready: of(DocumentStatus::Ready),
        failed: of(DocumentStatus::Failed),
    })
}
