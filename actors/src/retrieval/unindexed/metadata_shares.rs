//! Compares the metadata of documents with a query, as a search does with documents that the index lacks a change of.

use std::collections::HashMap;
use std::sync::Arc;

use search::calibration::{bm25_share, weigh_terms};
use search::index::{Filter, HybridHits, IndexQuery};
use search::lexical;
use uuid::Uuid;

use super::analyzed::AnalyzedDocument;
use super::documents::UnindexedDocuments;
use crate::retrieval::metadata::MetadataSource;

/// Returns the share of the words of a query that the metadata of each document has, above 0 and at most 1, by the ids of the documents.
/// Those that have none of the words, or do not pass the filter, are left out. Blocks.
pub fn metadata_shares(sources: Vec<MetadataSource>, query: &str, within: &Filter) -> HashMap<Uuid, f32> {
    let analyzed = sources.into_iter().map(|source| Arc::new(AnalyzedDocument::of_metadata(source)));
    let documents = UnindexedDocuments::new(analyzed);
    let mut languages = Vec::new();
    documents.add_languages(&mut languages);
    let terms = lexical::query_terms(query, &languages);
    let query = IndexQuery {
        sparse: lexical::merge_terms(&terms),
        terms: terms.into_iter().map(|term| term.sparse).collect(),
        filter: within.clone(),
        depth: usize::MAX,
        ..IndexQuery::default()
    };
    // The index knows how rare each term is. Without it all weigh the same.
    let attainable: f32 = weigh_terms(&[], query.terms.len()).iter().sum();
    let mut hits = HybridHits::default();
    documents.merge_into(&mut hits, &query);
    hits.lexical.into_iter().map(|hit| (hit.id, bm25_share(hit.score, attainable))).collect()
}

#[cfg(test)]
mod tests {
    use entity::document;
    use search::index::Source;
    use values::id::{BookmarkId, UserId};
    use values::kind::ContentType;

    use super::*;
    use crate::retrieval::test_library::NOON;

    fn bookmarked(title: &str, url: &str) -> document::Model {
        let user = UserId(Uuid::from_u128(7));
        let row = document::Model::pending(user, ContentType::Article, title.to_owned(), NOON);
        document::Model { bookmark_id: Some(BookmarkId::new(NOON)), url: Some(url.to_owned()), ..row }
    }

    #[test]
    fn documents_with_more_of_the_words_have_a_larger_share() {
        let herons = bookmarked("Herons in winter", "https://marsh.example/herons");
        let reeds = bookmarked("Reeds", "https://marsh.example/winter/reeds");
        let bread = bookmarked("Bread", "https://kitchen.example/bread");
        let sources = || [&herons, &reeds, &bread].map(MetadataSource::without_annotations).to_vec();

        let shares = metadata_shares(sources(), "the herons of winter", &Filter::default());

        assert_eq!(shares.len(), 2);
        assert!(shares[&herons.id.0] > shares[&reeds.id.0] && shares[&herons.id.0] <= 1.0, "{shares:?}");
        let of_feeds = Filter { source: Some(Source::Feeds), ..Filter::default() };
        assert!(metadata_shares(sources(), "winter", &of_feeds).is_empty());
    }
}
