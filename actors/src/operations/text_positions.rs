//! Positions in the texts of documents, as the web app names them and links to them: a page, a second, or the number of a paragraph.

use std::collections::HashMap;

use entity::chunk::{Column, Entity, Model};
use errors::Error;
use library::context::CoreContext;
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QuerySelect};
use serde::{Deserialize, Serialize};
use values::id::{ChunkId, DocumentId, UserId};

/// What ends a paragraph.
const PARAGRAPH_BREAK: &str = "\n\n";

/// Where words are in the text of a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextPosition {
    /// Offset of the first character in the document's text, in Unicode scalar values.
    pub start: usize,
    /// Offset after the last character, in Unicode scalar values.
    pub end: usize,
    /// Page of a PDF, from 1; null for other documents.
    pub page: Option<i32>,
    /// Start of the passage in a recording, in seconds; null for other documents.
    pub start_seconds: Option<f64>,
    /// Number of the paragraph, from 1; null for PDFs and recordings, and for a text that was replaced since.
    pub paragraph: Option<u32>,
}

impl TextPosition {
    /// Returns the path of the page of the web app that shows a document at this position, with the words marked.
    pub fn reader_path(&self, document: DocumentId) -> String {
        let Self { start, end, page, start_seconds, .. } = self;
        let words = if start < end { format!("at={start}-{end}") } else { String::new() };
        if let Some(seconds) = start_seconds {
            let second = seconds.max(0.0).floor();
            return format!("/read/{document}?t={second}#t{second}");
        }
        match (page, words.is_empty()) {
            (Some(page), true) => format!("/read/{document}?page={page}"),
            (Some(page), false) => format!("/read/{document}?page={page}&{words}#at"),
            (None, true) => format!("/read/{document}"),
            (None, false) => format!("/read/{document}?{words}#at"),
        }
    }
}

/// Reads these passages of a user. Ids of removed passages, and of documents without a text, have none.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn load_passages(
    core: &CoreContext,
    user: UserId,
    ids: impl IntoIterator<Item = ChunkId>,
) -> Result<HashMap<ChunkId, Model>, Error> {
    let ids: Vec<ChunkId> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = Entity::owned_by(user).filter(Column::Id.is_in(ids)).all(core.db.read()).await?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}

/// Returns the position of a range of a document's text that lies within this passage. It has no paragraph yet.
pub fn position_within(passage: &Model, start: usize, end: usize) -> TextPosition {
    TextPosition { start, end, page: passage.page, start_seconds: passage.start_seconds, paragraph: None }
}

/// Sets the numbers of the paragraphs of positions, each of which lies within the passage beside it. The text before each is counted by
/// the database: it may be a book.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn number_paragraphs(
    core: &CoreContext,
    user: UserId,
    positions: &mut [(&Model, &mut TextPosition)],
) -> Result<(), Error> {
    let is_numbered = |passage: &Model| passage.page.is_none() && passage.start_seconds.is_none();
    let passages = positions.iter().map(|(passage, _)| *passage).filter(|passage| is_numbered(passage));
    let before = breaks_by_passage(core, user, passages).await?;
    for (passage, position) in positions.iter_mut().filter(|(passage, _)| is_numbered(passage)) {
        let earlier = before.iter().filter(|breaks| breaks.is_before(passage));
        let earlier: i64 = earlier.map(|breaks| breaks.count).sum();
        let start = position.start.saturating_sub(usize::try_from(passage.start_offset).unwrap_or(0));
        let within = text::head(&passage.text, start).matches(PARAGRAPH_BREAK).count();
        position.paragraph =
            u32::try_from(earlier).ok().zip(u32::try_from(within + 1).ok()).map(|(a, b)| a + b);
    }
    Ok(())
}

/// The number of paragraphs that end within a passage.
struct PassageBreaks {
    document: DocumentId,
    version: i32,
    ordinal: i32,
    count: i64,
}

impl PassageBreaks {
    fn is_before(&self, passage: &Model) -> bool {
        (self.document, self.version) == (passage.document_id, passage.version)
            && self.ordinal < passage.ordinal
    }
}

/// Returns the paragraphs that end within each passage that comes before one of these in the same text.
async fn breaks_by_passage(
    core: &CoreContext,
    user: UserId,
    passages: impl Iterator<Item = &Model>,
) -> Result<Vec<PassageBreaks>, Error> {
    let mut last: HashMap<(DocumentId, i32), i32> = HashMap::new();
    for passage in passages.filter(|passage| passage.ordinal > 0) {
        let ordinal = last.entry((passage.document_id, passage.version)).or_default();
        *ordinal = passage.ordinal.max(*ordinal);
    }
    if last.is_empty() {
        return Ok(Vec::new());
    }
    let mut of_texts = Condition::any();
    for ((document, version), ordinal) in last {
        let before = Condition::all()
            .add(Column::DocumentId.eq(document))
            .add(Column::Version.eq(version))
            .add(Column::Ordinal.lt(ordinal));
        of_texts = of_texts.add(before);
    }
    // LENGTH counts characters on both databases. The cast is for PostgreSQL, where it returns 32 bits.
    let breaks = format!(
        "CAST((LENGTH(chunk.text) - LENGTH(REPLACE(chunk.text, '{PARAGRAPH_BREAK}', ''))) / 2 AS BIGINT)"
    );
    let rows: Vec<(DocumentId, i32, i32, i64)> = Entity::owned_by(user)
        .filter(of_texts)
        .select_only()
        .columns([Column::DocumentId, Column::Version, Column::Ordinal])
        .column_as(Expr::cust(breaks), "breaks")
        .into_tuple()
        .all(core.db.read())
        .await?;
    let of_row = |(document, version, ordinal, count)| PassageBreaks { document, version, ordinal, count };
    Ok(rows.into_iter().map(of_row).collect())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn path_leads_to_page_second_or_words() {
        let id = DocumentId(Uuid::nil());
        let words = TextPosition { start: 4, end: 9, ..TextPosition::default() };
        for (position, expected) in [
            (words.clone(), "?at=4-9#at"),
            (TextPosition { page: Some(12), ..words.clone() }, "?page=12&at=4-9#at"),
            (TextPosition { page: Some(12), ..TextPosition::default() }, "?page=12"),
            (TextPosition { start_seconds: Some(872.6), ..words }, "?t=872#t872"),
            (TextPosition::default(), ""),
        ] {
            assert_eq!(position.reader_path(id), format!("/read/{id}{expected}"));
        }
    }
}
