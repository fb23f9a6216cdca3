//! Words that are looked for in the whole document.

use std::ops::Range;

use actors::operations::find_text::{FindText, FindTextInRange, FindTextResponse, TextHit};
use errors::Error;
use values::id::DocumentId;

use crate::web::filters::visible_text;
use crate::web::page::request::PageRequest;
use crate::web::places::whole_seconds;

/// The longest words that are looked for, in characters.
const MAX_WORDS_CHARS: usize = 200;

/// The words that are looked for, and where they are.
#[derive(Debug, Default)]
pub struct FindView {
    /// The words; empty if nothing is looked for.
    pub words: String,
    /// The places.
    pub hits: Vec<FoundPlace>,
    /// Whether there are further places.
    pub is_truncated: bool,
}

/// A place of the words.
#[derive(Debug)]
pub struct FoundPlace {
    /// The address that opens it.
    pub href: String,
    /// The page, or the time in whole seconds.
    pub page: u32,
    /// The time in whole seconds.
    pub seconds: i64,
    /// Offset of the first character.
    pub start: usize,
    /// Offset after the last character.
    pub end: usize,
    /// The text in front of the words.
    pub before: String,
    /// The words.
    pub text: String,
    /// The text behind the words.
    pub after: String,
}

/// Looks for the words that the address names in `find`.
///
/// # Errors
/// Those of the operation.
pub async fn find(request: &PageRequest, document: DocumentId) -> Result<FindView, Error> {
    let words = words_of(request);
    if words.is_empty() {
        return Ok(FindView::default());
    }
    let FindTextResponse { hits, truncated, .. } =
        request.run(FindText { document, words: words.clone() }).await?;
    let hits = hits.into_iter().map(|hit| FoundPlace::new(document, &words, hit)).collect();
    Ok(FindView { words, hits, is_truncated: truncated })
}

/// Looks for the words that the address names in `find`, in this range of the text. Returns their places.
///
/// # Errors
/// Those of the operation.
pub async fn find_in_range(
    request: &PageRequest,
    document: DocumentId,
    range: Range<usize>,
) -> Result<Vec<Range<usize>>, Error> {
    let words = words_of(request);
    if words.is_empty() || range.is_empty() {
        return Ok(Vec::new());
    }
    let found = request.run(FindTextInRange { document, words, range }).await?;
    Ok(found.hits.into_iter().map(|hit| hit.start..hit.end).collect())
}

fn words_of(request: &PageRequest) -> String {
    text::cut(request.query.get("find").unwrap_or_default().trim(), MAX_WORDS_CHARS)
}

impl FoundPlace {
    fn new(document: DocumentId, words: &str, hit: TextHit) -> Self {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if let Some(page) = hit.page {
            query.append_pair("page", &page.to_string());
        }
        let seconds = whole_seconds(hit.seconds.unwrap_or_default());
        if hit.seconds.is_some() {
            query.append_pair("t", &seconds.to_string());
        }
        query.append_pair("at", &format!("{}-{}", hit.start, hit.end)).append_pair("find", words);
        Self {
            href: format!("/read/{document}?{}#at", query.finish()),
            page: hit.page.unwrap_or_default(),
            seconds,
            start: hit.start,
            end: hit.end,
            before: visible_text(&text::one_line(&hit.before)),
            text: visible_text(&text::one_line(&hit.text)),
            after: visible_text(&text::one_line(&hit.after)),
        }
    }
}
