//! A highlight as it is shown, and whether its words stand where it says.

use entity::id::{HighlightId, UserId};
use entity::time::Timestamp;
use entity::{bookmark, chunk, document, highlight};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;

use errors::Error;

/// A highlight (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HighlightView {
    highlight_id: HighlightId,
    /// The highlighted text, exactly as in the document.
    text: String,
    /// The user's note on it.
    note: Option<String>,
    /// Name of the colour.
    color: Option<String>,
    /// Offset of the first character in the document's text, in Unicode scalar values. An imported highlight begins and ends at 0
    /// until the text is ready, and if the text does not contain it.
    start_offset: i32,
    /// Offset after the last character.
    end_offset: i32,
    created_at: Timestamp,
}

impl From<highlight::Model> for HighlightView {
    fn from(row: highlight::Model) -> Self {
        Self {
            highlight_id: row.id,
            text: row.text,
            note: row.note,
            color: row.color,
            start_offset: row.start_offset,
            end_offset: row.end_offset,
            created_at: row.created_at,
        }
    }
}

/// A highlight.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HighlightResponse {
    pub(super) highlight: HighlightView,
}

/// Words, and where they are said to stand.
pub struct Marked<'a> {
    /// The words.
    pub text: &'a str,
    /// Where they begin.
    pub start: i32,
    /// Offset after the last character.
    pub end: i32,
}

/// The words stand at these offsets of the bookmark's text, as it is now.
///
/// # Errors
/// A fault of the field `text` where they do not.
pub async fn must_stand(
    db: &impl ConnectionTrait,
    user: UserId,
    saved: &bookmark::Model,
    marked: Marked<'_>,
) -> Result<(), Error> {
    let document =
        document::Entity::one_of(user, saved.document_id).one(db).await?.ok_or(Error::not_found())?;
    let stands = text_between(db, &document, marked.start, marked.end).await?;
    if stands.as_deref() == Some(marked.text) {
        return Ok(());
    }
    Err(Error::invalid("text", "differs from the text of the document between startOffset and endOffset"))
}

/// The characters of a document's text from one offset to another; `None` where there are none.
async fn text_between(
    db: &impl ConnectionTrait,
    document: &document::Model,
    start: i32,
    end: i32,
) -> Result<Option<String>, Error> {
    if start >= end || end > document.total_chars {
        return Ok(None);
    }
    let touched = chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .filter(chunk::Column::EndOffset.gt(start))
        .filter(chunk::Column::StartOffset.lt(end))
        .order_by_asc(chunk::Column::StartOffset)
        .select_only()
        .columns([chunk::Column::StartOffset, chunk::Column::Text]);
    let rows: Vec<(i32, String)> = touched.into_tuple().all(db).await?;
    let begins = rows.first().map_or(0, |(begins, _)| *begins);
    let whole: String = rows.into_iter().map(|(_, text)| text).collect();
    let place = |offset: i32| usize::try_from(offset - begins).unwrap_or(0);
    Ok(text::slice_chars(&whole, place(start), place(end)).map(str::to_owned))
}
