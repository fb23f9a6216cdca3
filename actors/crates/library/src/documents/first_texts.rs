//! Stores the first texts of many documents with a few statements, as a batch of short texts needs it.

use std::collections::HashSet;

use database::{insert_all, padded};
use entity::{chunk, document, highlight, rendition};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{BookmarkId, DocumentId, UserId};
use values::kind::DocumentStatus;
use values::time::Timestamp;

use super::store::ChunkedDocument;
use crate::highlights;
use errors::Error;

/// A text that was stored.
#[derive(Clone, Debug)]
pub struct StoredText {
    /// The document, as its row is now.
    pub document: document::Model,
    /// The passages of the text, in order.
    pub passages: Vec<chunk::Model>,
}

/// Stores the first versions of the texts of a user's documents in the caller's transaction, as [`replace_text`](super::replace_text)
/// does it for one of any version. The caller indexes them. The documents are the rows as this transaction read them: they have neither a
/// text nor a transcript. Of the metadata of the texts only the language is stored: texts that were supplied have no other.
pub async fn store_first_texts(
    db: &impl ConnectionTrait,
    user: UserId,
    texts: Vec<(document::Model, ChunkedDocument)>,
    now: Timestamp,
) -> Result<Vec<StoredText>, Error> {
    let highlighted = highlighted_bookmarks(db, user, &texts).await?;
    let (mut stored, mut renditions) = (Vec::with_capacity(texts.len()), Vec::new());
    for (document, mut text) in texts {
        if document.bookmark_id.is_some_and(|bookmark| highlighted.contains(&bookmark)) {
            highlights::relocate(db, &document, &text.document.text).await?;
        }
        let (html, outline) = (text.document.html.take(), std::mem::take(&mut text.document.outline));
        if html.is_some() || !outline.is_empty() {
            let outline = serde_json::to_string(&outline).map_err(Error::internal)?;
            renditions.push(rendition::Model { document_id: document.id, user_id: user, html, outline });
        }
        let (document, passages) = text.into_rows(document, now);
        let document = document::Model { status: DocumentStatus::Processing, error: None, ..document };
        write_text_columns(db, &document).await?;
        stored.push(StoredText { document, passages });
    }
    let passages = stored.iter().flat_map(|text| text.passages.iter().cloned());
    insert_all::<chunk::Entity>(db, passages, None).await?;
    let ids: Vec<DocumentId> = stored.iter().map(|text| text.document.id).collect();
    // Deleted in any case: the HTML of a former text must not outlive it.
    rendition::Entity::delete_owned(user)
        .filter(rendition::Column::DocumentId.is_in(padded(&ids)))
        .exec(db)
        .await?;
    insert_all::<rendition::Entity>(db, renditions, None).await?;
    Ok(stored)
}

/// Returns the bookmarks of these documents that have highlights.
async fn highlighted_bookmarks(
    db: &impl ConnectionTrait,
    user: UserId,
    texts: &[(document::Model, ChunkedDocument)],
) -> Result<HashSet<BookmarkId>, Error> {
    let bookmarks: Vec<BookmarkId> = texts.iter().filter_map(|(document, _)| document.bookmark_id).collect();
    if bookmarks.is_empty() {
        return Ok(HashSet::new());
    }
    let highlighted = highlight::Entity::owned_by(user)
        .filter(highlight::Column::BookmarkId.is_in(padded(&bookmarks)))
        .select_only()
        .column(highlight::Column::BookmarkId)
        .distinct();
    Ok(highlighted.into_tuple::<BookmarkId>().all(db).await?.into_iter().collect())
}

/// Writes the columns that describe the text of a document. Only these: the others are counted towards the library, and have not changed.
async fn write_text_columns(db: &impl ConnectionTrait, document: &document::Model) -> Result<(), Error> {
    document::Entity::update_owned(document.user_id)
        .col_expr(document::Column::Version, Expr::value(document.version))
        .col_expr(document::Column::TotalChars, Expr::value(document.total_chars))
        .col_expr(document::Column::WordCount, Expr::value(document.word_count))
        .col_expr(document::Column::Language, Expr::value(document.language.clone()))
        .col_expr(document::Column::Status, Expr::value(document.status))
        .col_expr(document::Column::Error, Expr::value(None::<String>))
        .col_expr(document::Column::UnindexedSince, Expr::value(document.unindexed_since))
        .col_expr(document::Column::UpdatedAt, Expr::value(document.updated_at))
        .filter(document::Column::Id.eq(document.id))
        .exec(db)
        .await?;
    Ok(())
}
