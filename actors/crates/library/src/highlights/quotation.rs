//! Checks that a new highlight quotes the text of its document.

use std::ops::Range;

use entity::{bookmark, chunk, document};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use values::id::UserId;

use errors::Error;

/// Words with the offsets at which a text is said to contain them, in Unicode scalar values.
pub struct Quotation<'a> {
    /// The quoted words, compared exactly.
    pub text: &'a str,
    /// Offset of the first character, not negative. It may lie behind the end of the text.
    pub start: i32,
    /// Offset after the last character. It may lie behind the end of the text, or before `start`.
    pub end: i32,
}

/// Requires that the current text of the bookmark contains the words at these offsets.
///
/// # Errors
/// [`Error::Invalid`] names the field `text` when it does not; [`Error::NotFound`] when the document is hidden.
pub async fn require_quotation(
    db: &impl ConnectionTrait,
    user: UserId,
    bookmark: &bookmark::Model,
    quotation: Quotation<'_>,
) -> Result<(), Error> {
    let document = document::Entity::one_visible_to(user, bookmark.document_id)
        .one(db)
        .await?
        .ok_or(Error::not_found())?;
    let actual = text_between(db, &document, quotation.start, quotation.end).await?;
    if actual.as_deref() == Some(quotation.text) {
        return Ok(());
    }
    Err(Error::invalid("text", "differs from the text of the document between startOffset and endOffset"))
}

/// Cuts the words between two offsets out of the current text of a document.
///
/// # Errors
/// [`Error::Conflict`] when the text has another version than the one that the offsets were read from; [`Error::Invalid`] names the
/// field `endOffset` when the range is empty, ends behind the text or is longer than `max_chars`.
pub async fn cut_quotation(
    db: &impl ConnectionTrait,
    document: &document::Model,
    version: i32,
    range: Range<i32>,
    max_chars: i32,
) -> Result<String, Error> {
    if document.version != version {
        return Err(Error::conflict(
            "the text was replaced after it was read; load the document again and select the words once more",
        ));
    }
    if range.end.saturating_sub(range.start) > max_chars {
        return Err(Error::invalid("endOffset", format!("must be at most {max_chars} after startOffset")));
    }
    let words = text_between(db, document, range.start, range.end).await?;
    let words = words.filter(|words| !words.trim().is_empty());
    words.ok_or(Error::invalid(
        "endOffset",
        "must be behind startOffset and within the text, with words between them",
    ))
}

/// Returns the characters of the document's current text between two offsets; `None` for an empty or impossible range.
async fn text_between(
    db: &impl ConnectionTrait,
    document: &document::Model,
    start: i32,
    end: i32,
) -> Result<Option<String>, Error> {
    if start >= end || end > document.total_chars {
        return Ok(None);
    }
    // Only the passages that the range overlaps are read: a text may have megabytes.
    let overlapping = chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .filter(chunk::Column::EndOffset.gt(start))
        .filter(chunk::Column::StartOffset.lt(end))
        .order_by_asc(chunk::Column::StartOffset)
        .select_only()
        .columns([chunk::Column::StartOffset, chunk::Column::Text]);
    let rows: Vec<(i32, String)> = overlapping.into_tuple().all(db).await?;
    let first_offset = rows.first().map_or(0, |(offset, _)| *offset);
    let passages: String = rows.into_iter().map(|(_, text)| text).collect();
    // The offsets count from the beginning of the text, the index from the first of these passages.
    let index = |offset: i32| usize::try_from(offset - first_offset).unwrap_or(0);
    Ok(text::slice_chars(&passages, index(start), index(end)).map(str::to_owned))
}
