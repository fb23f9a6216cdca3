//! `search_library`: what it takes and what it answers.

use actors::error::Error;
use actors::fields::{Field, Values};
use actors::ops::search::{LIMIT, QUERY, Search};
use entity::kind::ContentType;
use serde_json::{Value, json};

use crate::mcp::schema::{about, id, list, maybe, number, object, one_of, text};

/// What it takes.
pub const FIELDS: &[Field] = &[
    Field::required("query", QUERY, "What to look for, in words or as a question."),
    Field::optional("limit", LIMIT, "Passages at most; 8 when left out."),
];

/// Reads what was given.
pub fn read(mut values: Values) -> Result<Search, Error> {
    Ok(Search {
        query: values.text("query").unwrap_or_default(),
        limit: values.integer("limit"),
        collection: None,
        feed: None,
        source: None,
    })
}

/// What it answers.
pub fn output() -> Value {
    object([("results", list(result())), ("degraded", maybe(one_of(&["lexical"])))])
}

/// A passage that was found.
pub fn result() -> Value {
    let page = json!({ "type": "integer", "minimum": 1 });
    object([
        ("documentId", about(id(), "The document; get_document reads it.")),
        ("chunkId", id()),
        ("bookmarkId", maybe(id())),
        ("entryId", maybe(id())),
        ("title", text()),
        ("url", about(text(), "The way back to the source.")),
        ("contentType", one_of(ContentType::NAMES)),
        ("snippet", about(text(), "The passage around the best match.")),
        ("score", about(number(), "From 0 to 1, falling.")),
        ("pageNumber", about(maybe(page), "Page of a PDF.")),
        ("startSeconds", about(maybe(number()), "Where the passage begins in a recording.")),
        ("endSeconds", maybe(number())),
    ])
}

#[cfg(test)]
pub mod tests {
    use actors::ops::search::Found;
    use actors::retrieval::passage::SearchResult;
    use entity::id::{ChunkId, DocumentId};
    use entity::time::Timestamp;

    use super::super::sample;
    use super::*;

    /// A passage, for the schemas that hold one.
    pub fn passage() -> SearchResult {
        let now = Timestamp::from_millis(0);
        SearchResult {
            document_id: DocumentId::new(now),
            chunk_id: ChunkId::new(now),
            bookmark_id: None,
            entry_id: None,
            title: String::new(),
            url: String::new(),
            content_type: ContentType::Pdf,
            snippet: String::new(),
            score: 0.5,
            page_number: Some(1),
            start_seconds: None,
            end_seconds: None,
        }
    }

    #[test]
    fn the_schema_names_what_is_answered() {
        sample::fits(&Found { results: vec![passage()], degraded: Some("lexical") }, &output());
    }
}
