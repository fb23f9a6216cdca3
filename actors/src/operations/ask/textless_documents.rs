//! The documents without a text that an answer names and cites: a page that waits or could not be fetched, found by its title, tags or
//! notes on highlights, has no sentence to quote.

use std::collections::HashSet;

use errors::Error;
use library::context::CoreContext;
use text::head;
use values::id::{ChunkId, DocumentId, UserId};
use values::kind::DocumentStatus;

use crate::retrieval::passage::{self, Passage, PassageColumns};
use crate::retrieval::{SearchHit, SearchQuery};

/// Maximum number of documents without a text that an answer names.
const MAX_DOCUMENTS: usize = 2;
/// Characters that are shown of the excerpt of such a document, or of its first highlight.
const MAX_EXCERPT_CHARS: usize = 200;

/// A document without a text.
#[derive(Clone, Debug)]
pub(super) struct TextlessDocument {
    /// An empty passage at the start of the document, whose id is that of the document, as in the results of a search.
    pub passage: Passage,
    /// The title, why there is no text, and what the page says of itself, in one line.
    pub description: String,
}

/// Returns the documents that search ranks before the first of which a passage can be quoted, at most two, best first: all are without a
/// text, or their text has no words.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn load(
    core: &CoreContext,
    user: UserId,
    search: &SearchQuery,
    hits: &[SearchHit],
    quotable: &[Passage],
) -> Result<Vec<TextlessDocument>, Error> {
    let quotable: HashSet<DocumentId> = quotable.iter().map(|passage| passage.row.document_id).collect();
    let is_textless = |hit: &&SearchHit| !quotable.contains(&hit.document);
    let before: Vec<SearchHit> = hits.iter().take_while(is_textless).copied().collect();
    if before.is_empty() {
        return Ok(Vec::new());
    }
    let mut passages = passage::readable(core, user, search, &before).await?;
    let mut named = HashSet::new();
    passages.retain(|passage| named.insert(passage.row.document_id));
    Ok(passages.into_iter().take(MAX_DOCUMENTS).map(TextlessDocument::of).collect())
}

impl TextlessDocument {
    /// Returns the document of a passage that cannot be quoted.
    fn of(passage: Passage) -> Self {
        let description = describe(&passage);
        let Passage { row, found } = passage;
        let id = ChunkId(row.document_id.0);
        let row = PassageColumns {
            id,
            start_offset: 0,
            page: None,
            start_seconds: None,
            end_seconds: None,
            text: String::new(),
            ..row
        };
        Self { passage: Passage { row, found: SearchHit { chunk: id, ..found } }, description }
    }
}

/// Returns, in English, why a document of this status has no text to quote. Answers have it in parentheses after the title of the document;
/// the web app replaces it by the same reason in the language of the page.
pub fn textless_reason(status: DocumentStatus) -> &'static str {
    match status {
        DocumentStatus::Processing => "its text is not here yet",
        DocumentStatus::Failed => "its text could not be fetched",
        DocumentStatus::Ready => "it has no text",
    }
}

fn describe(passage: &Passage) -> String {
    let row = &passage.row;
    let title = text::one_line(&row.title);
    let title = if title.is_empty() { text::one_line(row.url.as_deref().unwrap_or_default()) } else { title };
    let reason = textless_reason(row.status);
    // A passage of a former text says nothing of the present one.
    let excerpt = if passage.is_of_text() { String::new() } else { text::one_line(&row.text) };
    if excerpt.is_empty() || excerpt == title {
        return format!("“{title}” ({reason})");
    }
    let shown = head(&excerpt, MAX_EXCERPT_CHARS);
    let ellipsis = if shown.len() < excerpt.len() { "…" } else { "" };
    format!("“{title}” ({reason}): “{shown}{ellipsis}”")
}

#[cfg(test)]
mod tests {
    use search::calibration::{Relevance, RetrievalMeasures};
    use uuid::Uuid;

    use super::*;
    use crate::retrieval::test_library::passage_columns;

    /// Returns a document that was found by its metadata, with this excerpt.
    fn found(title: &str, excerpt: &str, status: DocumentStatus) -> Passage {
        let (chunk, document) = (ChunkId(Uuid::from_u128(1)), DocumentId(Uuid::from_u128(1)));
        let measures =
            RetrievalMeasures { bm25_share: Some(0.5), cosine: None, max_missing_cosine: 0.0, terms: 1 };
        let relevance = Relevance::of(measures, 0.0);
        let row = PassageColumns { status, ..passage_columns(chunk, document, title, excerpt) };
        let found = SearchHit { chunk, document, relevance, score: 0.5, cosine: None, metadata_share: 0.5 };
        Passage { row, found }
    }

    #[test]
    fn document_is_described_by_title_state_and_excerpt() {
        for (title, excerpt, status, expected) in [
            ("Waders", "Waders", DocumentStatus::Failed, "“Waders” (its text could not be fetched)"),
            (
                "Waders [2]",
                "They feed\non mud.",
                DocumentStatus::Processing,
                "“Waders [2]” (its text is not here yet): “They feed on mud.”",
            ),
            ("Waders", "", DocumentStatus::Ready, "“Waders” (it has no text)"),
        ] {
            assert_eq!(TextlessDocument::of(found(title, excerpt, status)).description, expected);
        }
    }

    #[test]
    fn excerpt_is_cut() {
        let excerpt = "mud ".repeat(100);

        let description = TextlessDocument::of(found("Waders", &excerpt, DocumentStatus::Failed)).description;

        assert!(description.ends_with("…”") && description.chars().count() < 300, "{description}");
    }

    #[test]
    fn passage_of_a_document_without_a_text_is_empty() {
        let mut former = found("Waders", "They feed on mud.", DocumentStatus::Ready);
        former.row.id = ChunkId(Uuid::from_u128(7));
        former.row.start_offset = 40;

        let document = TextlessDocument::of(former);

        assert_eq!(document.description, "“Waders” (it has no text)");
        let row = document.passage.row;
        assert_eq!((row.id.0, row.start_offset, row.text.as_str()), (row.document_id.0, 0, ""));
    }
}
