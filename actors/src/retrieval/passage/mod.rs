//! What is shown of search hits: their passages, read from the database, with scores that count the text and the title.

mod exact_title;
mod page_status;
mod readable;
mod results;
mod rows;
mod score;

use schemars::JsonSchema;
use search::calibration::ScoreMeasures;
use serde::Serialize;
use values::id::{BookmarkId, ChunkId, DocumentId, EntryId, FeedId};
use values::kind::{ContentType, DocumentStatus};

use super::ranked_hits::SearchHit;

pub use readable::readable;
pub use results::{load, rounded_score};
pub use score::order_as_results;

/// A passage that matches the query (spec.md: Search result).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The document that contains the passage.
    pub document_id: DocumentId,
    /// Id of the passage that matches.
    pub chunk_id: ChunkId,
    /// The bookmark whose text or note contains the passage; null for other documents.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text contains the passage; null for other documents.
    pub entry_id: Option<EntryId>,
    /// Title of the document; its URL while no title is known.
    pub title: String,
    /// URL of the source, or of the document in the web app if it has no source.
    pub url: String,
    /// Type of the original: an article, a PDF, audio, video or a note.
    pub content_type: ContentType,
    /// Whether the document is being processed, is ready, or could not be fetched or read: `processing`, `ready` or `failed`. For a note on
    /// a bookmark that of the page while the page is not ready, although the note can be read.
    pub status: DocumentStatus,
    /// At most 320 characters of plain text around the best match.
    pub snippet: String,
    /// Calibrated relevance from 0 to 1: how likely the passage is about what the query asks for. Scores of different queries are
    /// comparable, and 0.5 separates results from noise. Results are sorted by it in descending order.
    pub score: f64,
    /// Page of a PDF, from 1; null for other documents.
    pub page_number: Option<i32>,
    /// Start of the passage in a recording, in seconds; null for other documents.
    pub start_seconds: Option<f64>,
    /// End of the passage in a recording, in seconds; null for other documents.
    pub end_seconds: Option<f64>,
    /// What the score is computed from. Clients are not sent it: `carrel eval` writes it down.
    #[serde(skip)]
    pub measures: ScoreMeasures,
}

/// The columns of a passage and of its document. Of a document without a text, its metadata in the place of a passage.
#[derive(Clone, Debug)]
pub struct PassageColumns {
    /// The passage, which is also the id of its point in the index.
    pub id: ChunkId,
    /// The document that contains it.
    pub document_id: DocumentId,
    /// The version of the text of the document to which it belongs. It is the former one until the new text is indexed.
    pub version: i32,
    /// Its position in that version, from 0.
    pub ordinal: i32,
    /// Start offset in the text, in Unicode scalar values.
    pub start_offset: i32,
    /// Page of a PDF file, from 1.
    pub page: Option<i32>,
    /// Start time in a recording.
    pub start_seconds: Option<f64>,
    /// End time in a recording.
    pub end_seconds: Option<f64>,
    /// Its text.
    pub text: String,
    /// The version of the current text of the document.
    pub document_version: i32,
    /// The bookmark whose text or note the document is.
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
}

/// A passage that a search found, with what is shown of its document, which its owner can read.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The passage and its document.
    pub row: PassageColumns,
    /// The hit of the search, with its score.
    pub found: SearchHit,
}

impl Passage {
    /// Returns whether it is a passage of a text. The others are of documents without a text, which were found by their metadata: their
    /// text is the excerpt, a highlight or the title, and no document contains it at an offset.
    pub fn is_of_text(&self) -> bool {
        self.row.id.0 != self.row.document_id.0
    }
}
