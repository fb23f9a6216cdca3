//! The few words of a passage that show why it was found.
//!
//! At most 320 characters of plain text around the best match (contract.md, section 5), whole words, `…` where
//! something was left out. Words match without regard to case and accents, and by their beginnings where only
//! the ending differs, so that `runs` shows `run`; more than that is the index's business.

use text::{char_count, head, word_bounds};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// The most scalar values of a snippet, the ellipses included.
pub const SNIPPET_CHARS: usize = 320;

/// Beginnings shorter than this are not the same word with another ending.
const STEM_CHARS: usize = 3;
/// Nor are words of which more than this differs.
const ENDING_CHARS: usize = 4;

/// The part of `passage` that holds most of the words of `query`, or its beginning where none stands in it.
///
/// Takes time in proportion to the passage times the number of the query's words.
pub fn snippet(passage: &str, query: &str) -> String {
    let text = collapse(passage);
    if char_count(&text) <= SNIPPET_CHARS {
        return text;
    }
    let words = words(&text);
    let terms = terms(query);
    let (from, to) = densest(&hits(&words, &terms), terms.len());
    excerpt(&text, &words, from, to)
}

/// White space becomes single spaces, control characters go.
fn collapse(passage: &str) -> String {
    let mut text = String::with_capacity(passage.len());
    for word in passage.split_whitespace() {
        let before = text.len();
        text.extend(word.chars().filter(|c| !c.is_control()));
        if text.len() > before {
            text.push(' ');
        }
    }
    text.truncate(text.trim_end_matches(' ').len());
    text
}

/// A word, or what stands between two, of the passage.
struct Word<'a> {
    text: &'a str,
    /// Its byte offset.
    byte: usize,
    /// Where it begins and ends, in scalar values.
    from: usize,
    to: usize,
}

/// All of the text, word by word.
fn words(text: &str) -> Vec<Word<'_>> {
    let (mut byte, mut from) = (0, 0);
    let word = |end: usize| {
        let word = text.get(byte..end)?;
        let word = Word { text: word, byte, from, to: from + char_count(word) };
        (byte, from) = (end, word.to);
        Some(word)
    };
    word_bounds(text).filter_map(word).collect()
}

/// The distinct words of the query.
fn terms(query: &str) -> Vec<Vec<char>> {
    let mut terms: Vec<Vec<char>> = query.unicode_words().map(fold).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Lower case, compatibility forms, accents taken off.
fn fold(word: &str) -> Vec<char> {
    word.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
}

/// A word of the passage that matches one of the query.
struct Hit {
    from: usize,
    to: usize,
    /// The term's number, doubled, and one more where it stands there exactly.
    item: usize,
    /// Long words say more than short ones, exact matches more than likenesses.
    worth: usize,
}

fn hits(words: &[Word<'_>], terms: &[Vec<char>]) -> Vec<Hit> {
    let hit = |word: &Word<'_>| {
        if !word.text.contains(char::is_alphanumeric) {
            return None;
        }
        let folded = fold(word.text);
        let matches = terms.iter().zip(0..).map(|(term, number)| worth(term, &folded, number));
        let (worth, item) = matches.max()?;
        (worth > 0).then_some(Hit { from: word.from, to: word.to, item, worth })
    };
    words.iter().filter_map(hit).collect()
}

/// What a word is worth as a match of a term, and as which item it counts.
fn worth(term: &[char], word: &[char], number: usize) -> (usize, usize) {
    let weight = term.len().min(10);
    if term == word {
        return (3 * weight, 2 * number + 1);
    }
    let common = term.iter().zip(word).take_while(|(a, b)| a == b).count();
    let ending = term.len().max(word.len()) - common;
    let alike = common >= STEM_CHARS && ending <= ENDING_CHARS;
    (if alike { weight } else { 0 }, 2 * number)
}

/// The range of scalar values, short enough for a snippet, whose hits are worth most; what stands there twice
/// counts once. The first of equals.
fn densest(hits: &[Hit], terms: usize) -> (usize, usize) {
    let (mut best, mut range) = (0, (0, 0));
    let mut held = Held { counts: vec![0; 2 * terms], worth: 0 };
    let mut rest = hits.iter().peekable();
    for hit in hits {
        held.take(hit);
        while let Some(first) = rest.next_if(|first| !std::ptr::eq(*first, hit) && held.can_spare(first, hit))
        {
            held.leave(first);
        }
        if held.worth > best {
            (best, range) = (held.worth, (rest.peek().map_or(hit.from, |first| first.from), hit.to));
        }
    }
    range
}

/// The hits within a range.
struct Held {
    /// How often each item stands in it.
    counts: Vec<usize>,
    worth: usize,
}

impl Held {
    fn take(&mut self, hit: &Hit) {
        let Some(count) = self.counts.get_mut(hit.item) else { return };
        *count += 1;
        self.worth += if *count == 1 { hit.worth } else { 0 };
    }

    fn leave(&mut self, hit: &Hit) {
        let Some(count) = self.counts.get_mut(hit.item) else { return };
        *count -= 1;
        self.worth -= if *count == 0 { hit.worth } else { 0 };
    }

    /// Whether the first hit of the range is too far from the last, or stands in it again.
    fn can_spare(&self, first: &Hit, last: &Hit) -> bool {
        last.to - first.from > SNIPPET_CHARS - 2
            || self.counts.get(first.item).is_some_and(|count| *count > 1)
    }
}

/// The snippet that shows the scalar values `from..to` in the middle, or as much of them as fits.
fn excerpt(text: &str, words: &[Word<'_>], from: usize, to: usize) -> String {
    let total = words.last().map_or(0, |word| word.to);
    let slack = (SNIPPET_CHARS - 2).saturating_sub(to - from);
    let earliest = from.saturating_sub(slack / 2).min(total.saturating_sub(SNIPPET_CHARS - 1));
    let start = first_word(words, earliest, from);
    let (byte, first) = start.map_or((0, 0), |word| (word.byte, word.from));
    let rest = text.get(byte..).unwrap_or_default();
    let mut snippet = String::from(if first > 0 { "…" } else { "" });
    let room = SNIPPET_CHARS - char_count(&snippet);
    if total - first <= room {
        snippet.push_str(rest);
        return snippet;
    }
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

/// The word to begin with, at `earliest` or later but not behind `latest`: the first of a sentence if there is
/// one, else the first.
fn first_word<'a, 'b>(words: &'a [Word<'b>], earliest: usize, latest: usize) -> Option<&'a Word<'b>> {
    let visible = |word: &&Word<'_>| word.text != " ";
    let near = || words.iter().filter(visible).filter(|word| (earliest..=latest).contains(&word.from));
    let ends = |pair: &[Word<'_>]| match pair {
        [stop, space, word] if space.text == " " && stop.text.ends_with(['.', '!', '?', '…']) => {
            Some(word.from)
        }
        _ => None,
    };
    let sentence = words.windows(3).filter_map(ends).find(|at| (earliest..=latest).contains(at));
    let sentence = near().find(|word| word.from == 0 || Some(word.from) == sentence);
    sentence.or_else(|| near().next()).or_else(|| words.iter().rev().find(|word| word.from <= latest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filler(words: usize) -> String {
        "lorem ".repeat(words)
    }

    #[test]
    fn a_short_passage_is_shown_whole_in_one_line() {
        assert_eq!(snippet("\n One <b>two</b>\t\u{0}three.\n\n Four ", "two"), "One <b>two</b> three. Four");
    }

    #[test]
    fn the_word_is_shown_wherever_it_stands() {
        for before in [0, 1, 40, 50, 60, 200, 399, 400] {
            let passage = format!("{}okapi {}", filler(before), filler(400 - before));
            let shown = snippet(&passage, "the okapi");
            assert!(shown.contains("okapi"), "{before}: {shown}");
            assert!((300..=SNIPPET_CHARS).contains(&char_count(&shown)));
        }
    }

    #[test]
    fn what_is_left_out_is_marked_and_words_are_whole() {
        let shown = snippet(&format!("{}okapi {}", filler(100), filler(100)), "okapi");
        assert!(shown.starts_with("…lorem ") && shown.ends_with(" lorem…"), "{shown}");
        let shown = snippet(&filler(100), "okapi");
        assert!(shown.starts_with("lorem ") && shown.ends_with(" lorem…"), "{shown}");
        let shown = snippet(&format!("{}okapi", filler(100)), "okapi");
        assert!(shown.starts_with("…lorem ") && shown.ends_with(" okapi"), "{shown}");
    }

    #[test]
    fn the_place_with_most_of_the_words_is_shown() {
        let passage = format!("bread {}make bread at home {}bread bread", filler(100), filler(100));
        assert!(snippet(&passage, "how to make bread at home").contains("make bread at home"));
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
            assert!(snippet(&passage, query).contains(word), "{word}");
        }
    }

    #[test]
    fn an_exact_match_goes_before_a_likeness() {
        let passage = format!("running {}run {}", filler(100), filler(100));
        assert!(snippet(&passage, "run").contains(" run "));
    }

    #[test]
    fn it_begins_with_a_sentence_where_one_is_near() {
        let passage = format!("{}. It was an okapi. {}", filler(100), filler(100));
        assert!(snippet(&passage, "okapi").starts_with("…It was an okapi."));
    }

    #[test]
    fn a_word_longer_than_a_snippet_is_cut_between_clusters() {
        let shown = snippet(&format!("{}{}", filler(60), "e\u{301}".repeat(500)), &"é".repeat(500));
        assert!(char_count(&shown) <= SNIPPET_CHARS);
        assert!(shown.ends_with("e\u{301}…"), "{shown}");
    }

    proptest! {
        #[test]
        fn every_snippet_is_short_plain_and_from_the_passage(
            passage in "(lorem|okapi|[.] | |\n|\t|\u{7}|e\u{301}|👩\u{200d}👩|🇳🇱|自由|น้ำ|\u{301}|\u{600}|[a-z]{300}){0,150}",
            query in "(okapi|lor|自|é| |x){0,5}",
        ) {
            let shown = snippet(&passage, &query);
            prop_assert!(char_count(&shown) <= SNIPPET_CHARS);
            prop_assert!(!shown.chars().any(char::is_control) && !shown.contains("  "));
            let text = collapse(&passage);
            let middle = shown.trim_start_matches('…').trim_end_matches('…');
            prop_assert!(text.contains(middle));
            let clusters: Vec<_> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            let found = text.match_indices(middle).any(|(at, _)| clusters.contains(&at) && clusters.contains(&(at + middle.len())));
            prop_assert!(found || middle.is_empty());
        }

        #[test]
        fn any_passage_and_query_are_taken(passage in any::<String>(), times in 1usize..40, query in any::<String>()) {
            let shown = snippet(&passage.repeat(times), &query);
            prop_assert!(char_count(&shown) <= SNIPPET_CHARS);
        }

        #[test]
        fn a_word_of_the_query_that_stands_alone_is_shown(before in 0usize..200, after in 0usize..200, word in "[a-zA-Zé]{4,20}") {
            let passage = format!("{}{word} {}", "12 ".repeat(before), "34 ".repeat(after));
            prop_assert!(snippet(&passage, &word).contains(&word));
        }
    }
}
