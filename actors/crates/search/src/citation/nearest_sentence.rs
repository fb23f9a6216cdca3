//! The sentence of a passage that is nearest to a claim, by the words that they share.

use std::collections::HashSet;
use std::ops::Range;

use text::chunk::sentences;
use text::{char_count, head};
use unicode_segmentation::UnicodeSegmentation;

/// A quote that nobody asked for is no longer, in scalar values.
const MOST: usize = 400;

/// Where it stands, in scalar values; the first of equals, nothing of a passage that is blank.
pub(super) fn sentence(passage: &str, claim: &str) -> Range<usize> {
    let said = words(claim);
    let mut best: Option<(usize, Range<usize>)> = None;
    for range in sentences(passage) {
        let Some(text) = passage.get(range.clone()) else { continue };
        let shared = words(text).intersection(&said).count();
        if best.as_ref().is_none_or(|(most, _)| shared > *most) {
            best = Some((shared, range));
        }
    }
    let range = best.map_or(0..0, |(_, range)| range);
    let start = char_count(passage.get(..range.start).unwrap_or_default());
    let shown = head(passage.get(range).unwrap_or_default(), MOST).trim_end();
    start..start + char_count(shown)
}

fn words(text: &str) -> HashSet<String> {
    text.unicode_words().filter(|word| word.chars().nth(1).is_some()).map(str::to_lowercase).collect()
}
