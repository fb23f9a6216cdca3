//! Writes an answer that quotes: the sentences of passages, and the documents without a text.
//!
//! What is quoted is not changed: `a[12]` and `[3]` in it are text, not markers. So no marker is searched in such an answer: each citation is
//! made together with its marker, which follows the quotation.

use search::citation::{Citation, CitedAnswer};
use text::char_count;

use super::context_packing::PackedPassage;
use super::textless_documents::TextlessDocument;
use crate::answerer::QuotedSentence;

/// The start of the answer when the search finds documents, but no sentence of them answers the question. The titles of documents without
/// a text and quotations of the others follow, the document first that the search ranks first. The web app translates it.
pub const NO_DIRECT_ANSWER: &str = "No sentence answers this directly; closest:";

/// A passage with a smaller share than this of the score of the best document without a text is about something else.
const MIN_SHARE_OF_BEST: f32 = 0.5;

/// What an answer can quote.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuotedAnswer<'a> {
    /// The passages that the sentences are of.
    pub passages: &'a [PackedPassage],
    /// The documents without a text that search ranks first. A citation counts them after the passages.
    pub textless: &'a [TextlessDocument],
}

impl QuotedAnswer<'_> {
    /// Returns the answer that consists of these sentences. `None` if all are far below a document without a text: they are of something
    /// else.
    pub fn direct(&self, mut sentences: Vec<QuotedSentence>) -> Option<CitedAnswer> {
        self.retain_relevant(&mut sentences);
        let mut answer = CitedAnswer::default();
        self.push_sentences(&mut answer, &sentences);
        (!answer.citations.is_empty()).then_some(answer)
    }

    /// Returns the answer that no sentence answers the question: the documents without a text, then these sentences without those that
    /// are far below.
    pub fn closest(&self, mut sentences: Vec<QuotedSentence>) -> CitedAnswer {
        self.retain_relevant(&mut sentences);
        let mut answer = CitedAnswer { text: NO_DIRECT_ANSWER.to_owned(), citations: Vec::new() };
        for (document, passage) in self.textless.iter().zip(self.passages.len()..) {
            let citation = Citation { passage, quote: String::new(), range: 0..0, verified: false };
            push(&mut answer, &document.description, citation);
        }
        self.push_sentences(&mut answer, &sentences);
        answer
    }

    /// Removes the sentences whose passages are far below the best document without a text. The answerer was not given that, so it chose
    /// the best of the others.
    fn retain_relevant(&self, sentences: &mut Vec<QuotedSentence>) {
        let best = self.textless.iter().map(|document| document.passage.found.score).fold(0.0, f32::max);
        sentences.retain(|sentence| {
            let passage = self.passages.get(sentence.passage);
            passage.is_some_and(|packed| packed.passage.found.score >= MIN_SHARE_OF_BEST * best)
        });
    }

    fn push_sentences(&self, answer: &mut CitedAnswer, sentences: &[QuotedSentence]) {
        for sentence in sentences {
            if let Some(citation) = self.citation(sentence) {
                let quotation = format!("“{}”", citation.quote);
                push(answer, &quotation, citation);
            }
        }
    }

    fn citation(&self, sentence: &QuotedSentence) -> Option<Citation> {
        let text = self.passages.get(sentence.passage)?.passage.row.text.as_str();
        let quote = text.get(sentence.range.clone())?;
        let start = char_count(text.get(..sentence.range.start)?);
        let range = start..start + char_count(quote);
        Some(Citation { passage: sentence.passage, quote: quote.to_owned(), range, verified: true })
    }
}

/// Adds what is shown of a citation to an answer, with the marker behind it.
fn push(answer: &mut CitedAnswer, shown: &str, citation: Citation) {
    answer.citations.push(citation);
    let separator = if answer.text.is_empty() { "" } else { " " };
    answer.text.push_str(&format!("{separator}{shown} [{}]", answer.citations.len()));
}

#[cfg(test)]
mod tests {
    use search::calibration::{Relevance, RetrievalMeasures};
    use uuid::Uuid;
    use values::id::{ChunkId, DocumentId};

    use super::*;
    use crate::retrieval::SearchHit;
    use crate::retrieval::passage::Passage;
    use crate::retrieval::test_library::passage_columns;

    fn passage(text: &str, score: f32) -> Passage {
        let (chunk, document) = (ChunkId(Uuid::from_u128(1)), DocumentId(Uuid::from_u128(2)));
        let measures =
            RetrievalMeasures { bm25_share: Some(0.5), cosine: None, max_missing_cosine: 0.0, terms: 1 };
        let relevance = Relevance::of(measures, 0.0);
        let found = SearchHit { chunk, document, relevance, score, cosine: None, metadata_share: 0.5 };
        Passage { row: passage_columns(chunk, document, "Title", text), found }
    }

    fn packed(text: &str, score: f32) -> PackedPassage {
        PackedPassage { passage: passage(text, score), document_rank: 0 }
    }

    fn textless(description: &str, score: f32) -> TextlessDocument {
        TextlessDocument { passage: passage("", score), description: description.to_owned() }
    }

    /// The sentence that consists of this part of the first passage.
    fn sentence(passages: &[PackedPassage], part: &str) -> QuotedSentence {
        let start = passages[0].passage.row.text.find(part).unwrap();
        QuotedSentence { passage: 0, range: start..start + part.len() }
    }

    #[test]
    fn number_in_brackets_within_a_quotation_is_kept() {
        let element = "As shown in [3], “ärray”\n elements are written a[0] or a[12].";
        let passages = [packed(&format!("Übersicht.[1][2] {element}[4] Next."), 0.8)];
        let quoting = QuotedAnswer { passages: &passages, textless: &[] };

        let sentences = vec![sentence(&passages, element), sentence(&passages, "Next.")];
        let answer = quoting.direct(sentences).unwrap();

        assert_eq!(answer.text, format!("“{element}” [1] “Next.” [2]"));
        let citation = &answer.citations[0];
        assert_eq!((citation.quote.as_str(), citation.verified), (element, true));
        let text: Vec<char> = passages[0].passage.row.text.chars().collect();
        assert_eq!(text[citation.range.clone()].iter().collect::<String>(), element);
    }

    #[test]
    fn documents_without_a_text_come_before_sentences() {
        let passages = [packed("Eels swim.", 0.8)];
        let documents = [textless("“Waders [2]” (it has no text)", 0.9)];
        let quoting = QuotedAnswer { passages: &passages, textless: &documents };

        let answer = quoting.closest(vec![sentence(&passages, "Eels swim.")]);

        let shown = "“Waders [2]” (it has no text) [1] “Eels swim.” [2]";
        assert_eq!(answer.text, format!("{NO_DIRECT_ANSWER} {shown}"));
        let cited: Vec<_> = answer.citations.iter().map(|citation| citation.passage).collect();
        assert_eq!(cited, [1, 0]);
    }

    #[test]
    fn sentence_far_below_a_document_without_a_text_is_left_out() {
        let documents = [textless("“The Enigma machine” (its text could not be fetched)", 0.75)];
        for (score, is_quoted) in [(0.13, false), (0.37, false), (0.38, true), (0.75, true)] {
            let passages = [packed("The coffee machine is broken.", score)];
            let quoting = QuotedAnswer { passages: &passages, textless: &documents };
            let sentences = vec![sentence(&passages, "The coffee machine is broken.")];

            let closest = quoting.closest(sentences.clone());

            assert_eq!(quoting.direct(sentences).is_some(), is_quoted, "{score}");
            assert_eq!(closest.text.contains("coffee"), is_quoted, "{score}: {}", closest.text);
            assert!(closest.text.contains("“The Enigma machine”"), "{score}: {}", closest.text);
        }
    }
}
