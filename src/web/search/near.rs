//! What is near a search that found nothing: the same words without filters and in any form, another spelling, and words that are found
//! alone.

use actors::operations::search_passages::{SearchOperators, SearchPassages, SearchPassagesResponse};
use actors::target::Target;
use errors::Error;

use super::address::SearchAddress;
use super::view::HitView;
use crate::web::page::request::PageRequest;

/// Documents that are shown.
const MAX_NEAR_DOCUMENTS: usize = 3;
/// Words that are searched for alone, each by a search of its own.
const MAX_WORDS_ALONE: usize = 4;

/// What is near a search that found nothing.
pub struct NearView {
    /// Another spelling, and the address of the search for it.
    pub suggestion: Option<(String, String)>,
    /// The first documents that have the words, without filters and in any form.
    pub hits: Vec<HitView>,
    /// The address of all of them.
    pub all: String,
    /// Words that are found alone, with the addresses of searches for them.
    pub words: Vec<(String, String)>,
}

impl NearView {
    /// Returns whether nothing is near either.
    pub fn is_empty(&self) -> bool {
        self.suggestion.is_none() && self.hits.is_empty() && self.words.is_empty()
    }
}

/// Looks for what is near a search that found nothing.
///
/// # Errors
/// The error of a search.
pub async fn find_near(request: &PageRequest, address: &SearchAddress) -> Result<NearView, Error> {
    let words = plain_words(&address.query);
    let looser = SearchAddress { query: words.join(" "), ..SearchAddress::default() };
    let is_looser = address.is_filtered() || address.is_exact || looser.query != address.query;
    let found = if is_looser && !words.is_empty() { Some(search(request, &looser).await?) } else { None };
    let (documents, corrected) =
        found.map(|found| (found.documents, found.corrected_query)).unwrap_or_default();
    let words = if documents.is_empty() { found_alone(request, &words).await? } else { Vec::new() };
    let of_spelling = |query: String| {
        let path = SearchAddress { query: query.clone(), ..address.clone() }.path();
        (query, path)
    };
    let hits = documents.into_iter().take(MAX_NEAR_DOCUMENTS);
    Ok(NearView {
        suggestion: corrected.map(of_spelling),
        hits: hits.map(|document| HitView::new(document, request.locale())).collect(),
        all: looser.path(),
        words,
    })
}

async fn search(request: &PageRequest, address: &SearchAddress) -> Result<SearchPassagesResponse, Error> {
    request.run_json::<SearchPassages>(&Target::default(), address.to_json()).await
}

/// Returns the words of a query that a passage has, each with the address of its search.
async fn found_alone(request: &PageRequest, words: &[String]) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    // One word alone is what was searched for.
    if words.len() < 2 {
        return Ok(found);
    }
    for word in words.iter().take(MAX_WORDS_ALONE) {
        let alone = SearchAddress { query: word.clone(), is_exact: true, ..SearchAddress::default() };
        if search(request, &alone).await?.passage_count > 0 {
            found.push((word.clone(), alone.path()));
        }
    }
    Ok(found)
}

/// Returns the words of a query, each once, without operators, excluded words and quotation marks.
fn plain_words(query: &str) -> Vec<String> {
    let operators = SearchOperators::parse(query).unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    for word in operators.words.split_whitespace().filter(|word| !word.starts_with('-')) {
        let word = word.replace('"', "");
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_leave_out_operators_and_signs() {
        assert_eq!(plain_words("\"own time\" tag:tides -mud time card"), ["own", "time", "card"]);
        assert_eq!(plain_words("tag:tides"), [""; 0]);
        assert_eq!(plain_words("mud is:blue"), [""; 0]);
    }
}
