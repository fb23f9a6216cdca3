//! Finds where a text may have the words of a highlight that was lost: windows of as many words, with most words in common.

use std::collections::HashMap;

/// The part of the words that a window must have in common with the highlight, in percent.
const MIN_COMMON_PERCENT: usize = 50;
/// Words of a highlight that are compared; those of a longer one are its first.
const MAX_COMPARED_WORDS: usize = 200;

/// Words of a text that are like those of a highlight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarWords {
    /// Offset of the first character, in Unicode scalar values.
    pub start: usize,
    /// Offset after the last character.
    pub end: usize,
    /// The part of the words in common, in percent.
    pub common_percent: usize,
}

/// A word of a text with its offsets in characters.
struct Word {
    key: String,
    start: usize,
    end: usize,
}

/// As many words of a text as the highlight has.
struct WordWindow {
    /// Index of its first word.
    first: usize,
    /// Number of words that it has in common with the highlight.
    common: usize,
    begins_alike: bool,
}

/// Returns the windows of the text that have at least half of the words in common, the best first, at most `limit`. They do not overlap.
/// Takes time linear in the text.
pub fn find_similar(text: &str, words: &str, limit: usize) -> Vec<SimilarWords> {
    let wanted: Vec<Word> = split_words(words).take(MAX_COMPARED_WORDS).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut missing: HashMap<&str, i64> = HashMap::new();
    for word in &wanted {
        *missing.entry(word.key.as_str()).or_default() += 1;
    }
    let all: Vec<Word> = split_words(text).collect();
    let length = wanted.len().min(all.len());
    let mut common = 0;
    let mut windows: Vec<WordWindow> = Vec::new();
    for (index, word) in all.iter().enumerate() {
        if let Some(count) = missing.get_mut(word.key.as_str()) {
            common += usize::from(*count > 0);
            *count -= 1;
        }
        let first = (index + 1).checked_sub(length);
        if let Some(left) = first.and_then(|first| first.checked_sub(1)).and_then(|left| all.get(left))
            && let Some(count) = missing.get_mut(left.key.as_str())
        {
            *count += 1;
            common -= usize::from(*count > 0);
        }
        if let Some(first) = first.filter(|_| common * 100 >= wanted.len() * MIN_COMMON_PERCENT) {
            // Of windows with equally many words the one that begins like the highlight is likelier.
            let begins_alike = all.get(first).map(|word| &word.key) == wanted.first().map(|word| &word.key);
            windows.push(WordWindow { first, common, begins_alike });
        }
    }
    // The first of several windows that are equally good: the sort is stable.
    windows.sort_by_key(|window| std::cmp::Reverse((window.common, window.begins_alike)));
    let mut chosen: Vec<WordWindow> = Vec::new();
    for window in windows {
        if chosen.len() < limit && chosen.iter().all(|other| window.first.abs_diff(other.first) >= length) {
            chosen.push(window);
        }
    }
    let found = chosen.into_iter().filter_map(|window| {
        let (first, last) = (all.get(window.first)?, all.get(window.first + length - 1)?);
        Some(SimilarWords {
            start: first.start,
            end: last.end,
            common_percent: window.common * 100 / wanted.len(),
        })
    });
    found.collect()
}

/// Splits a text into words of letters and digits, in lower case. In scripts without spaces each character is a word.
fn split_words(text: &str) -> impl Iterator<Item = Word> {
    let (mut bytes, mut chars) = (0, 0);
    text::word_bounds(text).filter_map(move |end| {
        let word = text.get(bytes..end).unwrap_or_default();
        let start = chars;
        chars += word.chars().count();
        bytes = end;
        let is_word = word.chars().any(char::is_alphanumeric);
        is_word.then(|| Word { key: word.to_lowercase(), start, end: chars })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, words: &str) -> Vec<(String, usize)> {
        let similar = find_similar(text, words, 3).into_iter();
        let cut = |found: SimilarWords| {
            let words = text.chars().skip(found.start).take(found.end - found.start).collect();
            (words, found.common_percent)
        };
        similar.map(cut).collect()
    }

    #[test]
    fn words_that_were_edited_are_found() {
        let text = "Größer: the card was wrong. Then the tall heron stood in the reeds all day, and left.";

        assert_eq!(
            found(text, "the tall heron stands in the reeds"),
            [("the tall heron stood in the reeds".to_owned(), 85)]
        );
    }

    #[test]
    fn best_of_several_places_is_first() {
        let text = "One grey bird waits. One grey heron waits here.";

        let found = found(text, "one grey heron waits");

        assert_eq!(found[0], ("One grey heron waits".to_owned(), 100));
        assert_eq!(found[1], ("One grey bird waits".to_owned(), 75));
    }

    #[test]
    fn unlike_or_empty_texts_have_nothing_similar() {
        assert_eq!(found("A stork on a roof.", "the tall heron stands in the reeds"), []);
        assert_eq!((found("", "heron"), found("heron", "")), (Vec::new(), Vec::new()));
    }
}
