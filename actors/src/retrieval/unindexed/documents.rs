//! Searches documents that the index lacks a change of, by their words, and puts what it finds into the hits of the index.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use search::calibration::weigh_terms;
use search::index::{DocumentSet, Filter, Hit, HybridHits, IndexQuery, Language, Point, SparseVector};
use uuid::Uuid;

use super::analyzed::AnalyzedDocument;

/// The BM25 term weight of the best passage of a library that has a term, more or less: a few occurrences in a passage of average length.
/// The index knows the best score of a term, and not how much of it is the rarity of the term.
const BEST_TERM_WEIGHT: f32 = 1.6;

/// Documents of one user that the index lacks a change of. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct UnindexedDocuments(Arc<Documents>);

#[derive(Debug, Default)]
struct Documents {
    by_id: HashMap<Uuid, Arc<AnalyzedDocument>>,
    /// The documents of all points.
    of_points: HashMap<Uuid, Uuid>,
    /// Whether there are more of them, which were not read.
    is_cut: bool,
}

impl Documents {
    fn of(documents: impl IntoIterator<Item = Arc<AnalyzedDocument>>) -> Self {
        let mut all = Self::default();
        for document in documents {
            all.of_points.extend(document.points.iter().map(|point| (point.id, document.id)));
            all.by_id.insert(document.id, document);
        }
        all
    }
}

impl UnindexedDocuments {
    /// Returns the set of these documents.
    pub(super) fn new(documents: impl IntoIterator<Item = Arc<AnalyzedDocument>>) -> Self {
        Self(Arc::new(Documents::of(documents)))
    }

    /// Returns the set of these documents, which are the first of more.
    pub(super) fn first_of_more(documents: impl IntoIterator<Item = Arc<AnalyzedDocument>>) -> Self {
        Self(Arc::new(Documents { is_cut: true, ..Documents::of(documents) }))
    }

    /// Returns whether the library may have texts that neither the index nor these documents have, such as those of a large import.
    pub fn lack_texts(&self) -> bool {
        self.0.is_cut || self.0.by_id.values().any(|document| document.lacks_text)
    }

    /// Returns whether there are none, so that the index alone has everything.
    pub fn is_empty(&self) -> bool {
        self.0.by_id.is_empty()
    }

    /// Adds the languages of their passages to those of the index.
    pub fn add_languages(&self, languages: &mut Vec<Language>) {
        for point in self.points() {
            if !languages.contains(&point.language) {
                languages.push(point.language);
            }
        }
    }

    /// Returns the document of one of their points; `None` for any other id.
    pub fn document_of(&self, point: Uuid) -> Option<Uuid> {
        self.0.of_points.get(&point).copied()
    }

    /// Returns whether a passage of the index, which is none of their points, is of a former state of its document.
    pub fn is_former(&self, passage: Uuid, document: Uuid) -> bool {
        let is_replaced = |found: &Arc<AnalyzedDocument>| passage == document || found.has_all_passages;
        !self.0.of_points.contains_key(&passage) && self.0.by_id.get(&document).is_some_and(is_replaced)
    }

    /// Returns the query with these documents added to those that pass its filter in the index, which may have former labels of them.
    pub fn widen(&self, query: &IndexQuery) -> IndexQuery {
        let or_documents = self.matching(&query.filter).iter().map(|document| document.id).collect();
        IndexQuery { filter: Filter { or_documents, ..query.filter.clone() }, ..query.clone() }
    }

    /// Replaces the lexical hits of these documents by their present ones, and gives the terms that only these documents have a score. The
    /// scores are on the scale of the index: a term counts as much as its best score there, and one that the index does not have as much as
    /// the rarest other.
    pub fn merge_into(&self, hits: &mut HybridHits, query: &IndexQuery) {
        self.note_held_terms(hits, query);
        let terms = WeighedTerms::of(query, &hits.term_scores);
        hits.lexical.retain(|hit| !self.0.of_points.contains_key(&hit.id));
        for document in self.matching(&query.filter) {
            let scored = document.points.iter().map(|point| Hit { id: point.id, score: terms.score(point) });
            hits.lexical.extend(scored.filter(|hit| hit.score > 0.0));
            hits.unembedded.extend(document.points.iter().map(|point| point.id));
        }
        for hit in &hits.dense {
            hits.unembedded.remove(&hit.id);
        }
        Hit::sort_best_first(&mut hits.lexical);
        hits.lexical.truncate(query.depth);
    }

    fn note_held_terms(&self, hits: &mut HybridHits, query: &IndexQuery) {
        let highest = hits.term_scores.iter().copied().fold(0.0, f32::max);
        let score = if highest > 0.0 { highest } else { 1.0 };
        for (term, found) in query.terms.iter().zip(&mut hits.term_scores) {
            if *found <= 0.0 && self.points().any(|point| term_weight(term, &point.sparse) > 0.0) {
                *found = score;
            }
        }
    }

    /// Returns the points of those of them that pass a filter.
    pub fn matching_points(&self, filter: &Filter) -> Vec<Point> {
        self.matching(filter).into_iter().flat_map(|document| document.points.iter().cloned()).collect()
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.0.by_id.values().flat_map(|document| &document.points)
    }

    /// Returns the documents that pass a filter.
    fn matching(&self, filter: &Filter) -> Vec<&AnalyzedDocument> {
        let documents = &filter.documents;
        // A set may name tens of thousands of documents: it is read once.
        let listed: HashSet<Uuid> = match documents {
            DocumentSet::All => HashSet::new(),
            DocumentSet::Only(ids) | DocumentSet::Except(ids) => {
                ids.iter().copied().filter(|id| self.0.by_id.contains_key(id)).collect()
            }
        };
        let is_searched = |id: &Uuid| match documents {
            DocumentSet::All => true,
            DocumentSet::Only(_) => listed.contains(id),
            DocumentSet::Except(_) => !listed.contains(id),
        };
        let passes =
            |document: &&AnalyzedDocument| filter.accepts(&document.labels) && is_searched(&document.id);
        self.0.by_id.values().map(Arc::as_ref).filter(passes).collect()
    }
}

/// The terms of a query, each with its weight.
struct WeighedTerms(Vec<(SparseVector, f32)>);

impl WeighedTerms {
    fn of(query: &IndexQuery, term_scores: &[f32]) -> Self {
        let weights = weigh_terms(term_scores, query.terms.len());
        let count = f32::from(u16::try_from(weights.len()).unwrap_or(u16::MAX));
        let mean = if weights.is_empty() { 1.0 } else { weights.iter().sum::<f32>() / count };
        // Words that were not asked for one by one count as much as the mean of the others.
        let asked: HashSet<u32> = query.terms.iter().flat_map(|term| term.indices.iter().copied()).collect();
        let words = query.sparse.indices.iter().zip(&query.sparse.values);
        let others = words
            .filter(|(id, _)| !asked.contains(*id))
            .map(|(id, factor)| (SparseVector { indices: vec![*id], values: vec![*factor] }, mean));
        Self(query.terms.iter().cloned().zip(weights).chain(others).collect())
    }

    /// Returns what BM25 of a passage would be in the index; 0 if it has none of the terms.
    fn score(&self, point: &Point) -> f32 {
        let share = |term| (term_weight(term, &point.sparse) / BEST_TERM_WEIGHT).min(1.0);
        self.0.iter().map(|(term, weight)| weight * share(term)).sum()
    }
}

/// Returns the weight that a passage has for a term, in any of its spellings.
pub fn term_weight(term: &SparseVector, passage: &SparseVector) -> f32 {
    let weight_of = |id: &u32| passage.indices.binary_search(id).ok().and_then(|at| passage.values.get(at));
    let factors = term.indices.iter().zip(&term.values);
    factors.filter_map(|(id, factor)| Some(factor * weight_of(id)?)).sum()
}

#[cfg(test)]
mod tests {
    use search::index::{Labels, Source};
    use search::lexical;
    use values::kind::ContentType;

    use super::*;

    fn labels(source: Source) -> Labels {
        Labels { source, feed: None, content_type: ContentType::Article }
    }

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    /// Returns document `number` with a passage, whose id is ten times its number, for each text.
    fn document(number: u128, texts: &[&str], has_all_passages: bool) -> Arc<AnalyzedDocument> {
        let labels = labels(Source::Bookmarks);
        let point = |(at, text): (u128, &&str)| Point {
            id: id(10 * number + at),
            document: id(number),
            version: 1,
            labels: labels.clone(),
            language: Language::English,
            sparse: lexical::analyze_passage("", text, Language::English),
            dense: Vec::new(),
        };
        let points = (0..).zip(texts).map(point).collect();
        let (id, lacks_text) = (id(number), false);
        Arc::new(AnalyzedDocument { id, labels: labels.clone(), points, has_all_passages, lacks_text })
    }

    fn query(words: &str) -> IndexQuery {
        let terms = lexical::query_terms(words, &[Language::English]);
        IndexQuery {
            sparse: lexical::merge_terms(&terms),
            terms: terms.into_iter().map(|term| term.sparse).collect(),
            depth: 100,
            ..IndexQuery::default()
        }
    }

    fn numbers(hits: &HybridHits) -> Vec<u128> {
        hits.lexical.iter().map(|hit| hit.id.as_u128()).collect()
    }

    #[test]
    fn present_passages_replace_those_of_the_index() {
        let unindexed = UnindexedDocuments::new([document(1, &["a heron", "a reed"], true)]);
        let hit = |number, score| Hit { id: id(number), score };
        let mut hits = HybridHits {
            lexical: vec![hit(11, 9.0), hit(70, 2.0)],
            dense: vec![hit(11, 0.6)],
            term_scores: vec![4.0],
            ..HybridHits::default()
        };

        unindexed.merge_into(&mut hits, &query("heron"));

        assert_eq!(numbers(&hits), [10, 70], "passage 11 does not have the word any more");
        assert!(hits.lexical[0].score <= 4.0, "no score is above the best of the term");
        assert_eq!(hits.dense, [hit(11, 0.6)]);
    }

    #[test]
    fn term_of_unindexed_documents_alone_counts_as_the_rarest() {
        let unindexed = UnindexedDocuments::new([document(1, &["a heron"], true)]);
        let mut hits = HybridHits { term_scores: vec![0.0, 3.0, 0.0], ..HybridHits::default() };

        unindexed.merge_into(&mut hits, &query("heron reed okapi"));

        assert_eq!(hits.term_scores, [3.0, 3.0, 0.0]);
        assert_eq!(numbers(&hits), [10]);
    }

    #[test]
    fn words_that_were_not_probed_are_found() {
        let unindexed = UnindexedDocuments::new([document(1, &["a heron"], true)]);
        let mut hits = HybridHits::default();

        unindexed.merge_into(&mut hits, &IndexQuery { terms: Vec::new(), ..query("heron") });

        assert_eq!(numbers(&hits), [10]);
    }

    #[test]
    fn only_documents_that_pass_the_filter_are_found() {
        let unindexed =
            UnindexedDocuments::new([document(1, &["heron"], true), document(2, &["heron"], true)]);
        for (filter, expected) in [
            (Filter::default(), vec![1, 2]),
            (Filter { source: Some(Source::Feeds), ..Filter::default() }, vec![]),
            (Filter { content_type: Some(ContentType::Pdf), ..Filter::default() }, vec![]),
            (Filter { feed: Some(id(9)), ..Filter::default() }, vec![]),
            (Filter { documents: DocumentSet::Only(vec![id(2), id(3)]), ..Filter::default() }, vec![2]),
            (Filter { documents: DocumentSet::Except(vec![id(2)]), ..Filter::default() }, vec![1]),
        ] {
            let query = IndexQuery { filter: filter.clone(), ..query("heron") };
            let mut hits = HybridHits::default();

            unindexed.merge_into(&mut hits, &query);

            let found: Vec<u128> = numbers(&hits).into_iter().map(|number| number / 10).collect();
            assert_eq!(found, expected, "{filter:?}");
            let mut widened: Vec<u128> =
                unindexed.widen(&query).filter.or_documents.iter().map(|id| id.as_u128()).collect();
            widened.sort_unstable();
            assert_eq!(widened, expected, "{filter:?}");
        }
    }

    #[test]
    fn other_passages_of_a_document_are_former_ones() {
        let unindexed =
            UnindexedDocuments::new([document(1, &["heron"], true), document(2, &["heron"], false)]);

        assert!(unindexed.is_former(id(19), id(1)) && !unindexed.is_former(id(10), id(1)));
        assert!(!unindexed.is_former(id(29), id(2)), "not all passages of its text were read");
        assert!(unindexed.is_former(id(2), id(2)), "its metadata passage is replaced in any case");
        assert!(!unindexed.is_former(id(70), id(7)));
    }
}
