//! # Plain text
//!
//! Functions on strings: normalise text that enters the library, detect its language, count it, cut it, page it, and split
//! it into the passages that are indexed, cited and shown.
//!
//! | To | Call |
//! |---|---|
//! | normalise text that a user wrote (NFC only) | [`normalize_input`] |
//! | normalise extracted text (NFC, one kind of line ending, no control characters) | [`clean()`] |
//! | reduce a name to one visible line | [`one_line`] |
//! | replace control characters | [`without_controls`] |
//! | find characters that can make a name look like another | [`is_deceptive`], [`is_control_or_bidi`], [`is_joiner`] |
//! | detect the language (ISO 639-1) | [`language()`] |
//! | count | [`char_count`], [`word_count`], [`chunk::estimate`] (tokens) |
//! | cut or slice | [`cut`], [`head`], [`slice_chars`] |
//! | return a page of a long text, or store it in segments | [`page()`], [`segments`], [`Window`] |
//! | find boundaries of words and grapheme clusters | [`word_bounds`], [`is_cluster_bound`] |
//! | split into passages or sentences | [`chunk::split`], [`chunk::split_pages`], [`chunk::sentences`] |
//! | decode bytes whose encoding is declared in a header, in the text, or nowhere | [`charset::decode`], [`charset::decode_file`] |
//!
//! Offsets and lengths are Unicode scalar values (contract.md, section 1) unless a name says bytes. Text is cut between
//! grapheme clusters only; ranges that the caller gives ([`slice_chars`], the offset of [`page()`]) are taken as given. Every
//! function accepts any string, runs in time linear in its length, and returns the same result for the same input.
//!
//! This crate performs no I/O, keeps no state, writes no log, and depends on no other crate of Carrel.

pub mod charset;
pub mod chunk;
mod clean;
mod language;
mod page;

pub use clean::{
    clean, is_control_or_bidi, is_deceptive, is_joiner, normalize_input, one_line, without_controls,
};
pub use language::language;
pub use page::{Page, Window, page, segments};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// Returns the number of scalar values of a text.
pub fn char_count(text: &str) -> usize {
    text.chars().count()
}

/// Returns the number of words of a text, by the word boundaries of UAX #29. In scripts without spaces each
/// character counts as a word.
pub fn word_count(text: &str) -> usize {
    text.unicode_words().count()
}

/// Returns the text from scalar value `start` up to `end`; `None` unless `start <= end <= char_count(text)`.
pub fn slice_chars(text: &str, start: usize, end: usize) -> Option<&str> {
    let rest = text.get(byte_of(text, start)?..)?;
    rest.get(..byte_of(rest, end.checked_sub(start)?)?)
}

/// Returns the longest prefix of `text` of at most `max_chars` scalar values that does not split a grapheme cluster. Empty if the
/// first cluster alone is longer.
pub fn cut(text: &str, max_chars: usize) -> String {
    head(text, max_chars).to_owned()
}

/// Returns the same prefix as [`cut`], borrowed.
pub fn head(text: &str, max_chars: usize) -> &str {
    let bytes = byte_of(text, max_chars).unwrap_or(text.len());
    text.get(..cluster_floor(text, bytes)).unwrap_or_default()
}

/// Returns the word boundaries of UAX #29 that do not lie within a grapheme cluster: ascending byte offsets, without 0, with
/// the length of the text.
pub fn word_bounds(text: &str) -> impl Iterator<Item = usize> {
    // The two rules differ for some scripts (Thai vowels, prepended marks): a word may end within a cluster.
    // Both are iterated in parallel, because a test of a single offset may look back without limit.
    let mut clusters = text.grapheme_indices(true).map(|(at, cluster)| at + cluster.len()).peekable();
    text.split_word_bound_indices().map(|(at, word)| at + word.len()).filter(move |end| {
        while clusters.next_if(|cluster| cluster < end).is_some() {}
        clusters.peek() == Some(end)
    })
}

/// Returns whether the byte offset `at` lies between two grapheme clusters, or at the start or end of the text.
pub fn is_cluster_bound(text: &str, at: usize) -> bool {
    text.is_char_boundary(at)
        && GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// Returns the byte offset of the scalar value `index`; the length of the text if `index` is their number, `None` if it is greater.
fn byte_of(text: &str, index: usize) -> Option<usize> {
    let Some(last) = index.checked_sub(1) else { return Some(0) };
    let mut chars = text.chars();
    // The iterator skips whole blocks of bytes: about 10 GB/s.
    chars.nth(last)?;
    Some(text.len() - chars.as_str().len())
}

/// Returns the last cluster boundary at or before the byte offset `at`, which must be a character boundary.
fn cluster_floor(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    // `prev_boundary` returns a boundary before `at` even if `at` is one itself.
    if is_cluster_bound(text, at) {
        return at;
    }
    // The cursor fails only if it is given a part of the text. It has all of it, so the fallback is never taken.
    GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// Returns the first cluster boundary after the byte offset `at`, which must be a character boundary.
fn next_bound(text: &str, at: usize) -> usize {
    GraphemeCursor::new(at, text.len(), true).next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_counted_by_word_boundaries() {
        assert_eq!(word_count("Seven words stand in this little text."), 7);
        assert_eq!(word_count("It's 3.14, isn't it?"), 4);
        assert_eq!(word_count(" \n…!"), 0);
    }

    #[test]
    fn slices_outside_the_text_are_none() {
        assert_eq!(slice_chars("äöü", 1, 3), Some("öü"));
        assert_eq!(slice_chars("äöü", 3, 3), Some(""));
        assert_eq!(slice_chars("äöü", 1, 4), None);
        assert_eq!(slice_chars("äöü", 4, 4), None);
        assert_eq!(slice_chars("äöü", 2, 1), None);
    }

    #[test]
    fn cut_does_not_split_clusters() {
        assert_eq!(cut("ab👩‍👩‍👧‍👦", 8), "ab");
        assert_eq!(cut("ab👩‍👩‍👧‍👦", 9), "ab👩‍👩‍👧‍👦");
        assert_eq!(cut("👩‍👩‍👧‍👦", 3), "");
        assert_eq!(cut("🇳🇱🇫🇷", 3), "🇳🇱");
    }

    #[test]
    fn thai_words_end_between_clusters() {
        let text = "น้ำใจ";
        assert!(word_bounds(text).all(|at| is_cluster_bound(text, at)));
        assert_eq!(word_bounds(text).last(), Some(text.len()));
    }

    proptest! {
        #[test]
        fn slice_has_the_requested_scalar_values(text in "\\PC{0,40}", start in 0usize..45, length in 0usize..45) {
            let expected = (start + length <= char_count(&text))
                .then(|| text.chars().skip(start).take(length).collect::<String>());
            prop_assert_eq!(slice_chars(&text, start, start + length).map(str::to_owned), expected);
        }

        #[test]
        fn cut_is_the_longest_prefix_of_whole_clusters(text in "[a\u{301}\u{200d}👩🇳क\u{94d}\r\n]{0,40}", max_chars in 0usize..45) {
            let mut expected = String::new();
            for cluster in text.graphemes(true) {
                if char_count(&expected) + char_count(cluster) > max_chars {
                    break;
                }
                expected.push_str(cluster);
            }
            prop_assert_eq!(cut(&text, max_chars), expected);
        }

        #[test]
        fn word_bounds_do_not_split_clusters(text in any::<String>()) {
            let clusters: Vec<_> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            prop_assert!(word_bounds(&text).all(|at| clusters.contains(&at)));
        }
    }
}
