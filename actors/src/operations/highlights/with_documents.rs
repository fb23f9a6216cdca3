//! Highlights with their documents, and where in them they are.

use std::collections::{HashMap, HashSet};

use database::padded;
use entity::{bookmark, document, highlight};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, HighlightId, UserId};
use values::kind::{AnchorState, ContentType};

use super::view::AnchoredHighlight;
use crate::context::OperationContext;
use errors::Error;
use library::bookmarks::tags_of_bookmarks;
use library::documents::{TextPlace, find_places};

/// A highlight with its document, and where in it it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HighlightOfDocument {
    /// The highlight.
    #[serde(flatten)]
    pub highlight: AnchoredHighlight,
    /// Id of the document.
    pub document_id: DocumentId,
    /// The bookmark of the document.
    pub bookmark_id: BookmarkId,
    /// Title of the document.
    pub title: String,
    /// Names of the authors; null if the source states none.
    pub author: Option<String>,
    /// URL of the page or file; for uploads their page in the web app.
    pub url: String,
    /// Type of the source from which the text was extracted.
    pub content_type: ContentType,
    /// Number of the paragraph in which it begins, from 1; null if it is lost or far behind the beginning of a long text.
    pub paragraph: Option<u32>,
    /// Page of a PDF on which it begins, from 1; null for other documents.
    pub page: Option<i32>,
    /// Second of a recording at which it begins; null for other documents.
    pub seconds: Option<f64>,
    /// Tags of the bookmark, sorted by their names.
    pub tags: Vec<String>,
}

/// Adds their documents and places to highlights. One whose document was deleted meanwhile is left out.
pub(super) async fn with_documents(
    ctx: &OperationContext,
    user: UserId,
    rows: Vec<highlight::Model>,
) -> Result<Vec<HighlightOfDocument>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let db = ctx.core.db.read();
    let pairs = bookmark::Entity::visible_to(user)
        .filter(bookmark::Column::Id.is_in(padded(&bookmark_ids(&rows))))
        .select_only()
        .columns([bookmark::Column::Id, bookmark::Column::DocumentId]);
    let documents_of: HashMap<BookmarkId, DocumentId> =
        pairs.into_tuple().all(db).await?.into_iter().collect();
    let ids: Vec<DocumentId> = documents_of.values().copied().collect();
    let documents = document::Entity::visible_to(user).filter(document::Column::Id.is_in(padded(&ids)));
    let documents: HashMap<DocumentId, document::Model> =
        documents.all(db).await?.into_iter().map(|document| (document.id, document)).collect();
    let mut placed: Vec<(highlight::Model, &document::Model)> = Vec::with_capacity(rows.len());
    for row in rows {
        let id = documents_of.get(&row.bookmark_id);
        placed.extend(id.and_then(|id| documents.get(id)).map(|document| (row, document)));
    }
    let places = places_of(ctx, user, &placed).await?;
    let bookmarks: Vec<BookmarkId> = documents_of.keys().copied().collect();
    let tags = tags_of_bookmarks(db, user, &bookmarks).await?;
    let view = |(row, document): (highlight::Model, &document::Model)| {
        let place = places.get(&row.id).copied().unwrap_or_default();
        HighlightOfDocument {
            document_id: document.id,
            bookmark_id: row.bookmark_id,
            title: document.title.clone(),
            author: document.author.clone(),
            url: ctx.core.source_url(document.url.clone(), document.id),
            content_type: document.content_type,
            paragraph: place.paragraph,
            page: place.page,
            seconds: place.seconds,
            tags: tags.get(&row.bookmark_id).cloned().unwrap_or_default(),
            highlight: row.into(),
        }
    };
    Ok(placed.into_iter().map(view).collect())
}

/// Returns the places of highlights that are not lost. The text of each document is read once.
async fn places_of(
    ctx: &OperationContext,
    user: UserId,
    placed: &[(highlight::Model, &document::Model)],
) -> Result<HashMap<HighlightId, TextPlace>, Error> {
    let mut offsets: HashMap<(DocumentId, i32), Vec<(HighlightId, i32)>> = HashMap::new();
    let is_placed = |row: &highlight::Model| row.anchor_state != AnchorState::Lost && row.end_offset > 0;
    for (row, document) in placed.iter().filter(|(row, _)| is_placed(row)) {
        offsets.entry((document.id, document.version)).or_default().push((row.id, row.start_offset));
    }
    let mut places = HashMap::new();
    for ((document, version), highlights) in offsets {
        let starts: Vec<i32> = highlights.iter().map(|(_, start)| *start).collect();
        let found = find_places(ctx.core.db.read(), user, document, version, &starts).await?;
        places.extend(highlights.into_iter().map(|(id, _)| id).zip(found));
    }
    Ok(places)
}

/// Returns the bookmarks of highlights, each once.
pub(super) fn bookmark_ids(rows: &[highlight::Model]) -> Vec<BookmarkId> {
    let ids: HashSet<BookmarkId> = rows.iter().map(|row| row.bookmark_id).collect();
    ids.into_iter().collect()
}
