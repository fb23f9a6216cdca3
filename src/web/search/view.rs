//! What the page shows of a search.

use std::ops::Range;

use actors::operations::search_passages::{FoundDocument, FoundPassage, SearchPassagesResponse};
use values::kind::{ContentType, DocumentStatus};
use values::time::Timestamp;

use super::address::SearchAddress;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::places::{PlaceView, kind_icon, kind_key};

/// The results of a search.
pub struct ResultsView {
    /// The documents with their passages.
    pub hits: Vec<HitView>,
    /// Number of passages.
    pub passages: usize,
    /// Whether only words are matched at the moment.
    pub is_degraded: bool,
    /// The end of the pause of the AI, if that is why.
    pub paused_until: Option<Timestamp>,
    /// The corrected query, and the address of a search for the words as they are written.
    pub correction: Option<(String, String)>,
    /// The address with more passages, if there may be more.
    pub more: Option<String>,
}

impl ResultsView {
    /// Returns the view of a response.
    pub fn new(found: SearchPassagesResponse, address: &SearchAddress, request: &PageRequest) -> Self {
        let may_have_more = !address.shows_more && found.passage_count >= 8;
        let more = may_have_more.then(|| SearchAddress { shows_more: true, ..address.clone() }.path());
        let as_written = SearchAddress { is_exact: true, ..address.clone() };
        let hits = found.documents.into_iter().map(|document| HitView::new(document, request.locale()));
        Self {
            hits: hits.collect(),
            passages: found.passage_count,
            is_degraded: found.degraded.is_some(),
            paused_until: found.paused_until,
            correction: found.corrected_query.map(|query| (query, as_written.path())),
            more,
        }
    }
}

/// A document with the passages that were found.
pub struct HitView {
    /// The name of the icon of its kind.
    pub icon: &'static str,
    /// The key of the name of its kind.
    pub kind: &'static str,
    /// Its title.
    pub title: String,
    /// The address of its page.
    pub href: String,
    /// The authors.
    pub author: Option<String>,
    /// The site, or the host of its address.
    pub site: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Whether it is an entry of a feed that is not saved.
    pub is_unsaved: bool,
    /// The key of what is missing: it is being processed, or could not be read.
    pub lack: Option<&'static str>,
    /// The passages.
    pub passages: Vec<FoundPassageView>,
}

/// A passage of a document.
pub struct FoundPassageView {
    /// Where it stands.
    pub place: PlaceView,
    /// Its words.
    pub pieces: Vec<SnippetPiece>,
}

/// A piece of a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnippetPiece {
    /// The words.
    pub text: String,
    /// Whether they match the query.
    pub is_match: bool,
}

impl HitView {
    /// Returns the view of a document.
    pub fn new(document: FoundDocument, locale: &Locale) -> Self {
        let is_unsaved = document.entry_id.is_some() && document.bookmark_id.is_none();
        let is_note = document.content_type == ContentType::Note;
        let host = url::Url::parse(&document.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let site = document.site_name.filter(|name| !name.trim().is_empty());
        let id = document.document_id;
        Self {
            icon: if is_unsaved { "feeds" } else { kind_icon(document.content_type) },
            kind: kind_key(document.content_type),
            title: document.title,
            href: format!("/read/{id}"),
            author: document.author.filter(|author| !author.trim().is_empty()),
            // A note is of the user: the host of its page says nothing.
            site: if is_note { None } else { site.or(host) },
            created_at: document.created_at,
            is_unsaved,
            lack: match document.status {
                DocumentStatus::Ready => None,
                DocumentStatus::Processing => Some("search-lack-processing"),
                DocumentStatus::Failed => Some("search-lack-failed"),
            },
            passages: document
                .passages
                .into_iter()
                .map(|found| FoundPassageView::new(id, found, locale))
                .collect(),
        }
    }
}

impl FoundPassageView {
    fn new(document: values::id::DocumentId, found: FoundPassage, locale: &Locale) -> Self {
        Self {
            place: PlaceView::new(document, found.position.as_ref(), locale),
            pieces: divide_snippet(&found.snippet, &found.matches),
        }
    }
}

/// Divides a snippet at the ranges of its matching words, which are in scalar values and in order.
fn divide_snippet(snippet: &str, matches: &[Range<usize>]) -> Vec<SnippetPiece> {
    let mut pieces = Vec::with_capacity(2 * matches.len() + 1);
    let mut at = 0;
    let mut push = |from: usize, to: usize, is_match: bool| {
        let text = text::slice_chars(snippet, from, to).unwrap_or_default().to_owned();
        if !text.is_empty() {
            pieces.push(SnippetPiece { text, is_match });
        }
    };
    for word in matches.iter().filter(|word| word.start < word.end) {
        if word.start < at {
            continue;
        }
        push(at, word.start, false);
        push(word.start, word.end, true);
        at = word.end;
    }
    push(at, text::char_count(snippet), false);
    pieces
}

/// A filter that the page offers.
pub struct SearchFacetView {
    /// The key of its name.
    pub key: &'static str,
    /// The address of the search with it.
    pub href: String,
    /// Whether it is set.
    pub is_on: bool,
}

impl SearchFacetView {
    /// Returns the parts of the library that can be searched.
    pub fn places(address: &SearchAddress) -> Vec<Self> {
        [("", "search-everywhere"), ("bookmarks", "search-saved"), ("feeds", "search-feeds")]
            .map(|(source, key)| Self {
                key,
                href: SearchAddress { source, ..address.clone() }.path(),
                is_on: address.source == source,
            })
            .into()
    }

    /// Returns the kinds of documents that can be searched.
    pub fn kinds(address: &SearchAddress) -> Vec<Self> {
        let kinds = [
            (None, "search-all-kinds"),
            (Some(ContentType::Article), "search-pages-kind"),
            (Some(ContentType::Pdf), "search-pdfs"),
            (Some(ContentType::Audio), "search-audio"),
            (Some(ContentType::Video), "search-video"),
            (Some(ContentType::Note), "search-notes"),
        ];
        kinds
            .map(|(content_type, key)| Self {
                key,
                href: SearchAddress { content_type, ..address.clone() }.path(),
                is_on: address.content_type == content_type,
            })
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippet_is_divided_at_matching_words() {
        let pieces = divide_snippet("Früh kommt die Flut.", &[0..4, 15..19, 2..3]);

        let shown: Vec<(&str, bool)> =
            pieces.iter().map(|piece| (piece.text.as_str(), piece.is_match)).collect();
        assert_eq!(shown, [("Früh", true), (" kommt die ", false), ("Flut", true), (".", false)]);
        assert_eq!(divide_snippet("", &[]), []);
    }
}
