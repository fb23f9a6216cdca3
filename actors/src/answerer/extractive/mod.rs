//! The embedded answerer. No model writes: it quotes the sentences that answer best, each with its marker, or reports that
//! the passages contain no answer.
//!
//! Sentences are ranked by similarity and by the weighted words that they share with the question. The gate uses the nearest
//! sentence, the nearest passage and the largest share of the question's words in one passage. Without an embedding model
//! only words count.

mod gate;
mod pick;
mod words;

use concurrency::{Lane, Workers};
use errors::Error;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inference::embedder::{EmbedError, Embedder};

use super::{AnswerError, Answerer, Draft, Question, SourcePassage};
use crate::retrieval::Retrieval;
use pick::Sentence;
use words::QuestionWords;

/// The model that answers report.
const MODEL_NAME: &str = "carrel-extractive";
/// Sentences whose embeddings are computed. Each takes a few milliseconds.
const MAX_EMBEDDED_SENTENCES: usize = 32;

/// Answers with quotations of the passages.
pub struct Extractive {
    workers: Workers,
    retrieval: Retrieval,
}

impl Extractive {
    /// Creates an answerer that runs in the foreground lane of these workers. It uses the embedding model
    /// of the search, if there is one.
    pub fn new(workers: Workers, retrieval: Retrieval) -> Self {
        Self { workers, retrieval }
    }
}

impl Answerer for Extractive {
    fn model(&self) -> &str {
        MODEL_NAME
    }

    fn answer(&self, question: Question) -> BoxFuture<'_, Result<Draft, AnswerError>> {
        async move {
            let embedder = self.retrieval.engine().embedder();
            let work = move || answer(&question, embedder.as_deref());
            // On the worker threads: embeddings are computation, and would block the async runtime.
            let made = self
                .workers
                .run(Lane::Foreground, work)
                .await
                .map_err(|error| AnswerError::Embedded(error.into()))?;
            let text = made.map_err(|error| AnswerError::Embedded(Error::internal(error)))?;
            Ok(Draft { text, model: MODEL_NAME.to_owned(), tokens: 0 })
        }
        .boxed()
    }
}

fn answer(question: &Question, embedder: Option<&dyn Embedder>) -> Result<Option<String>, EmbedError> {
    let words = QuestionWords::weigh(&question.text, &question.passages);
    let mut sentences = pick::sentences(&question.passages, &words);
    // Search leaves the model out if it does not know the words of the question. Then it is of no use here either.
    let knows_words = question.passages.iter().any(|passage| passage.cosine.is_some());
    if let Some(embedder) = embedder.filter(|_| knows_words) {
        add_similarities(&mut sentences, &question.text, embedder)?;
    }
    let coverages = question.passages.iter().map(|passage| words.coverage(&passage_text(passage)));
    let evidence = gate::Evidence {
        sentence: sentences.iter().filter_map(|sentence| sentence.cosine).reduce(f32::max),
        passage: question.passages.iter().filter_map(|passage| passage.cosine).reduce(f32::max),
        coverage: coverages.reduce(f32::max).unwrap_or(0.0),
    };
    let picked = if gate::is_answerable(&evidence) { pick::best(sentences) } else { Vec::new() };
    Ok((!picked.is_empty()).then(|| quote(&picked)))
}

fn passage_text(passage: &SourcePassage) -> String {
    format!("{}\n{}", passage.title, passage.text)
}

/// Computes the similarities of the sentences that share the most words with the question, and drops the others.
fn add_similarities(
    sentences: &mut Vec<Sentence<'_>>,
    question: &str,
    embedder: &dyn Embedder,
) -> Result<(), EmbedError> {
    let target = embedder.embed_query(question)?;
    pick::sort_by_coverage(sentences);
    sentences.truncate(MAX_EMBEDDED_SENTENCES);
    for sentence in sentences {
        // One by one as queries, because `embed` runs on the background threads, where a batch of passages may be in progress.
        let vector = embedder.embed_query(sentence.text)?;
        sentence.cosine = Some(vector.iter().zip(&target).map(|(a, b)| a * b).sum());
    }
    Ok(())
}

/// Formats each sentence in quotation marks, followed by its marker.
fn quote(picked: &[Sentence<'_>]) -> String {
    let mut text = String::new();
    for sentence in picked {
        if !text.is_empty() {
            text.push(' ');
        }
        let words: Vec<&str> = sentence.text.split_whitespace().collect();
        text.push_str(&format!("“{}” [{}]", words.join(" "), sentence.passage + 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str, passages: &[&str]) -> Question {
        let passage =
            |text: &&str| SourcePassage { title: String::new(), text: (*text).to_owned(), cosine: None };
        Question { text: text.to_owned(), passages: passages.iter().map(passage).collect() }
    }

    fn answer_of(text: &str, passages: &[&str]) -> Option<String> {
        answer(&question(text, passages), None).unwrap()
    }

    const QUAGGA: &str = "Artis had animals of many kinds. The quagga of Artis died on the twelfth of August 1883. \
        Visitors came by tram and had tea in the garden. The keeper fed it hay.";
    const BREAD: &str = "Bread needs flour and water.\nIt rises for an hour.";

    #[test]
    fn sentence_with_the_question_words_is_quoted_with_its_marker() {
        let answer = answer_of("When did the quagga die?", &[BREAD, QUAGGA]).unwrap();

        assert!(
            answer.starts_with("“The quagga of Artis died on the twelfth of August 1883.” [2]"),
            "{answer}"
        );
    }

    #[test]
    fn question_without_matching_passages_has_no_answer() {
        assert_eq!(answer_of("Which moons of Mars have animals with feathers?", &[BREAD, QUAGGA]), None);
        assert_eq!(answer_of("When did the quagga die?", &[]), None);
        assert_eq!(answer_of("?", &[QUAGGA]), None);
    }

    #[test]
    fn quotations_are_verified_by_the_citation_check() {
        let passages = ["He said “the quagga [2] is dead”\nin 1883. Nobody believed him."];
        let answer = answer_of("Who said that the quagga is dead?", &passages).unwrap();

        let cited = search::citation::cite(&answer, &passages);

        assert!(
            !cited.citations.is_empty() && cited.citations.iter().all(|citation| citation.verified),
            "{answer}"
        );
    }
}
