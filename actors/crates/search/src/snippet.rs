//! Extracts the part of a passage that shows why it was found.
//!
//! A snippet is at most 320 characters of plain text around the best match (contract.md, section 5). It consists of whole words, with
//! `…` where text was left out. Words match regardless of case and accents, and in other forms that the index takes for the same word:
//! `runs` shows `run`, and `number` does not show `Numb`. Words in other letters than Latin ones match by a common beginning too, when
//! only their endings differ.

mod terms;
mod word_matcher;
mod words;

use std::ops::Range;

use text::{char_count, head};

pub use terms::SnippetTerms;
use word_matcher::WordMatcher;
use words::{Word, collapse_whitespace, split_words};

/// Maximum length of a snippet in scalar values, ellipses included.
pub const MAX_SNIPPET_CHARS: usize = 320;

/// What is shown of a passage, and how much of the query it contains.
#[derive(Clone, Debug, PartialEq)]
pub struct PassageExtract {
    /// The part of the passage that contains most of the words of the query, or its beginning if it contains none.
    pub snippet: String,
    /// The weighted share of the terms of the query that the passage and the title of its document contain, from 0 to 1. Stop words do
    /// not count; 1 for a query without terms.
    pub coverage: f32,
}

/// Finds the words of one query in passages. It remembers the words that it has analysed, so it serves all results of a search.
pub struct SnippetMatcher<'a>(WordMatcher<'a>);

impl<'a> SnippetMatcher<'a> {
    /// Returns the matcher for the words of a query.
    #[must_use]
    pub fn new(terms: &'a SnippetTerms) -> Self {
        Self(WordMatcher::new(terms))
    }

    /// Returns what is shown of a passage, and how much of the query it contains together with the title of its document.
    ///
    /// Takes time proportional to the length of both texts times the number of words in the query.
    #[must_use]
    pub fn extract(&mut self, title: &str, passage: &str) -> PassageExtract {
        let (title, text) = (collapse_whitespace(title), collapse_whitespace(passage));
        let words = split_words(&text);
        let mut found = vec![false; self.0.term_count()];
        self.find_matches(&split_words(&title), &mut found);
        let matches = self.find_matches(&words, &mut found);
        let coverage = self.0.coverage(&found, &[title.as_str(), text.as_str()]);
        let snippet = if char_count(&text) <= MAX_SNIPPET_CHARS {
            text.clone()
        } else {
            let (from, to) = best_range(&matches, found.len());
            excerpt(&text, &words, from, to)
        };
        PassageExtract { snippet, coverage }
    }

    /// Returns the ranges of the words of a snippet that match a term of the query, in scalar values, in the order of the snippet. Stop
    /// words are left out.
    #[must_use]
    pub fn matching_words(&mut self, snippet: &str) -> Vec<Range<usize>> {
        let mut found = vec![false; self.0.term_count()];
        let mut matches = self.find_matches(&split_words(snippet), &mut found);
        matches.retain(|word| !self.0.is_stop_word(word.key));
        matches.into_iter().map(|word| word.from..word.to).collect()
    }

    /// Returns the words that match a term, and notes the terms that they match.
    fn find_matches(&mut self, words: &[Word<'_>], found: &mut [bool]) -> Vec<TermMatch> {
        let term_match = |word: &Word<'_>| {
            let best = self.0.match_word(word.text, found)?;
            Some(TermMatch { from: word.from, to: word.to, key: best.key, score: best.score })
        };
        words.iter().filter_map(term_match).collect()
    }
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
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;
    use crate::index::Language;
    use crate::lexical::query_terms;

    /// The terms of a query, which weigh the same.
    fn test_terms(query: &str) -> SnippetTerms {
        let languages = [Language::English];
        let terms = query_terms(query, &languages);
        SnippetTerms::of(query, &terms, &vec![1.0; terms.len()], &languages)
    }

    /// Extracts for a query whose terms weigh the same.
    fn extract(title: &str, passage: &str, query: &str) -> PassageExtract {
        SnippetMatcher::new(&test_terms(query)).extract(title, passage)
    }

    fn extract_snippet(passage: &str, query: &str) -> String {
        extract("", passage, query).snippet
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
            ("Łódź", "lodz"),
            ("Müller", "mueller"),
            ("서울에서", "서울"),
        ] {
            let passage = format!("{}{word} {}", filler(100), filler(100));
            assert!(extract_snippet(&passage, query).contains(word), "{word}");
        }
    }

    #[test]
    fn word_that_only_begins_like_the_query_is_not_shown() {
        for (other, query) in [("Numb", "number"), ("universe", "universal2"), ("carp", "carpet")] {
            let passage = format!("{}{other} {}", filler(100), filler(100));
            let shown = extract(" ", &passage, query);
            assert!(shown.snippet.starts_with("lorem"), "{other}: {}", shown.snippet);
            assert!(shown.coverage.abs() < 1e-6, "{other}: {}", shown.coverage);
        }
    }

    #[test]
    fn coverage_is_the_share_of_the_terms() {
        for (title, passage, query, coverage) in [
            ("", "the okapi runs", "running okapi", 1.0),
            ("Okapi", "it runs", "running okapi", 1.0),
            ("Okapi", "it stands", "the running okapi", 0.5),
            ("", "lorem ipsum", "okapi", 0.0),
            ("", "", "okapi", 0.0),
            ("", "lorem", "", 1.0),
            ("", "Crème brûlée", "creme brulee", 1.0),
            ("", "Łódź", "lodz", 1.0),
            ("", "đường", "duong", 1.0),
            ("", "søren", "soren", 1.0),
            ("", "Müller", "mueller", 1.0),
            ("", "mueller", "Müller", 1.0),
            ("", "ΕΛΛΑΣ", "ελλάς", 1.0),
            ("", "ёлка", "елка", 1.0),
            ("", "мой", "мои", 0.0),
            // Codes are written with and without signs between their parts.
            ("", "see CVE-2021-44228", "cve 2021 44228", 1.0),
            ("", "play BWV 578 now", "bwv578", 1.0),
            ("", "Flann O’Sullivan wrote", "flann osullivan", 1.0),
            ("", "Flann OSullivan wrote", "o'sullivan flann", 1.0),
            ("", "play BWV 579 now", "bwv578", 0.0),
            ("Notes 2024-06-06", "", "2024-06-06", 1.0),
            ("", "of 2024/06/06 and", "2024-06-06", 1.0),
            ("Notes 2024-06-06", "", "2024-06", 1.0),
            ("Notes 2024-06-13", "in 2024 on the 06", "2024-06-06", 0.0),
            ("Notes 2024-06-13", "", "notes 2024-06-06", 0.5),
            ("", "我们昨天去了东京塔参观。", "东京塔", 1.0),
            ("", "我们昨天去了京都参观。", "东京塔", 0.0),
        ] {
            let found = extract(title, passage, query).coverage;
            assert!((found - coverage).abs() < 1e-5, "{query} in {passage}: {found}");
        }
    }

    #[test]
    fn number_is_missing_unless_its_parts_follow_each_other() {
        let languages = [Language::English];
        for (query, text, is_missing) in [
            ("notes 2024-06-06", "Notes of 2024-06-06", false),
            ("notes 2024-06-06", "Notes of 2024.06.06", false),
            ("notes 2024-06-06", "Notes of 2024-06-13", true),
            ("2023-11-11 2023-11-23", "Invoice 2023-11-23", true),
            ("notes 2024", "Notes", false),
        ] {
            let terms = query_terms(query, &languages);
            let terms = SnippetTerms::of(query, &terms, &vec![1.0; terms.len()], &languages);
            assert_eq!(terms.has_number_missing_from(&["", text]), is_missing, "{query} in {text}");
        }
    }

    #[test]
    fn coverage_counts_the_weights_of_terms() {
        let languages = [Language::English];
        let terms = query_terms("okapi habitat", &languages);
        let terms = SnippetTerms::of("okapi habitat", &terms, &[3.0, 1.0], &languages);
        let mut matcher = SnippetMatcher::new(&terms);

        assert!((matcher.extract("", "An okapi.").coverage - 0.75).abs() < 1e-6);
        assert!((matcher.extract("", "Its habitats.").coverage - 0.25).abs() < 1e-6);
    }

    #[test]
    fn exact_match_beats_a_common_stem() {
        let passage = format!("running {}run {}", filler(100), filler(100));
        assert!(extract_snippet(&passage, "run").contains(" run "));
    }

    #[test]
    fn words_that_match_the_query_are_found_in_a_snippet() {
        let terms = test_terms("the running okapis");
        let snippet = "…The Okapi runs, a ñandú does not.";

        let words = SnippetMatcher::new(&terms).matching_words(snippet);

        let chars: Vec<char> = snippet.chars().collect();
        let words: Vec<String> = words.into_iter().map(|word| chars[word].iter().collect()).collect();
        assert_eq!(words, ["Okapi", "runs"]);
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
            let extracted = extract(&query, &passage, &query);
            prop_assert!((0.0..=1.0).contains(&extracted.coverage));
            let shown = extracted.snippet;
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
