//! Extracts the part of a passage that shows why it was found.
//!
//! A snippet is at most 320 characters of plain text around the best match (contract.md, section 5). It consists of whole words, with
//! `…` where text was left out. Words match regardless of case and accents, and by a common beginning when only their endings
//! differ, so that `runs` shows `run`. The index knows more forms of a word than that.

mod words;

use text::{char_count, head};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use words::{Word, collapse_whitespace, split_words};

/// Maximum length of a snippet in scalar values, ellipses included.
pub const MAX_SNIPPET_CHARS: usize = 320;

/// Minimum length of the common beginning of two forms of a word.
const MIN_STEM_CHARS: usize = 3;
/// Maximum length of the endings in which two forms of a word differ.
const MAX_ENDING_CHARS: usize = 4;

/// The distinct words of a query, as snippets show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnippetTerms(Vec<Vec<char>>);

impl SnippetTerms {
    /// Returns the words of a query.
    #[must_use]
    pub fn of(query: &str) -> Self {
        let mut terms: Vec<Vec<char>> = query.unicode_words().map(fold).collect();
        terms.sort_unstable();
        terms.dedup();
        Self(terms)
    }
}

/// Returns the part of `passage` that contains most of the words of a query, or its beginning if it contains none.
///
/// Takes time proportional to the length of the passage times the number of words in the query.
#[must_use]
pub fn extract_snippet(passage: &str, terms: &SnippetTerms) -> String {
    let text = collapse_whitespace(passage);
    if char_count(&text) <= MAX_SNIPPET_CHARS {
        return text;
    }
    let words = split_words(&text);
    let (from, to) = best_range(&find_matches(&words, &terms.0), terms.0.len());
    excerpt(&text, &words, from, to)
}

/// Converts a word to lower case and compatibility forms, without accents.
fn fold(word: &str) -> Vec<char> {
    word.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
}

/// A word of the passage that matches a term of the query.
struct TermMatch {
    from: usize,
    to: usize,
    /// Twice the number of the term, and one more for an exact match.
    key: usize,
    /// Higher for long words and for exact matches.
    score: usize,
}

fn find_matches(words: &[Word<'_>], terms: &[Vec<char>]) -> Vec<TermMatch> {
    let term_match = |word: &Word<'_>| {
        if !word.text.contains(char::is_alphanumeric) {
            return None;
        }
        let (score, key) = best_match(word.text, terms)?;
        (score > 0).then_some(TermMatch { from: word.from, to: word.to, key, score })
    };
    words.iter().filter_map(term_match).collect()
}

/// Returns the highest score of a word as a match of a term, and the key under which it counts.
fn best_match(word: &str, terms: &[Vec<char>]) -> Option<(usize, usize)> {
    let terms = terms.iter().zip(0..);
    if word.is_ascii() {
        // ASCII has no accents and no compatibility forms.
        let folded = || word.bytes().map(|byte| char::from(byte.to_ascii_lowercase()));
        return terms.map(|(term, number)| score_match(term, folded(), word.len(), number)).max();
    }
    let folded = fold(word);
    terms.map(|(term, number)| score_match(term, folded.iter().copied(), folded.len(), number)).max()
}

/// Returns the score of a word of this length as a match of a term (0 if it does not match), and the key under which it counts.
fn score_match(
    term: &[char],
    word: impl Iterator<Item = char>,
    length: usize,
    number: usize,
) -> (usize, usize) {
    let weight = term.len().min(10);
    let common = term.iter().zip(word).take_while(|(a, b)| **a == *b).count();
    if common == term.len() && common == length {
        return (3 * weight, 2 * number + 1);
    }
    let ending = term.len().max(length) - common;
    let is_same_stem = common >= MIN_STEM_CHARS && ending <= MAX_ENDING_CHARS;
    (if is_same_stem { weight } else { 0 }, 2 * number)
}

/// Returns the range of scalar values with the highest score among those that fit into a snippet. Matches with the same key count once. The
/// first of equals.
fn best_range(matches: &[TermMatch], terms: usize) -> (usize, usize) {
    let (mut best, mut range) = (0, (0, 0));
    let mut window = MatchWindow { counts: vec![0; 2 * terms], score: 0 };
    let mut rest = matches.iter().peekable();
    for last in matches {
        window.add(last);
        while let Some(first) =
            rest.next_if(|first| !std::ptr::eq(*first, last) && window.can_drop(first, last))
        {
            window.remove(first);
        }
        if window.score > best {
            (best, range) = (window.score, (rest.peek().map_or(last.from, |first| first.from), last.to));
        }
    }
    range
}

/// The matches within a range.
struct MatchWindow {
    /// Number of matches for each key.
    counts: Vec<usize>,
    score: usize,
}

impl MatchWindow {
    fn add(&mut self, added: &TermMatch) {
        let Some(count) = self.counts.get_mut(added.key) else { return };
        *count += 1;
        self.score += if *count == 1 { added.score } else { 0 };
    }

    fn remove(&mut self, removed: &TermMatch) {
        let Some(count) = self.counts.get_mut(removed.key) else { return };
        *count -= 1;
        self.score -= if *count == 0 { removed.score } else { 0 };
    }

    /// Returns whether the first match is too far from the last one, or its key matches again later.
    fn can_drop(&self, first: &TermMatch, last: &TermMatch) -> bool {
        // Two characters are left for an ellipsis on each side.
        last.to - first.from > MAX_SNIPPET_CHARS - 2
            || self.counts.get(first.key).is_some_and(|count| *count > 1)
    }
}

/// Returns the snippet that has the scalar values `from..to` in its middle, or as many of them as fit.
fn excerpt(text: &str, words: &[Word<'_>], from: usize, to: usize) -> String {
    let total = words.last().map_or(0, |word| word.to);
    let slack = (MAX_SNIPPET_CHARS - 2).saturating_sub(to - from);
    // Not so late that the passage ends before the snippet is full.
    let earliest = from.saturating_sub(slack / 2).min(total.saturating_sub(MAX_SNIPPET_CHARS - 1));
    let start = first_word(words, earliest, from);
    let (byte, first) = start.map_or((0, 0), |word| (word.byte, word.from));
    let rest = text.get(byte..).unwrap_or_default();
    let mut snippet = String::from(if first > 0 { "…" } else { "" });
    let room = MAX_SNIPPET_CHARS - char_count(&snippet);
    if total - first <= room {
        snippet.push_str(rest);
        return snippet;
    }
    // One character is left for the ellipsis at the end.
    let limit = first + room - 1;
    let last = words.iter().rev().find(|word| word.to <= limit && word.from >= first && word.text != " ");
    let shown = match last {
        Some(last) if to <= limit => rest.get(..last.byte + last.text.len() - byte).unwrap_or_default(),
        Some(_) | None => head(rest, room - 1), // a word longer than a snippet
    };
    snippet.push_str(shown);
    snippet.push('…');
    snippet
}

/// Returns the word with which the snippet begins, from `earliest` to `latest`: the first word of a sentence if there is one, otherwise the
/// first word.
fn first_word<'a, 'b>(words: &'a [Word<'b>], earliest: usize, latest: usize) -> Option<&'a Word<'b>> {
    let is_visible = |word: &&Word<'_>| word.text != " ";
    let candidates =
        || words.iter().filter(is_visible).filter(|word| (earliest..=latest).contains(&word.from));
    let sentence_start = |triple: &[Word<'_>]| match triple {
        [stop, space, word] if space.text == " " && stop.text.ends_with(['.', '!', '?', '…']) => {
            Some(word.from)
        }
        _ => None,
    };
    let sentence = words.windows(3).filter_map(sentence_start).find(|at| (earliest..=latest).contains(at));
    let sentence = candidates().find(|word| word.from == 0 || Some(word.from) == sentence);
    sentence.or_else(|| candidates().next()).or_else(|| words.iter().rev().find(|word| word.from <= latest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extract_snippet(passage: &str, query: &str) -> String {
        super::extract_snippet(passage, &SnippetTerms::of(query))
    }

    fn filler(words: usize) -> String {
        "lorem ".repeat(words)
    }

    #[test]
    fn short_passage_is_returned_whole_on_one_line() {
        assert_eq!(
            extract_snippet("\n One <b>two</b>\t\u{0}three.\n\n Four ", "two"),
            "One <b>two</b> three. Four"
        );
    }

    #[test]
    fn match_is_shown_wherever_it_is() {
        for before in [0, 1, 40, 50, 60, 200, 399, 400] {
            let passage = format!("{}okapi {}", filler(before), filler(400 - before));
            let shown = extract_snippet(&passage, "the okapi");
            assert!(shown.contains("okapi"), "{before}: {shown}");
            assert!((300..=MAX_SNIPPET_CHARS).contains(&char_count(&shown)));
        }
    }

    #[test]
    fn omissions_are_marked_and_words_are_whole() {
        let shown = extract_snippet(&format!("{}okapi {}", filler(100), filler(100)), "okapi");
        assert!(shown.starts_with("…lorem ") && shown.ends_with(" lorem…"), "{shown}");
        let shown = extract_snippet(&filler(100), "okapi");
        assert!(shown.starts_with("lorem ") && shown.ends_with(" lorem…"), "{shown}");
        let shown = extract_snippet(&format!("{}okapi", filler(100)), "okapi");
        assert!(shown.starts_with("…lorem ") && shown.ends_with(" okapi"), "{shown}");
    }

    #[test]
    fn range_with_most_of_the_words_is_shown() {
        let passage = format!("bread {}make bread at home {}bread bread", filler(100), filler(100));
        assert!(extract_snippet(&passage, "how to make bread at home").contains("make bread at home"));
    }

    #[test]
    fn case_accents_and_endings_do_not_matter() {
        for (word, query) in [
            ("Zürich", "zurich"),
            ("running", "runs"),
            ("studies", "study"),
            ("ＷＩＤＥ", "wide"),
            ("ΝΑΪΦ", "ναιφ"),
        ] {
            let passage = format!("{}{word} {}", filler(100), filler(100));
            assert!(extract_snippet(&passage, query).contains(word), "{word}");
        }
    }

    #[test]
    fn word_in_ascii_matches_as_if_it_were_folded() {
        let terms = SnippetTerms::of("Running rund runs r2d2 it's");
        for word in ["running", "RUN", "runner", "Rund", "r2D2", "It's", "x", "runningly", "runni"] {
            let folded = fold(word);
            let scores = terms.0.iter().zip(0..);
            let scores = scores.map(|(term, n)| score_match(term, folded.iter().copied(), folded.len(), n));
            assert_eq!(best_match(word, &terms.0), scores.max(), "{word}");
        }
    }

    #[test]
    fn exact_match_beats_a_common_stem() {
        let passage = format!("running {}run {}", filler(100), filler(100));
        assert!(extract_snippet(&passage, "run").contains(" run "));
    }

    #[test]
    fn snippet_begins_with_a_nearby_sentence() {
        let passage = format!("{}. It was an okapi. {}", filler(100), filler(100));
        assert!(extract_snippet(&passage, "okapi").starts_with("…It was an okapi."));
    }

    #[test]
    fn word_longer_than_a_snippet_is_cut_between_clusters() {
        let shown = extract_snippet(&format!("{}{}", filler(60), "e\u{301}".repeat(500)), &"é".repeat(500));
        assert!(char_count(&shown) <= MAX_SNIPPET_CHARS);
        assert!(shown.ends_with("e\u{301}…"), "{shown}");
    }

    proptest! {
        #[test]
        fn every_snippet_is_short_plain_and_from_the_passage(
            passage in "(lorem|okapi|[.] | |\n|\t|\u{7}|e\u{301}|👩\u{200d}👩|🇳🇱|自由|น้ำ|\u{301}|\u{600}|[a-z]{300}){0,150}",
            query in "(okapi|lor|自|é| |x){0,5}",
        ) {
            let shown = extract_snippet(&passage, &query);
            prop_assert!(char_count(&shown) <= MAX_SNIPPET_CHARS);
            prop_assert!(!shown.chars().any(char::is_control) && !shown.contains("  "));
            let text = collapse_whitespace(&passage);
            let middle = shown.trim_start_matches('…').trim_end_matches('…');
            prop_assert!(text.contains(middle));
            let clusters: Vec<_> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            let found = text.match_indices(middle).any(|(at, _)| clusters.contains(&at) && clusters.contains(&(at + middle.len())));
            prop_assert!(found || middle.is_empty());
        }

        #[test]
        fn any_passage_and_query_are_accepted(passage in any::<String>(), times in 1usize..40, query in any::<String>()) {
            let shown = extract_snippet(&passage.repeat(times), &query);
            prop_assert!(char_count(&shown) <= MAX_SNIPPET_CHARS);
        }

        #[test]
        fn match_of_the_query_alone_is_shown(before in 0usize..200, after in 0usize..200, word in "[a-zA-Zé]{4,20}") {
            let passage = format!("{}{word} {}", "12 ".repeat(before), "34 ".repeat(after));
            prop_assert!(extract_snippet(&passage, &word).contains(&word));
        }
    }
}
