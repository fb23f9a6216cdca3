//! Finds the sentence of a passage that is nearest to a claim, by the words that they share.

use std::collections::HashSet;
use std::ops::Range;

use text::chunk::sentences;
use text::{char_count, head};
use unicode_segmentation::UnicodeSegmentation;

use super::marker::has_words;

/// Maximum length in scalar values of a quote that the answer did not quote itself.
const MAX_QUOTE_CHARS: usize = 400;

/// Returns the range of the sentence in scalar values of the passage: the first of equals, and an empty range in a passage without
/// words.
pub(super) fn find(passage: &str, claim: &str) -> Range<usize> {
    let claimed = words(claim);
    let mut best: Option<(usize, Range<usize>)> = None;
    for range in sentences(passage) {
        let Some(text) = passage.get(range.clone()).filter(|text| has_words(text)) else { continue };
        let shared = words(text).intersection(&claimed).count();
        if best.as_ref().is_none_or(|(most, _)| shared > *most) {
            best = Some((shared, range));
        }
    }
    let range = best.map_or(0..0, |(_, range)| range);
    let start = char_count(passage.get(..range.start).unwrap_or_default());
    let shown = head(passage.get(range).unwrap_or_default(), MAX_QUOTE_CHARS).trim_end();
    start..start + char_count(shown)
}

fn words(text: &str) -> HashSet<String> {
    // Words of one letter are in almost every sentence.
    text.unicode_words().filter(|word| word.chars().nth(1).is_some()).map(str::to_lowercase).collect()
}
