//! The form in which the row of a question keeps its answer.

use std::collections::HashMap;

use entity::chunk;
use errors::Error;
use library::context::CoreContext;
use serde::{Deserialize, Serialize};
use values::id::{ChunkId, UserId};
use values::kind::AnswerOutcome;

use crate::operations::ask::{AskResponse, Citation};
use crate::operations::text_positions::{TextPosition, load_passages, number_paragraphs, position_within};

/// An answer with its citations. The names of its members are those of the stored JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredAnswer {
    /// Plain text with markers `[n]`.
    pub answer: String,
    /// Whether the question is answered.
    pub outcome: AnswerOutcome,
    /// What the markers refer to.
    pub citations: Vec<StoredCitation>,
    /// Number of passages that the model was given.
    pub passages_read: usize,
    /// Name of the model that answered.
    pub model: String,
}

/// A citation, with the position of its quote in a version of the document's text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredCitation {
    /// The citation as it was when the question was answered.
    #[serde(flatten)]
    pub citation: Citation,
    /// The version of the text that contains the quote.
    pub version: i32,
    /// Where the quote is in that text.
    pub position: TextPosition,
}

impl StoredAnswer {
    /// Returns an answer with the positions of its citations.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub async fn of(core: &CoreContext, user: UserId, response: &AskResponse) -> Result<Self, Error> {
        let ids = response.citations.iter().map(|citation| citation.chunk_id);
        let passages = load_passages(core, user, ids).await?;
        let mut citations: Vec<StoredCitation> =
            response.citations.iter().map(|citation| store(citation, &passages)).collect();
        let mut numbered: Vec<(&chunk::Model, &mut TextPosition)> = citations
            .iter_mut()
            .filter_map(|stored| Some((passages.get(&stored.citation.chunk_id)?, &mut stored.position)))
            .collect();
        number_paragraphs(core, user, &mut numbered).await?;
        Ok(Self {
            answer: response.answer.clone(),
            outcome: response.outcome,
            citations,
            passages_read: response.passages_read,
            model: response.model.clone(),
        })
    }

    /// Reads the column of a question.
    ///
    /// # Errors
    /// [`Error::Internal`] when it is no answer.
    pub fn read(column: &str) -> Result<Self, Error> {
        // The error of the parser quotes the answer.
        serde_json::from_str(column).map_err(|_| Error::internal("a stored answer cannot be read"))
    }
}

fn store(citation: &Citation, passages: &HashMap<ChunkId, chunk::Model>) -> StoredCitation {
    let (start, end) = (citation.quote_start, citation.quote_end);
    let position = match passages.get(&citation.chunk_id) {
        Some(passage) => position_within(passage, start, end),
        None => TextPosition {
            start,
            end,
            page: citation.page,
            start_seconds: citation.start_seconds,
            paragraph: None,
        },
    };
    StoredCitation { citation: citation.clone(), version: citation.document_version, position }
}
