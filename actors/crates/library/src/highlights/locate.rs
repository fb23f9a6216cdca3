//! Finds the words of highlights in a text.

use std::cell::Cell;

use text::slice_chars;

use super::loose_match::{find_letters, letters};

/// Where a text contains the words of a highlight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMatch {
    /// Offset of the first character, in Unicode scalar values.
    pub start: i32,
    /// Offset after the last character.
    pub end: i32,
    /// The words as the text has them.
    pub text: String,
}

/// Returns the occurrence of the words that is nearest to the offset `near`; if the exact words do not occur, the first
/// occurrence of their letters. Empty words occur nowhere.
pub fn find_text(text: &str, words: &str, near: i32) -> Option<TextMatch> {
    find_all(text, &[(words, near)]).pop().flatten()
}

/// Bytes of text that are searched for the highlights of one document. Each highlight that moved searches the whole text, so
/// without a bound many highlights in a long text would take minutes. The remaining highlights stay where they are.
const MAX_SEARCHED_BYTES: usize = 1 << 29;

/// Finds many highlights at once, each as [`find_text`] does.
pub(super) fn find_all(text: &str, highlights: &[(&str, i32)]) -> Vec<Option<TextMatch>> {
    let searches = Cell::new(MAX_SEARCHED_BYTES / text.len().max(1));
    let may_search = || searches.get().checked_sub(1).map(|left| searches.set(left)).is_some();
    let exact = find_exact(text, highlights, may_search);
    // The letters of the text are computed once for all highlights, and only if one needs them.
    let needs_letters = searches.get() > 0 && exact.iter().any(Option::is_none);
    let text_letters = if needs_letters { letters(text) } else { String::new() };
    let to_match = |(exact, (words, _)): (Option<(usize, usize)>, &(&str, i32))| {
        let (start, end, words) = match exact {
            Some((start, end)) => (start, end, *words),
            None if !may_search() => return None,
            None => {
                let (start, end) = find_letters(text, &text_letters, words)?;
                (start, end, slice_chars(text, start, end)?)
            }
        };
        Some(TextMatch {
            start: i32::try_from(start).ok()?,
            end: i32::try_from(end).ok()?,
            text: words.to_owned(),
        })
    };
    exact.into_iter().zip(highlights).map(to_match).collect()
}

/// Finds the exact words. Only those that have moved search the text.
fn find_exact(
    text: &str,
    highlights: &[(&str, i32)],
    may_search: impl Fn() -> bool,
) -> Vec<Option<(usize, usize)>> {
    let offsets: Vec<_> =
        highlights.iter().map(|(_, near)| usize::try_from(*near).unwrap_or_default()).collect();
    let nearest = |words: &str, near: usize| {
        text.match_indices(words).map(|(byte, _)| byte).min_by_key(|byte| byte.abs_diff(near))
    };
    // Offsets are stored in characters, while a text is searched by bytes. Both conversions convert all offsets in one pass over
    // the text; one pass for each highlight would take minutes for many highlights in a long text.
    let starts: Vec<_> = highlights
        .iter()
        .zip(byte_offsets(text, &offsets))
        .map(|((words, _), near)| {
            let is_unmoved = text.get(near..).is_some_and(|rest| rest.starts_with(words));
            match is_unmoved {
                _ if words.is_empty() => None,
                true => Some(near),
                false => may_search().then(|| nearest(words, near)).flatten(),
            }
        })
        .collect();
    let found: Vec<_> = starts.iter().flatten().copied().collect();
    let mut chars = char_offsets(text, &found).into_iter();
    let range = |(start, (words, _)): (Option<usize>, &(&str, i32))| {
        let start = start.and_then(|_| chars.next())?;
        Some((start, start + words.chars().count()))
    };
    starts.into_iter().zip(highlights).map(range).collect()
}

/// Returns the byte offset of each character offset; the length of the text for offsets behind its end.
fn byte_offsets(text: &str, chars: &[usize]) -> Vec<usize> {
    let mut indices = text.char_indices().map(|(byte, _)| byte).enumerate().peekable();
    map_ascending(chars, |char| {
        while indices.next_if(|(count, _)| *count < char).is_some() {}
        indices.peek().map_or(text.len(), |(_, byte)| *byte)
    })
}

/// Returns the character offset of each byte offset; a character begins at each of them.
fn char_offsets(text: &str, bytes: &[usize]) -> Vec<usize> {
    let (mut at, mut count) = (0, 0);
    map_ascending(bytes, |byte| {
        count += text.get(at..byte).map_or(0, |passed| passed.chars().count());
        at = at.max(byte);
        count
    })
}

/// Maps the values in ascending order, so that one pass over a text serves all; the results are in the order of the values.
fn map_ascending(values: &[usize], mut map: impl FnMut(usize) -> usize) -> Vec<usize> {
    let mut sorted: Vec<_> = values.iter().copied().enumerate().collect();
    sorted.sort_by_key(|(_, value)| *value);
    let mut mapped: Vec<_> = sorted.into_iter().map(|(index, value)| (index, map(value))).collect();
    // By the index, the first part of each pair, which restores the order of the values.
    mapped.sort_unstable();
    mapped.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nearest_of_several_occurrences_is_found() {
        let text = "Reeds, größer reeds, and at last reeds.";
        let range = |words, near| find_text(text, words, near).map(|found| (found.start, found.end));

        assert_eq!(range("reeds", 0), Some((14, 19)));
        assert_eq!(range("reeds", 14), Some((14, 19)));
        assert_eq!(range("reeds", 30), Some((33, 38)));
        assert_eq!(range("reeds", i32::MAX), Some((33, 38)));
        assert_eq!((range("heron", 3), range("", 3)), (None, None));
    }

    #[test]
    fn match_has_the_white_space_of_the_text() {
        let found = find_text("Größer reeds,\nand at last reeds.", "reeds, and  at last", 0);

        assert_eq!(found, Some(TextMatch { start: 7, end: 25, text: "reeds,\nand at last".to_owned() }));
    }

    proptest! {
        #[test]
        fn many_are_found_as_each_one_alone(text in "[aäb ]{0,40}", highlights in prop::collection::vec(("[aäb]{0,2}", -1..50_i32), 0..6)) {
            let highlights: Vec<_> = highlights.iter().map(|(words, near)| (words.as_str(), *near)).collect();
            let chars: Vec<char> = text.chars().collect();
            for (found, (words, near)) in find_all(&text, &highlights).into_iter().zip(&highlights) {
                prop_assert_eq!(&found, &find_text(&text, words, *near));
                let found = found.map(|found| chars[found.start as usize..found.end as usize].iter().collect::<String>());
                let is_contained = !words.is_empty() && text.contains(words);
                prop_assert_eq!(found.as_deref(), is_contained.then_some(*words));
            }
        }
    }
}
