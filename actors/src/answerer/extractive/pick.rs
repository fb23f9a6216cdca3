//! The sentences of passages, and the choice of those that answer best.
//!
//! A sentence is judged together with the title of its document, because a text seldom repeats what it is about, and with the
//! relevance of the document in the search, which read the whole of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use search::citation;
use search::similarity::jaccard;
use text::chunk;
use text::{char_count, head};
use unicode_segmentation::UnicodeSegmentation;

use super::answer_type::ExpectedAnswer;
use super::words::QuestionWords;
use crate::answerer::SourcePassage;

/// Shorter sentences are headings or fragments, and are left out of documents that have longer ones.
const MIN_SENTENCE_CHARS: usize = 12;
/// Characters after which a longer sentence is cut.
const MAX_SENTENCE_CHARS: usize = 600;
/// Characters after which a longer title is cut before its embedding is computed.
const MAX_TITLE_CHARS: usize = 100;
/// Sentences whose embeddings are computed. Each takes a few milliseconds; an endpoint gets them with the question in one request.
const MAX_EMBEDDED_SENTENCES: usize = 31;
/// How many of them may be of the document that search ranks first.
const MAX_EMBEDDED_OF_FIRST: usize = 20;
/// Maximum number of sentences in an answer.
const MAX_SENTENCES: usize = 3;
/// Maximum number of documents that an answer quotes.
const MAX_DOCUMENTS: usize = 2;
/// A sentence with a smaller share than this of the score of the first one adds nothing to the answer.
const MIN_SHARE_OF_FIRST: f32 = 0.85;
/// A document that search does not rank first is quoted first only if its score is this much higher, and the one that search ranks first
/// shares no word with the question.
const MIN_LEAD: f32 = 0.25;
/// Weight of the shared words in the score; the weight of the similarity is 1.
const COVERAGE_WEIGHT: f32 = 0.5;
/// Weight of the relevance of the document.
const DOCUMENT_WEIGHT: f32 = 0.6;
/// Added to the score of a sentence that contains what the question word asks for.
const EXPECTED_ANSWER_BONUS: f32 = 0.1;
/// Two sentences that share this part of their words are duplicates (Jaccard similarity).
const DUPLICATE_SIMILARITY: f32 = 0.8;

/// A sentence of a passage.
#[derive(Clone, Debug)]
pub(super) struct Sentence<'a> {
    /// Index of the passage in the question, from 0.
    pub passage: usize,
    /// Where it begins in the text of the passage, in bytes.
    pub start: usize,
    /// Rank of its document in the search.
    pub document_rank: usize,
    /// Title of its document; it may be empty.
    pub title: &'a str,
    pub text: &'a str,
    /// Weighted share of the question's words that it contains; those in the title count half.
    pub coverage: f32,
    /// Relevance of its document, as a share of that of the best one.
    pub document_score: f32,
    /// Whether it contains what the question word asks for.
    pub has_expected: bool,
    /// Cosine similarity of the embeddings of the question and of the sentence with its title, if it was computed.
    pub cosine: Option<f32>,
}

impl Sentence<'_> {
    /// Returns the sentence below its title, as its embedding is computed.
    pub fn titled_text(&self) -> String {
        let title = head(self.title, MAX_TITLE_CHARS).trim();
        // A document without a title has its URL as one, which means nothing to the model.
        let is_title = !title.is_empty() && !title.contains("://") && !self.text.starts_with(title);
        if is_title { format!("{title}. {}", self.text) } else { self.text.to_owned() }
    }

    /// How well it matches the question, whatever the rank of its document.
    fn relevance(&self) -> f32 {
        let expected = if self.has_expected { EXPECTED_ANSWER_BONUS } else { 0.0 };
        self.cosine.unwrap_or(0.0) + COVERAGE_WEIGHT * self.coverage + expected
    }

    fn score(&self) -> f32 {
        self.relevance() + DOCUMENT_WEIGHT * self.document_score
    }

    /// Returns whether it is worth quoting besides this one.
    fn adds_to(&self, first: &Self) -> bool {
        let is_related = self.coverage > 0.0 || self.cosine.is_some();
        // Both, because a high rank of its document does not make up for a sentence that hardly matches, nor the reverse.
        is_related
            && self.relevance() >= MIN_SHARE_OF_FIRST * first.relevance()
            && self.score() >= MIN_SHARE_OF_FIRST * first.score()
    }
}

/// Returns all sentences that have words, in the order of the passages.
pub(super) fn sentences<'a>(
    passages: &'a [SourcePassage],
    words: &QuestionWords,
    expected: Option<&ExpectedAnswer>,
) -> Vec<Sentence<'a>> {
    let document_scores = relative_scores(passages);
    let mut found = Vec::new();
    for (index, passage) in passages.iter().enumerate() {
        let title = words.ids(&passage.title);
        for range in chunk::sentences(&passage.text) {
            let start = range.start;
            // It has no white space around it, but where it is cut may be some.
            let text = head(passage.text.get(range).unwrap_or_default(), MAX_SENTENCE_CHARS).trim_end();
            if !citation::has_words(text) {
                continue;
            }
            found.push(Sentence {
                passage: index,
                start,
                document_rank: passage.document_rank,
                title: &passage.title,
                text,
                coverage: words.coverage_with_title(&words.ids(text), &title),
                document_score: document_scores.get(&passage.document_rank).copied().unwrap_or(0.0),
                has_expected: expected.is_some_and(|expected| expected.is_in(text)),
                cosine: None,
            });
        }
    }
    without_fragments(found)
}

/// Returns the relevance of each document by its rank: that of its best passage, as a share of the best of all. Scores are compared
/// within one search only.
fn relative_scores(passages: &[SourcePassage]) -> BTreeMap<usize, f32> {
    let best = passages.iter().map(|passage| passage.score).fold(f32::EPSILON, f32::max);
    let mut scores: BTreeMap<usize, f32> = BTreeMap::new();
    for passage in passages {
        let highest = scores.entry(passage.document_rank).or_default();
        *highest = highest.max(passage.score / best);
    }
    scores
}

/// Removes the headings, numbers and fragments of documents that have longer sentences.
fn without_fragments(mut found: Vec<Sentence<'_>>) -> Vec<Sentence<'_>> {
    let is_fragment = |sentence: &Sentence<'_>| {
        char_count(sentence.text) < MIN_SENTENCE_CHARS || !sentence.text.contains(char::is_alphabetic)
    };
    let with_sentences: BTreeSet<usize> = found
        .iter()
        .filter(|sentence| !is_fragment(sentence))
        .map(|sentence| sentence.document_rank)
        .collect();
    found.retain(|sentence| !is_fragment(sentence) || !with_sentences.contains(&sentence.document_rank));
    found
}

/// Keeps the sentences whose similarity is worth computing: those that match the words of the question best, first of the document that
/// search ranks first, then of the others.
pub(super) fn keep_promising(sentences: &mut Vec<Sentence<'_>>) {
    // A stable sort: equal ones keep the order of the passages.
    sentences.sort_by(|a, b| b.relevance().total_cmp(&a.relevance()));
    let first_rank = sentences.iter().map(|sentence| sentence.document_rank).min();
    let is_of_first = |sentence: &Sentence<'_>| Some(sentence.document_rank) == first_rank;
    let (mut kept, mut others): (Vec<_>, Vec<_>) = sentences.drain(..).partition(is_of_first);
    // A long document must leave room for others, in case that it does not answer the question.
    kept.truncate(MAX_EMBEDDED_OF_FIRST);
    others.truncate(MAX_EMBEDDED_SENTENCES - kept.len());
    kept.append(&mut others);
    *sentences = kept;
}

/// Returns the sentences to quote, without duplicates: the one to begin with, then others that are nearly as good, best first. Empty only
/// if there are no sentences.
pub(super) fn best(mut sentences: Vec<Sentence<'_>>) -> Vec<Sentence<'_>> {
    sentences.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let Some(first) = first_quotation(&sentences).cloned() else { return Vec::new() };
    let mut picked = vec![first.clone()];
    for sentence in sentences.into_iter().filter(|sentence| sentence.adds_to(&first)) {
        let is_new = !picked.iter().any(|other| are_duplicates(other.text, sentence.text));
        if picked.len() < MAX_SENTENCES && is_new && can_quote(&picked, sentence.document_rank) {
            picked.push(sentence);
        }
    }
    picked
}

/// Returns the sentence with which the answer begins, of sentences that are sorted by their score: the best one of the document that
/// search ranks first, unless that shares no word with the question and another one is much better.
fn first_quotation<'s, 'a>(sorted: &'s [Sentence<'a>]) -> Option<&'s Sentence<'a>> {
    let top = sorted.first()?;
    let first_rank = sorted.iter().map(|sentence| sentence.document_rank).min()?;
    let of_first = sorted.iter().find(|sentence| sentence.document_rank == first_rank)?;
    let is_foreign = of_first.coverage <= 0.0 && top.score() >= of_first.score() + MIN_LEAD;
    Some(if is_foreign { top } else { of_first })
}

/// Returns whether an answer with these quotations may also quote this document.
fn can_quote(picked: &[Sentence<'_>], document_rank: usize) -> bool {
    let mut documents: BTreeSet<usize> = picked.iter().map(|sentence| sentence.document_rank).collect();
    documents.insert(document_rank);
    documents.len() <= MAX_DOCUMENTS
}

/// Keeps the first sentence of each document.
pub(super) fn keep_one_per_document(picked: &mut Vec<Sentence<'_>>) {
    let mut documents = BTreeSet::new();
    picked.retain(|sentence| documents.insert(sentence.document_rank));
}

fn are_duplicates(one: &str, other: &str) -> bool {
    let words = |text: &str| text.unicode_words().map(str::to_lowercase).collect::<HashSet<_>>();
    jaccard(&words(one), &words(other)) >= DUPLICATE_SIMILARITY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sentence of the passage with the same number as its document.
    fn sentence(document_rank: usize, text: &str, coverage: f32, cosine: f32) -> Sentence<'_> {
        Sentence {
            passage: document_rank,
            start: 0,
            document_rank,
            title: "",
            text,
            coverage,
            document_score: 0.5,
            has_expected: false,
            cosine: Some(cosine),
        }
    }

    fn texts<'a>(picked: &[Sentence<'a>]) -> Vec<&'a str> {
        picked.iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn document_that_search_ranks_first_is_quoted_first() {
        let sentences = || {
            vec![
                sentence(1, "another document", 1.0, 0.8),
                sentence(0, "the first document", 0.2, 0.6),
                sentence(0, "far below the best", 0.2, 0.1),
            ]
        };

        assert_eq!(texts(&best(sentences())), ["the first document", "another document"]);

        let mut foreign = sentences();
        foreign.iter_mut().filter(|sentence| sentence.document_rank == 0).for_each(|s| s.coverage = 0.0);
        assert_eq!(texts(&best(foreign)), ["another document"]);
    }

    #[test]
    fn nothing_far_below_the_best_is_quoted() {
        let picked = best(vec![
            sentence(0, "the answer itself", 1.0, 0.7),
            sentence(0, "nearly the answer", 1.0, 0.6),
            sentence(0, "only the subject", 0.6, 0.6),
            sentence(1, "something else", 0.1, 0.3),
        ]);

        assert_eq!(texts(&picked), ["the answer itself", "nearly the answer"]);
    }

    #[test]
    fn answer_quotes_two_documents_and_no_text_twice() {
        let mut picked = best(vec![
            sentence(0, "The quagga died in 1883.", 1.0, 0.7),
            sentence(1, "the quagga died in 1883", 1.0, 0.7),
            sentence(2, "It was the last one.", 1.0, 0.69),
            sentence(3, "There was no other.", 1.0, 0.68),
            sentence(0, "Artis had no second.", 1.0, 0.67),
        ]);

        assert_eq!(
            texts(&picked),
            ["The quagga died in 1883.", "It was the last one.", "Artis had no second."]
        );
        keep_one_per_document(&mut picked);
        assert_eq!(texts(&picked), ["The quagga died in 1883.", "It was the last one."]);
    }

    #[test]
    fn expected_answer_decides_between_equal_sentences() {
        let mut named = sentence(0, "Andres Freund did", 0.5, 0.5);
        named.has_expected = true;

        assert_eq!(texts(&best(vec![sentence(0, "someone did", 0.5, 0.5), named]))[0], "Andres Freund did");
    }

    #[test]
    fn similarities_are_computed_for_the_first_document_and_others() {
        let mut sentences: Vec<Sentence<'_>> =
            (0..80).map(|n| sentence(1 - n % 2, "a sentence", if n < 40 { 0.9 } else { 0.1 }, 0.0)).collect();

        keep_promising(&mut sentences);

        let of_first = sentences.iter().take_while(|sentence| sentence.document_rank == 0).count();
        assert_eq!((sentences.len(), of_first), (MAX_EMBEDDED_SENTENCES, MAX_EMBEDDED_OF_FIRST));
        assert!(sentences[of_first..].iter().all(|sentence| sentence.coverage > 0.5));
    }

    #[test]
    fn title_is_left_out_where_it_says_nothing() {
        let titled =
            |title| Sentence { title, ..sentence(0, "Stripes confuse flies.", 0.0, 0.0) }.titled_text();

        assert_eq!(titled("Zebras"), "Zebras. Stripes confuse flies.");
        for title in ["", "https://example.org/zebras", "Stripes"] {
            assert_eq!(titled(title), "Stripes confuse flies.");
        }
    }
}
