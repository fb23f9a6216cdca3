//! The embedded answerer: no model writes, the library speaks for itself. It quotes the sentences that answer best, each
//! with its marker, or says that the library does not hold the answer.
//!
//! Sentences are ranked by nearness in meaning and by the words that they share with the question, rare words first; the
//! gate looks at the nearest sentence, the nearest passage and the share of the question's words that one passage holds.
//! Without an embedding model words alone decide.

mod gate;
mod pick;
mod words;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inference::embedder::{EmbedError, Embedder};
use runtime::{Lane, Workers};

use super::{Answerer, Draft, Failure, Passage, Question};
use errors::Error;
use pick::Sentence;
use words::Words;

/// What it calls itself.
const NAME: &str = "carrel-extractive";
/// Sentences whose vectors are made: each costs a few milliseconds.
const LOOKED_AT: usize = 32;

/// The embedding model, where it is there.
pub type Meaning = Arc<dyn Fn() -> Option<Arc<dyn Embedder>> + Send + Sync>;

/// See the file's head.
pub struct Extractive {
    workers: Workers,
    meaning: Meaning,
}

impl Extractive {
    /// Works in the foreground lane of these workers.
    pub fn new(workers: Workers, meaning: Meaning) -> Self {
        Self { workers, meaning }
    }
}

impl Answerer for Extractive {
    fn model(&self) -> &str {
        NAME
    }

    fn answer(&self, question: Question) -> BoxFuture<'_, Result<Draft, Failure>> {
        async move {
            let embedder = (self.meaning)();
            let work = move || answer(&question, embedder.as_deref());
            let made = self
                .workers
                .run(Lane::Foreground, work)
                .await
                .map_err(|error| Failure::Inside(error.into()))?;
            let text = made.map_err(|error| Failure::Inside(Error::internal(error)))?;
            Ok(Draft { text, model: NAME.to_owned(), tokens: 0 })
        }
        .boxed()
    }
}

fn answer(question: &Question, embedder: Option<&dyn Embedder>) -> Result<Option<String>, EmbedError> {
    let words = Words::of(&question.text, &question.passages);
    let mut sentences = pick::sentences(&question.passages, &words);
    // Search left the model out where it does not know the question's words: so does this.
    let knows = question.passages.iter().any(|passage| passage.cosine.is_some());
    if let Some(embedder) = embedder.filter(|_| knows) {
        look_closer(&mut sentences, &question.text, embedder)?;
    }
    let held = question.passages.iter().map(|passage| words.covered(&passage_text(passage)));
    let seen = gate::Seen {
        sentence: sentences.iter().filter_map(|sentence| sentence.cosine).reduce(f32::max),
        passage: question.passages.iter().filter_map(|passage| passage.cosine).reduce(f32::max),
        covered: held.reduce(f32::max).unwrap_or(0.0),
    };
    let picked = if gate::opens(&seen) { pick::best(sentences) } else { Vec::new() };
    Ok((!picked.is_empty()).then(|| quoted(&picked)))
}

fn passage_text(passage: &Passage) -> String {
    format!("{}\n{}", passage.title, passage.text)
}

/// Nearness in meaning, for the sentences that have the best prospects by their words and their passages.
fn look_closer(
    sentences: &mut Vec<Sentence<'_>>,
    question: &str,
    embedder: &dyn Embedder,
) -> Result<(), EmbedError> {
    let asked = embedder.embed_query(question)?;
    pick::by_prospect(sentences);
    sentences.truncate(LOOKED_AT);
    for sentence in sentences {
        let vector = embedder.embed_query(sentence.text)?;
        sentence.cosine = Some(vector.iter().zip(&asked).map(|(a, b)| a * b).sum());
    }
    Ok(())
}

/// Each sentence between quotation marks, with its marker.
fn quoted(picked: &[Sentence<'_>]) -> String {
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
        let passage = |text: &&str| Passage { title: String::new(), text: (*text).to_owned(), cosine: None };
        Question { text: text.to_owned(), passages: passages.iter().map(passage).collect() }
    }

    fn said(text: &str, passages: &[&str]) -> Option<String> {
        answer(&question(text, passages), None).unwrap()
    }

    const QUAGGA: &str = "Artis had animals of many kinds. The quagga of Artis died on the twelfth of August 1883. \
        Visitors came by tram and had tea in the garden. The keeper fed it hay.";
    const BREAD: &str = "Bread needs flour and water.\nIt rises for an hour.";

    #[test]
    fn the_sentence_that_holds_the_question_s_words_is_quoted_with_its_marker() {
        let answer = said("When did the quagga die?", &[BREAD, QUAGGA]).unwrap();

        assert!(
            answer.starts_with("“The quagga of Artis died on the twelfth of August 1883.” [2]"),
            "{answer}"
        );
    }

    #[test]
    fn a_question_that_the_passages_do_not_hold_has_no_answer() {
        assert_eq!(said("Which moons of Mars have animals with feathers?", &[BREAD, QUAGGA]), None);
        assert_eq!(said("When did the quagga die?", &[]), None);
        assert_eq!(said("?", &[QUAGGA]), None);
    }

    #[test]
    fn what_is_quoted_is_found_again() {
        let passages = ["He said “the quagga [2] is dead”\nin 1883. Nobody believed him."];
        let answer = said("Who said that the quagga is dead?", &passages).unwrap();

        let cited = search::citation::cite(&answer, &passages);

        assert!(
            !cited.citations.is_empty() && cited.citations.iter().all(|citation| citation.verified),
            "{answer}"
        );
    }
}
