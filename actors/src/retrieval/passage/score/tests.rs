//! Tests of the order of passages and of their scores.

use search::calibration::{Relevance, RetrievalMeasures};
use search::index::Language;
use search::lexical::query_terms;
use uuid::Uuid;
use values::id::{ChunkId, DocumentId};

use super::*;
use crate::retrieval::ranked_hits::SearchHit;
use crate::retrieval::test_library::passage_columns;

/// A passage that has this share of the attainable BM25.
fn passage(number: u128, title: &str, text: &str, bm25_share: f32) -> Passage {
    let (chunk, document) = (ChunkId(Uuid::from_u128(number)), DocumentId(Uuid::from_u128(number)));
    let measures =
        RetrievalMeasures { bm25_share: Some(bm25_share), cosine: None, max_missing_cosine: 0.0, terms: 1 };
    let relevance = Relevance::of(measures, 0.0);
    let row = passage_columns(chunk, document, title, text);
    let score = relevance.score();
    let found = SearchHit { chunk, document, relevance, score, cosine: None, metadata_share: 0.0 };
    Passage { row, found }
}

/// Returns the numbers of the passages with their scores.
fn scores_of(passages: Vec<Passage>, query: &str, limit: usize) -> Vec<(u128, f32)> {
    let languages = [Language::English];
    let terms = query_terms(query, &languages);
    let terms = SnippetTerms::of(query, &terms, &vec![1.0; terms.len()], &languages);
    let scored = score_passages(passages, query, &terms, limit);
    scored.iter().map(|found| (found.passage.row.id.0.as_u128(), found.score)).collect()
}

#[test]
fn document_whose_title_is_the_query_comes_first() {
    let passages = || {
        let often = passage(1, "Exit code 125", "Exit code 125: the exit code is an exit code.", 0.8);
        let other = passage(2, "Exit codes", "Exit code 137 is one of them.", 0.7);
        vec![often, other, passage(3, "Exit code 137 | Docker", "The process was killed.", 0.6)]
    };
    let numbers = |limit| {
        let found = scores_of(passages(), "exit code 137", limit);
        found.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };

    assert_eq!(numbers(3), [3, 1, 2]);
    assert_eq!(numbers(2), [3, 1]);
    let scores = scores_of(passages(), "exit code 137", 3);
    assert!(scores.is_sorted_by(|(_, a), (_, b)| a >= b) && scores[0].1 >= 0.95);
}

#[test]
fn passage_of_the_date_comes_before_those_of_other_dates() {
    let other = passage(1, "Meeting of 2024-06-13", "The auditor came.", 0.9);
    let wanted = passage(2, "Meeting of 2024-06-06", "The roof leaks.", 0.8);
    let scores = scores_of(vec![other, wanted], "meeting 2024-06-06", 9);

    assert_eq!((scores[0].0, scores[1].0), (2, 1));
    assert!(scores[0].1 > 0.8 && scores[1].1 < 0.5, "{scores:?}");
}

#[test]
fn passages_for_an_answer_are_in_the_order_of_results() {
    let query = "meeting 2024-06-06";
    let languages = [Language::English];
    let terms = query_terms(query, &languages);
    let terms = SnippetTerms::of(query, &terms, &vec![1.0; terms.len()], &languages);
    let mut passages = vec![
        passage(1, "Meeting of 2024-06-13", "The auditor came.", 0.9),
        passage(2, "Meeting of 2024-06-06", "The roof leaks.", 0.8),
        passage(3, "Meeting 2024-06-06", "The roof is mended.", 0.7),
    ];

    order_as_results(&mut passages, query, &terms);

    let found = passages.iter().map(|passage| (passage.row.id.0.as_u128(), passage.found.score > 0.5));
    assert_eq!(found.collect::<Vec<_>>(), [(3, true), (2, true), (1, false)]);
}

#[test]
fn tag_that_has_the_date_counts() {
    let tagged = |metadata_share| {
        let mut tagged = passage(1, "Meeting", "The roof leaks.", 0.9);
        tagged.found.metadata_share = metadata_share;
        scores_of(vec![tagged], "meeting 2024-06-06", 9)[0].1
    };
    assert!(tagged(0.9) > 0.5 && tagged(0.5) < 0.5);
}

#[test]
fn order_of_the_ranking_is_kept_otherwise() {
    let lacking = passage(1, "Okapi", "It stands.", 0.5);
    let holding = passage(2, "Habitat of the okapi", "The okapi lives in its habitat.", 0.9);
    let scores = scores_of(vec![lacking, holding], "okapi habitat", 9);

    assert_eq!((scores[0].0, scores[1].0), (1, 2));
    assert_eq!(scores[0].1, scores[1].1);
}

#[test]
fn passage_that_lacks_words_has_a_lower_score() {
    let whole = scores_of(vec![passage(1, "", "The okapi in its habitat.", 0.5)], "okapi habitat", 9);
    let half = scores_of(vec![passage(1, "", "The okapi in its reserve.", 0.5)], "okapi habitat", 9);

    assert!(whole[0].1 > 0.5 && half[0].1 < 0.5);
}
