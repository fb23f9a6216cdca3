//! Finds the documents that contain an excluded word or phrase, in any of their passages or their metadata.

use std::collections::HashSet;

use errors::Error;
use search::lexical::WordSequence;
use uuid::Uuid;

use super::lexical_search::{self, FoundPassages};
use super::phrase_check::{PASSAGES_PER_READ, PhraseMatcher};
use super::user_search::UserSearch;
use crate::retrieval::engine::LibraryIndex;

/// Maximum number of passages that one search reads for its excluded phrases. Documents beyond it count as without them.
const MAX_READ_PASSAGES: usize = 6_400;

/// The words and phrases that a search excludes, and what is known of the documents that it found. Each document is checked once.
pub(super) struct Exclusions<'a> {
    search: UserSearch<'a>,
    words: Vec<String>,
    phrases: Vec<String>,
    matcher: PhraseMatcher,
    checked: HashSet<Uuid>,
    excluded: HashSet<Uuid>,
    /// The number of passages that may still be read.
    readable: usize,
}

impl<'a> Exclusions<'a> {
    /// Returns the exclusions of a search, for which no document is checked yet.
    pub(super) fn new(search: UserSearch<'a>, excluded: &[String]) -> Self {
        let (words, phrases): (Vec<String>, Vec<String>) =
            excluded.iter().cloned().partition(|text| is_word(text));
        Self {
            search,
            words,
            matcher: PhraseMatcher::any_of(&phrases),
            phrases,
            checked: HashSet::new(),
            excluded: HashSet::new(),
            readable: MAX_READ_PASSAGES,
        }
    }

    /// Checks those of these documents that are not checked yet. A word excludes its other forms too, as it finds them.
    ///
    /// # Errors
    /// The errors of [`UserSearch::run`]; [`Error::Internal`] when the database fails.
    pub(super) async fn check(&mut self, mut documents: Vec<Uuid>) -> Result<(), Error> {
        documents.retain(|document| self.checked.insert(*document));
        if !self.words.is_empty() && !documents.is_empty() {
            let found = self.find_with_words(documents.clone()).await?;
            documents.retain(|document| !found.contains(document));
            self.excluded.extend(found);
        }
        if !self.phrases.is_empty() {
            self.exclude_with_phrases(documents).await?;
        }
        Ok(())
    }

    /// Returns whether a checked document contains one of the words or phrases.
    pub(super) fn exclude(&self, document: Uuid) -> bool {
        self.excluded.contains(&document)
    }

    async fn find_with_words(&self, documents: Vec<Uuid>) -> Result<HashSet<Uuid>, Error> {
        let (user, words) = (self.search.user, self.words.clone());
        let find =
            move |index: &LibraryIndex<'_>| lexical_search::find_documents(index, user, &words, documents);
        self.search.run(&self.words.join(" "), find).await
    }

    /// Excludes the documents that contain a phrase: all phrases are looked for in the passages that have any of their words. While those
    /// of a few long documents take all places, the other documents are searched again.
    async fn exclude_with_phrases(&mut self, mut documents: Vec<Uuid>) -> Result<(), Error> {
        while !documents.is_empty() && self.readable > 0 {
            let FoundPassages { passages, is_cut } = self.find_candidates(documents.clone()).await?;
            for part in passages.chunks(PASSAGES_PER_READ) {
                if self.readable == 0 {
                    break;
                }
                self.readable = self.readable.saturating_sub(part.len());
                let points: Vec<Uuid> = part.iter().map(|(passage, _)| *passage).collect();
                let matching = self.search.find_matching(&self.matcher, &points).await?;
                self.excluded.extend(matching.into_values().map(|document| document.0));
            }
            let reached: HashSet<Uuid> = passages.into_iter().map(|(_, document)| document).collect();
            if !is_cut || reached.is_empty() {
                break;
            }
            documents.retain(|document| !reached.contains(document));
        }
        Ok(())
    }

    async fn find_candidates(&self, documents: Vec<Uuid>) -> Result<FoundPassages, Error> {
        let (user, phrases) = (self.search.user, self.phrases.clone());
        let find =
            move |index: &LibraryIndex<'_>| lexical_search::find_passages(index, user, &phrases, &documents);
        self.search.run(&self.phrases.join(" "), find).await
    }
}

/// Returns whether a text is a single word, which the index finds by itself. Names with signs, such as `C++`, are looked for in the texts.
fn is_word(text: &str) -> bool {
    let sequence = WordSequence::of(text);
    let has_sign = sequence.words().any(|word| word.ends_with(['+', '#']));
    !has_sign && sequence.words().nth(1).is_none()
}
