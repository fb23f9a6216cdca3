//! Aligns an extraction with the page: finds the blocks of the page that the extraction contains.
//!
//! An extractor returns text without positions. With the positions known, rules can use the elements around the blocks. Both texts are
//! compared by their letters and digits. The time is linear in their length for any content.

use std::collections::HashMap;

use super::blocks::Block;

/// Length of the pieces by which the extraction is indexed, in characters.
const PIECE_CHARS: usize = 10;
/// Shorter blocks count only directly after the block before, because a word such as "Start" occurs anywhere.
const MIN_UNIQUE_CHARS: usize = 20;
/// Minimum share of a block that must be found if the whole block is not.
const MIN_FOUND_SHARE: f64 = 0.6;
/// Maximum number of candidate positions of a block that are compared. In a page of one repeated letter every position is a candidate.
const MAX_TRIES: usize = 4;

/// The blocks of a page that an extraction contains.
pub struct Alignment {
    /// One flag for each block.
    pub kept: Vec<bool>,
    /// The share of the extraction that the flagged blocks cover; about 1 if the extraction is a part of the page.
    pub coverage: f64,
}

/// Aligns the blocks of the page in order with a cursor in the extraction.
pub fn align(page: &[Block], extraction: &[Block]) -> Alignment {
    let text = PieceIndex::new(extraction.iter().map(|block| block.key.as_str()).collect());
    let (mut cursor, mut found) = (0, 0);
    let mut kept = Vec::with_capacity(page.len());
    for block in page {
        // Words of a menu also occur in the text, so a short block of a menu is never taken for a part of it.
        let end = text.find_end(&block.key, cursor, block.regions.menu);
        kept.push(end.is_some());
        // A block that is not found leaves the cursor, so that the next one is still compared in sequence.
        cursor = end.unwrap_or(cursor);
        found += end.map_or(0, |_| block.key.len());
    }
    Alignment { kept, coverage: found as f64 / text.whole.len().max(1) as f64 }
}

/// A text with the positions of its pieces.
struct PieceIndex {
    whole: String,
    pieces: HashMap<String, Vec<usize>>,
}

impl PieceIndex {
    fn new(whole: String) -> Self {
        let mut pieces: HashMap<String, Vec<usize>> = HashMap::new();
        // Only every tenth position is indexed, which keeps the index small; the block is
        // tried at each of its positions instead.
        let starts: Vec<usize> = whole.char_indices().map(|(at, _)| at).step_by(PIECE_CHARS).collect();
        for (from, to) in starts.iter().zip(starts.iter().skip(1)) {
            if let Some(piece) = whole.get(*from..*to) {
                pieces.entry(piece.to_owned()).or_default().push(*from);
            }
        }
        Self { whole, pieces }
    }

    /// Returns the end of `key` in this text, searched from `cursor` on first.
    fn find_end(&self, key: &str, cursor: usize, in_menu: bool) -> Option<usize> {
        let long = key.chars().nth(MIN_UNIQUE_CHARS - 1).is_some();
        if self.starts_at(cursor, key) && (long || !in_menu) {
            return Some(cursor + key.len());
        }
        long.then(|| self.search(key, cursor)).flatten()
    }

    fn starts_at(&self, at: usize, key: &str) -> bool {
        self.whole.get(at..).is_some_and(|rest| rest.starts_with(key))
    }

    fn search(&self, key: &str, cursor: usize) -> Option<usize> {
        let bounds: Vec<usize> = key.char_indices().map(|(at, _)| at).chain([key.len()]).collect();
        let (mut tries, mut hits, mut last, mut next) = (0, 0, None, 0);
        for (index, (from, to)) in bounds.iter().zip(bounds.iter().skip(PIECE_CHARS)).enumerate() {
            if index < next {
                continue;
            }
            let Some(at) = key.get(*from..*to).and_then(|piece| self.find_piece(piece, cursor)) else {
                continue;
            };
            // A piece that is found gives a candidate for the start of the whole block.
            if let Some(begin) = at.checked_sub(*from).filter(|_| tries < MAX_TRIES) {
                tries += 1;
                if self.starts_at(begin, key) {
                    return Some(begin + key.len());
                }
            }
            hits += 1;
            last = Some(at + (to - from));
            // Pieces must not overlap: the share compares their number with the number that fits into the block.
            next = index + PIECE_CHARS;
        }
        last.filter(|_| hits as f64 >= MIN_FOUND_SHARE * (bounds.len() / PIECE_CHARS) as f64)
    }

    /// Returns a position of this piece: the first from the cursor on, or else the first of all.
    fn find_piece(&self, piece: &str, cursor: usize) -> Option<usize> {
        let places = self.pieces.get(piece)?;
        let ahead = places.get(places.partition_point(|place| *place < cursor));
        // An extractor may move a block, such as the lead, so the text before the cursor is searched too.
        ahead.or(places.first()).copied()
    }
}

#[cfg(test)]
mod tests {
    use trafilatura::dom::Document;

    use super::{super::walk, *};

    fn blocks(html: &str) -> Vec<Block> {
        let page = Document::parse(html);
        walk::blocks(&page, page.root())
    }

    const PROSE: &str =
        "<p>The heron stands still in the water for an hour.</p><p>Then it strikes at a fish.</p>";

    #[test]
    fn blocks_of_the_extraction_are_found_among_others() {
        let page = blocks(&format!(
            "<nav>Start</nav><p>Buy cheap watches now, at once.</p>{PROSE}<p>All rights</p>"
        ));

        let aligned = align(&page, &blocks(PROSE));

        assert_eq!(aligned.kept, [false, false, true, true, false]);
        assert!((aligned.coverage - 1.0).abs() < 1e-9);
    }

    #[test]
    fn short_word_counts_only_in_sequence() {
        let page = blocks(&format!("<p>fish</p>{PROSE}<p>End</p><p>fish</p>"));

        let aligned = align(&page, &blocks(&format!("{PROSE}<p>End</p>")));

        assert_eq!(aligned.kept, [false, true, true, true, false]);
    }

    #[test]
    fn block_with_missing_words_is_found() {
        let page = blocks(
            "<p>The heron, <a>Ardea cinerea</a>, stands still in the water for an hour and waits for a fish.</p>",
        );
        let cut = blocks("<p>The heron stands still in the water for an hour and waits for a fish.</p>");

        assert_eq!(align(&page, &cut).kept, [true]);
    }

    #[test]
    fn page_of_one_letter_takes_linear_time() {
        let long = blocks(&format!("<p>{}</p><p>{}b</p>", "a".repeat(300_000), "a".repeat(300_000)));

        let aligned = align(&long, &long);

        assert_eq!(aligned.kept.len(), 2);
    }

    #[test]
    fn empty_texts_align() {
        assert_eq!(align(&blocks(PROSE), &[]).kept, [false, false]);
    }
}
