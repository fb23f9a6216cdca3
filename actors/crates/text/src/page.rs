//! Pages of a text, and segments in which a long text is stored, so that a page can be read without loading all of it.
//!
//! Pages that are read in sequence by `next_offset` join to the text, whatever their size, and never split a grapheme cluster.

use super::{byte_of, char_count, cluster_floor, next_bound};

/// A part of a text from a requested offset on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// The text of the page.
    pub text: &'a str,
    /// The requested offset in scalar values, even if it is past the end.
    pub offset: usize,
    /// Offset of the next page, in scalar values; `None` if this page ends the text or is empty.
    pub next_offset: Option<usize>,
    /// Number of scalar values of the whole text.
    pub total_chars: usize,
}

/// Returns the page of at most `max_chars` scalar values from `offset` on.
///
/// If the first cluster alone is longer, the page is that cluster (contract.md, section 11), so that reading in sequence always ends. An
/// offset within a cluster is used as it is; past the end the page is empty.
pub fn page(text: &str, offset: usize, max_chars: usize) -> Page<'_> {
    Window { text, offset: 0, total_chars: char_count(text) }.page(offset, max_chars)
}

/// A part of a text that is stored elsewhere: some of its [`segments`], joined.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The part. It begins and ends between grapheme clusters.
    pub text: &'a str,
    /// Its offset in the whole text, in scalar values; what is before it is not loaded.
    pub offset: usize,
    /// Number of scalar values of the whole text.
    pub total_chars: usize,
}

impl<'a> Window<'a> {
    /// Returns the same page as [`page`] for the whole text. If the window ends before the page would, the page is shorter and has a
    /// `next_offset`. For an offset outside the window it is empty and the last.
    pub fn page(&self, offset: usize, max_chars: usize) -> Page<'a> {
        let from = offset.checked_sub(self.offset).and_then(|skip| byte_of(self.text, skip));
        let text = from.map_or("", |from| page_text(self.text, from, max_chars));
        let end = offset.saturating_add(char_count(text));
        // An empty page has no next one, even within the text: a client that follows `next_offset` would
        // request it again without end.
        let more = !text.is_empty() && end < self.total_chars;
        Page { text, offset, next_offset: more.then_some(end), total_chars: self.total_chars }
    }
}

/// Splits a text into segments of at most `size` scalar values, each with its offset. Clusters are not split: a cluster longer than
/// `size` is one segment. Empty text has no segments.
pub fn segments(text: &str, size: usize) -> impl Iterator<Item = (usize, &str)> {
    let (mut rest, mut offset) = (text, 0);
    std::iter::from_fn(move || {
        let segment = page_text(rest, 0, size);
        // At the end of the text both the segment and the rest are empty, and the last line ends the iteration.
        rest = rest.get(segment.len()..)?;
        let from = offset;
        offset += char_count(segment);
        (!segment.is_empty()).then_some((from, segment))
    })
}

/// Returns the longest part of at most `max_chars` scalar values that begins at the byte offset `from` and ends at a cluster boundary; at
/// least up to the next boundary.
fn page_text(text: &str, from: usize, max_chars: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    let Some(bytes) = byte_of(rest, max_chars) else { return rest };
    // The boundary is searched in the whole text, not in `rest`: `from` may lie within a cluster, and a cluster that
    // is cut off at its start has other boundaries (flags are pairs of letters).
    let end = match cluster_floor(text, from + bytes) {
        end if end > from => end,
        _ => next_bound(text, from),
    };
    text.get(from..end).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    const CLUSTERS: &str = "(👩\u{200d}👩\u{200d}👧|🇳🇱|🇫|e\u{301}\u{301}|क\u{94d}त|\r\n|\r|\n|각|\u{1100}|น้ำ|x| |\u{600}|𝒳){0,30}";

    fn read(text: &str, size: usize) -> Vec<String> {
        let (mut pages, mut offset) = (Vec::new(), 0);
        loop {
            let page = page(text, offset, size);
            assert_eq!(page.offset, offset);
            pages.push(page.text.to_owned());
            match page.next_offset {
                Some(next) => offset = next,
                None => return pages,
            }
        }
    }

    #[test]
    fn cluster_longer_than_a_page_is_returned_whole() {
        assert_eq!(read("👩‍👩‍👧‍👦é👩‍👩‍👧‍👦", 3), ["👩‍👩‍👧‍👦", "é", "👩‍👩‍👧‍👦"]);
    }

    /// Covers the threat table (row J3): a client may send any offset.
    #[test]
    fn offset_within_a_cluster_is_used_unchanged() {
        assert_eq!(page("e\u{301}x", 1, 5).text, "\u{301}x");
    }

    #[test]
    fn page_from_within_a_cluster_ends_at_a_boundary() {
        // A family of seven scalar values, and flags of two each.
        let cut = page("ab👨\u{200d}👩\u{200d}👧\u{200d}👦cd", 3, 3);
        assert_eq!((cut.text, cut.next_offset), ("\u{200d}👩\u{200d}👧\u{200d}👦", Some(9)));
        let flags = page("🇩🇪🇫🇷🇮🇹", 1, 2);
        assert_eq!((flags.text, flags.next_offset), ("🇪", Some(2)));
    }

    #[test]
    fn page_past_the_end_is_empty_and_the_last() {
        for offset in [3, 4, usize::MAX] {
            assert_eq!(page("abc", offset, 9), Page { text: "", offset, next_offset: None, total_chars: 3 });
        }
    }

    #[test]
    fn empty_text_has_an_empty_page_and_no_segment() {
        assert_eq!(page("", 0, 9), Page { text: "", offset: 0, next_offset: None, total_chars: 0 });
        assert_eq!(segments("", 9).count(), 0);
    }

    #[test]
    fn page_of_a_short_window_has_a_next_offset() {
        let window = Window { text: "cdef", offset: 2, total_chars: 9 };
        assert_eq!(window.page(4, 5), Page { text: "ef", offset: 4, next_offset: Some(6), total_chars: 9 });
        assert_eq!(window.page(6, 5).next_offset, None);
        assert_eq!(window.page(1, 5).text, "");
    }

    proptest! {
        #[test]
        fn pages_join_to_the_text_without_split_clusters(text in CLUSTERS, size in 1usize..12) {
            let pages = read(&text, size);
            prop_assert_eq!(pages.concat(), text.clone());
            let clusters: Vec<_> = pages.iter().flat_map(|page| page.graphemes(true)).collect();
            prop_assert_eq!(clusters, text.graphemes(true).collect::<Vec<_>>());
            for page in &pages {
                prop_assert!(char_count(page) <= size || page.graphemes(true).count() == 1);
            }
        }

        /// Covers the threat table (row J3): a client may send any offset.
        #[test]
        fn any_offset_and_size_give_a_page(text in any::<String>(), offset in 0usize..60, size in 1usize..60) {
            let page = page(&text, offset, size);
            prop_assert_eq!(page.next_offset.is_some(), offset + char_count(page.text) < char_count(&text));
        }

        #[test]
        fn segments_join_to_the_text_at_their_offsets(text in CLUSTERS, size in 1usize..12) {
            let parts: Vec<_> = segments(&text, size).collect();
            prop_assert_eq!(parts.iter().map(|(_, part)| *part).collect::<String>(), text.clone());
            let mut offset = 0;
            for (from, part) in parts {
                prop_assert_eq!(from, offset);
                prop_assert!(!part.is_empty());
                offset += char_count(part);
            }
        }

        #[test]
        fn page_of_segments_equals_the_page_of_the_text(text in CLUSTERS, size in 4usize..12, offset in 0usize..60, max_chars in 1usize..9) {
            let total_chars = char_count(&text);
            let parts: Vec<_> = segments(&text, size).collect();
            let needed: Vec<_> = parts
                .iter()
                .filter(|(from, part)| *from <= offset + max_chars && from + char_count(part) > offset)
                .collect();
            let joined: String = needed.iter().map(|(_, part)| *part).collect();
            let window = Window { text: &joined, offset: needed.first().map_or(0, |(from, _)| *from), total_chars };
            let (found, expected) = (window.page(offset, max_chars), page(&text, offset, max_chars));
            prop_assert_eq!(found.text, expected.text);
            prop_assert_eq!(found.next_offset, expected.next_offset);
        }
    }
}
