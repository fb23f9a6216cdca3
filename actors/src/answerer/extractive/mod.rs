//! The embedded answerer. No model writes: it quotes the sentences that answer best, or those that are nearest if none seems to
//! answer.
//!
//! Sentences are ranked by similarity and by the weighted words that they share with the question, both together with the title of their
//! document, and by the relevance of the document. Evidence of an answer are the sentences, the nearest passage and the largest share of
//! the question's words in one passage of the documents that would be quoted; a number, a code or a name of the question must be among
//! them. Without an embedding model only words and relevance count.

mod answer_type;
mod evidence;
mod pick;
mod words;

use concurrency::{Lane, Workers};
use errors::Error;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inference::embedder::{EmbedError, Embedder};

use super::{AnswerError, Answerer, Draft, DraftAnswer, Question, QuotedSentence, SourcePassage};
use crate::retrieval::Retrieval;
use answer_type::ExpectedAnswer;
use evidence::Evidence;
use pick::Sentence;
use words::QuestionWords;

/// The model that answers report.
const MODEL_NAME: &str = "carrel-extractive";

/// Answers with quotations of the passages.
pub struct Extractive {
    workers: Workers,
    retrieval: Retrieval,
}

impl Extractive {
    /// Creates an answerer that runs in the foreground lane of these workers, or in that of requests to other servers if a service embeds. It
    /// uses the embedding model of the search, if there is one.
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
            let is_service = embedder.as_ref().is_some_and(|embedder| embedder.query_deadline().is_some());
            // A service is waited for, and takes longer than the rest: a thread of the foreground lane would be blocked.
            let lane = if is_service { Lane::Remote } else { Lane::Foreground };
            let work = move || answer(&question, embedder.as_deref());
            // On the worker threads: embeddings are computation, and would block the async runtime.
            let made =
                self.workers.run(lane, work).await.map_err(|error| AnswerError::Embedded(error.into()))?;
            let answer = made.map_err(|error| AnswerError::Embedded(Error::internal(error)))?;
            Ok(Draft { answer, model: MODEL_NAME.to_owned(), tokens: 0 })
        }
        .boxed()
    }
}

fn answer(question: &Question, embedder: Option<&dyn Embedder>) -> Result<DraftAnswer, EmbedError> {
    let words = QuestionWords::weigh(&question.text, &question.passages);
    let expected = ExpectedAnswer::of(&question.text);
    let mut sentences = pick::sentences(&question.passages, &words, expected.as_ref());
    // Search leaves the model out if it does not know the words of the question. Then it is of no use here either.
    let knows_words = question.passages.iter().any(|passage| passage.cosine.is_some());
    if let Some(embedder) = embedder.filter(|_| knows_words) {
        add_similarities(&mut sentences, &question.text, embedder)?;
    }
    let mut picked = pick::best(sentences);
    if picked.is_empty() {
        return Ok(DraftAnswer::Nothing);
    }
    if measure_evidence(&question.passages, &words, &picked, expected.is_some()).is_answerable() {
        return Ok(DraftAnswer::Quoted(quotations(&picked)));
    }
    pick::keep_one_per_document(&mut picked);
    Ok(DraftAnswer::Closest(quotations(&picked)))
}

/// Measures how well the documents of these sentences match the question, whose question word may ask for an answer of some type.
fn measure_evidence(
    passages: &[SourcePassage],
    words: &QuestionWords,
    picked: &[Sentence<'_>],
    has_expectation: bool,
) -> Evidence {
    let is_quoted = |passage: &&SourcePassage| {
        picked.iter().any(|sentence| sentence.document_rank == passage.document_rank)
    };
    let quoted: Vec<&SourcePassage> = passages.iter().filter(is_quoted).collect();
    let texts: Vec<Vec<u32>> = quoted.iter().map(|passage| words.ids(&passage_text(passage))).collect();
    let coverages = texts.iter().map(|text| words.coverage(text));
    Evidence {
        sentence: picked.iter().filter_map(|sentence| sentence.cosine).reduce(f32::max),
        passage: quoted.iter().filter_map(|passage| passage.cosine).reduce(f32::max),
        coverage: coverages.reduce(f32::max).unwrap_or(0.0),
        lacks_specific: words.has_specific_missing_from(&texts),
        lacks_expected: has_expectation && !picked.iter().any(|sentence| sentence.has_expected),
    }
}

fn passage_text(passage: &SourcePassage) -> String {
    format!("{}\n{}", passage.title, passage.text)
}

/// Computes the similarities of the sentences that match the words of the question best, and drops the others. Leaves all as they are if
/// the service that embeds cannot be used, or refuses one of them.
fn add_similarities(
    sentences: &mut Vec<Sentence<'_>>,
    question: &str,
    embedder: &dyn Embedder,
) -> Result<(), EmbedError> {
    let mut promising = sentences.clone();
    pick::keep_promising(&mut promising);
    let texts: Vec<String> = promising.iter().map(Sentence::titled_text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (target, vectors) = match embedder.embed_query_with_passages(question, &texts) {
        Ok(embedded) => embedded,
        Err(EmbedError::Unavailable { .. } | EmbedError::TextRefused { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let calibration = embedder.calibration();
    for (sentence, vector) in promising.iter_mut().zip(vectors) {
        let cosine = vector.iter().zip(&target).map(|(a, b)| a * b).sum();
        sentence.cosine = Some(calibration.standard_cosine(cosine));
    }
    *sentences = promising;
    Ok(())
}

fn quotations(picked: &[Sentence<'_>]) -> Vec<QuotedSentence> {
    let quotation = |sentence: &Sentence<'_>| {
        let end = sentence.start + sentence.text.len();
        QuotedSentence { passage: sentence.passage, range: sentence.start..end }
    };
    picked.iter().map(quotation).collect()
}

#[cfg(test)]
mod tests;
