//! Determines the reading order of a page by dividing it at the gutters between its columns.
//!
//! A gutter is a strip that is empty next to many lines, independent of the order of painting. It ends at text that crosses it, such as a
//! title or the caption of a wide figure. Cells of a table also have empty strips between them, but are read by rows. Columns differ from
//! cells: they are filled with prose, their lines are at different heights, or they are painted in sequence.

use std::collections::BTreeMap;

use super::rows::{self, WordRow};
use super::words::Word;

/// The minimum width of a gutter, in heights of the text.
const MIN_GUTTER_WIDTH: f64 = 0.75;
/// The minimum number of lines of a column.
const MIN_LINES: usize = 3;
/// The minimum number of lines of columns that are recognised by the order of painting alone.
const MIN_PAINTED_LINES: usize = 6;
/// From this number of lines on, aligned wide gaps between words are not accidental.
const MIN_ALIGNED_LINES: usize = 10;
/// The minimum width of a gutter next to most lines, in heights of the text: lines may extend slightly beyond its edge.
const MIN_LINE_GAP: f64 = 0.65;
/// The minimum width of a gutter, as a multiple of a gap between words.
const MIN_GAP_RATIO: f64 = 1.2;
/// The largest distance between lines of prose, in heights of the text; rows of a table are further apart.
const MAX_LINE_PITCH: f64 = 1.5;
/// The minimum height of a blank band that separates columns from what is above them, in heights of the text.
const MIN_BAND_HEIGHT: f64 = 1.5;
/// Bounds the time for a page: one with more words is read in the order of painting.
const MAX_WORDS: usize = 6000;
/// The maximum number of strips that are tried as gutters.
const MAX_STRIPS: usize = 16;
/// The maximum number of nested cuts of a page.
const MAX_CUTS: usize = 40;

/// Returns the words of each region of a page in reading order. Words keep their order within a region.
pub fn regions(words: Vec<Word>, right_to_left: bool) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    divide(words, right_to_left, MAX_CUTS, &mut found);
    found
}

fn divide(words: Vec<Word>, right_to_left: bool, cuts: usize, found: &mut Vec<Vec<Word>>) {
    // The bound ends the recursion. Text beyond it is read in the order of painting, so no word is lost.
    let gutter = if cuts == 0 { None } else { gutter(&words) };
    let Some(gutter) = gutter else {
        found.extend(Some(words).filter(|words| !words.is_empty()));
        return;
    };
    let [mut above, mut left, mut right, mut below] = [const { Vec::new() }; 4];
    for word in words {
        let part = match word.middle() {
            y if y < gutter.top => &mut above,
            y if y > gutter.bottom => &mut below,
            // By the left edge: a word of the left column may extend slightly beyond the gutter, none begins in it.
            _ if word.x0 < gutter.x => &mut left,
            _ => &mut right,
        };
        part.push(word);
    }
    let (first, second) = if right_to_left { (right, left) } else { (left, right) };
    // Each part may consist of further columns: a page of three columns, or a box within a column.
    for part in [above, first, second, below] {
        divide(part, right_to_left, cuts - 1, found);
    }
}

/// A detected gutter. Words that begin left of `x` are in the left column.
#[derive(Clone, Copy, Debug)]
struct Gutter {
    x: f64,
    top: f64,
    bottom: f64,
}

/// Returns the gutter with the most lines next to it.
fn gutter(words: &[Word]) -> Option<Gutter> {
    // Columns of fewer lines are not recognised, so a page of fewer words cannot have any.
    if words.len() > MAX_WORDS || words.len() < 2 * MIN_LINES {
        return None;
    }
    let size = usual_size(words);
    let mut best: Option<(usize, Gutter)> = None;
    for strip in strips(words, size) {
        for (top, bottom) in empty_ranges(words, strip, size) {
            let Some((lines, gutter)) = gutter_in(words, strip, top, bottom, size) else { continue };
            if best.is_none_or(|(most, _)| lines > most) {
                best = Some((lines, gutter));
            }
        }
    }
    best.map(|(_, gutter)| gutter)
}

/// Returns the font height of most of the text.
pub fn usual_size(words: &[Word]) -> f64 {
    let mut sizes: Vec<f64> = words.iter().map(|word| word.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(1.0).max(0.01)
}

/// Returns strips (left and right border) at the edges at which many words next to a gap begin or end.
fn strips(words: &[Word], size: f64) -> Vec<(f64, f64)> {
    let mut edges: BTreeMap<(i64, bool), (usize, f64)> = BTreeMap::new();
    // Edges within half a height of the text count as one; the strip is at their mean.
    let mut note = |x: f64, begins: bool| {
        let (count, sum) = edges.entry(((x / size * 2.0).round() as i64, begins)).or_default();
        *count += 1;
        *sum += x;
    };
    for row in rows::rows(words, size) {
        for (before, after) in row.words.iter().zip(row.words.iter().skip(1)) {
            if after.x0 - before.x1 >= MIN_GUTTER_WIDTH * size {
                note(after.x0, true);
                note(before.x1, false);
            }
        }
    }
    let mut edges: Vec<_> = edges.into_iter().filter(|(_, (count, _))| *count >= MIN_LINES).collect();
    edges.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    // The strip is only as wide as the narrowest gutter: beyond its edge the lines of the other column may be ragged.
    let width = MIN_GUTTER_WIDTH * size;
    let strip = |((_, begins), (count, sum)): ((i64, bool), (usize, f64))| {
        let x = sum / count as f64;
        if begins { (x - width, x) } else { (x, x + width) }
    };
    edges.into_iter().take(MAX_STRIPS).map(strip).collect()
}

/// Returns the vertical ranges in which the strip is empty.
fn empty_ranges(words: &[Word], (left, right): (f64, f64), size: f64) -> Vec<(f64, f64)> {
    // Edges are averages, so some words extend slightly into the strip.
    let slack = size * 0.25;
    let in_strip = |word: &&Word| word.x0 < right - slack && word.x1 > left + slack;
    let mut blocks: Vec<(f64, f64)> =
        words.iter().filter(in_strip).map(|word| (word.top, word.bottom)).collect();
    blocks.sort_by(|a, b| a.0.total_cmp(&b.0));
    // A block beyond the page closes the last range.
    blocks.push((f64::INFINITY, f64::INFINITY));
    let (mut empty_ranges, mut from) = (Vec::new(), f64::NEG_INFINITY);
    for (top, bottom) in blocks {
        if top - from > MIN_LINES as f64 * size {
            empty_ranges.push((from, top));
        }
        from = from.max(bottom);
    }
    empty_ranges
}

/// Returns the gutter in this range of a strip with the number of lines next to it; `None` if it does not separate columns.
fn gutter_in(words: &[Word], strip: (f64, f64), top: f64, bottom: f64, size: f64) -> Option<(usize, Gutter)> {
    let x = f64::midpoint(strip.0, strip.1);
    // Words are assigned to a range by their middle, as in `divide`, so that both agree on the words at its ends.
    let beside: Vec<&Word> = words.iter().filter(|word| (top..=bottom).contains(&word.middle())).collect();
    let (top, bottom) = columns_extent(beside, x, size)?;
    let within = |word: &&Word| (top..=bottom).contains(&word.middle());
    let painted = painted_apart(words.iter().filter(within).map(|word| word.x0 < x));
    let gaps = gaps(&rows::rows(words.iter().filter(within), size), x);
    let (left, right): (Vec<&Word>, Vec<&Word>) = words.iter().filter(within).partition(|word| word.x0 < x);
    let (left, right) = (rows::rows(left, size), rows::rows(right, size));
    let lines = left.len().min(right.len());
    let prose = rows::is_prose(&left, WordRow::tail, size) && rows::is_prose(&right, WordRow::head, size);
    let apart = !rows::are_level(&left, &right, size);
    let close = rows::pitch(&left).max(rows::pitch(&right)) < MAX_LINE_PITCH * size;
    // Each alternative alone is enough: filled prose with a clear gutter, lines at different heights, or painting in
    // sequence of lines too close for a table.
    let columns = prose && are_wide(&gaps, size) && (exceed_word_gaps(&gaps) || lines >= MIN_ALIGNED_LINES)
        || apart
        || (painted && close && lines >= MIN_PAINTED_LINES);
    (lines >= MIN_LINES && columns).then_some((lines, Gutter { x, top, bottom }))
}

/// The gap of a line at a gutter, and the widest other gap of the line.
struct LineGap {
    here: f64,
    other: Option<f64>,
}

/// Returns the gaps of the lines with words on both sides of `x`.
fn gaps(rows: &[WordRow<'_>], x: f64) -> Vec<LineGap> {
    let gap = |row: &WordRow<'_>| {
        let gaps = row.words.iter().zip(row.words.iter().skip(1));
        let gaps = gaps.map(|(before, after)| (before.x0 < x && after.x0 >= x, after.x0 - before.x1));
        let (here, others): (Vec<_>, Vec<_>) = gaps.partition(|(here, _)| *here);
        let other = others.into_iter().map(|(_, gap)| gap).max_by(f64::total_cmp);
        here.first().map(|(_, here)| LineGap { here: *here, other })
    };
    rows.iter().filter_map(gap).collect()
}

/// Returns whether most gaps are as wide as a gutter. A strip found by a few wide gaps may continue between words of
/// equal width, as in code.
fn are_wide(gaps: &[LineGap], size: f64) -> bool {
    gaps.iter().filter(|gap| gap.here > MIN_LINE_GAP * size).count() * 10 >= gaps.len() * 6
}

/// Returns whether most gaps are wider than any other gap of their line. In justified text the gaps between words are wide too, and may be
/// aligned in a few lines.
fn exceed_word_gaps(gaps: &[LineGap]) -> bool {
    let compared = || gaps.iter().filter_map(|gap| gap.other.map(|other| gap.here > MIN_GAP_RATIO * other));
    // Lines of one word on each side have no other gap and say nothing.
    compared().filter(|wider| *wider).count() * 10 >= compared().count() * 6
}

/// Returns whether all words of one column were painted before all words of the other. The items are true for words of the left one.
fn painted_apart(mut left: impl Iterator<Item = bool>) -> bool {
    let Some(first) = left.next() else { return false };
    let mut rest = left.skip_while(|word| *word == first);
    rest.all(|word| word != first)
}

/// Excludes text that is separated from the columns by a blank band and too short for columns, such as running heads and page numbers.
fn columns_extent(mut beside: Vec<&Word>, x: f64, size: f64) -> Option<(f64, f64)> {
    beside.sort_by(|a, b| a.top.total_cmp(&b.top));
    let mut parts: Vec<Vec<&Word>> = Vec::new();
    let mut reached = f64::NEG_INFINITY;
    for word in beside {
        if word.top - reached > MIN_BAND_HEIGHT * size {
            parts.push(Vec::new());
        }
        reached = reached.max(word.bottom);
        if let Some(part) = parts.last_mut() {
            part.push(word);
        }
    }
    let is_more = |part: &Vec<&Word>| {
        let (left, right): (Vec<&Word>, Vec<&Word>) = part.iter().partition(|word| word.x0 < x);
        rows::rows(left, size).len().max(rows::rows(right, size).len()) > 1
    };
    let first = parts.iter().position(is_more)?;
    let last = parts.iter().rposition(is_more)?;
    // Bands between the first and the last are kept even if they are short: a column may have a lone line.
    let kept = parts.get(first..=last)?.iter().flatten();
    let top = kept.clone().map(|word| word.middle()).fold(f64::INFINITY, f64::min);
    let bottom = kept.map(|word| word.middle()).fold(f64::NEG_INFINITY, f64::max);
    Some((top, bottom))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::words::{self, tests::painted};
    use super::*;

    fn line(text: &str, x: f64, y: f64) -> Vec<Word> {
        words::words(painted(text, x, y, 10.0))
    }

    fn first_words(regions: &[Vec<Word>]) -> Vec<String> {
        regions.iter().filter_map(|region| region.first()).map(|word| word.chars().collect()).collect()
    }

    const LEFT_COLUMN: [&str; 5] = [
        "left the quick brown fox jumps",
        "over the lazy dog and sleeps",
        "until the morning comes round",
        "then it goes on its way again",
        "over hills and far away now",
    ];
    const RIGHT_COLUMN: [&str; 5] = [
        "right another story is told here",
        "of a cat that sat on some mats",
        "and did not mind what the fox",
        "was doing all the day until it",
        "came by for a cup of warm tea",
    ];

    fn row_painted(shift: f64) -> Vec<Word> {
        let row = |(n, (left, right)): (usize, (&&str, &&str))| {
            let y = 100.0 + n as f64 * 12.0;
            [line(left, 0.0, y), line(right, 180.0, y + shift)].concat()
        };
        LEFT_COLUMN.iter().zip(RIGHT_COLUMN.iter()).enumerate().flat_map(row).collect()
    }

    #[test]
    fn columns_painted_row_by_row_are_read_in_sequence() {
        let found = regions(row_painted(0.0), false);

        assert_eq!(first_words(&found), ["left", "right"]);
    }

    #[test]
    fn gaps_of_justified_lines_are_not_a_gutter() {
        // Words of a line stand as far apart as it takes to fill it; below one another by chance.
        let row = |(n, words): (usize, &[&str; 6])| -> Vec<Word> {
            let y = 100.0 + n as f64 * 12.0;
            let places = [0.0, 70.0, 140.0, 210.0, 280.0, 350.0];
            words.iter().zip(places).flat_map(|(word, x)| line(word, x, y)).collect()
        };
        let lines = [
            ["provide", "evidence", "that", "this", "pathway", "operates"],
            ["and", "drugs", "reach", "cystic", "fibrosis", "cells"],
            ["study", "presents", "a", "single", "treated", "patients"],
            ["whose", "lungs", "were", "seen", "again", "yearly"],
        ];
        let page: Vec<Word> = lines.iter().enumerate().flat_map(row).collect();

        assert_eq!(regions(page, false).len(), 1);
    }

    #[test]
    fn few_wide_gaps_of_a_listing_are_not_a_gutter() {
        // Letters of one width: words begin below one another, most behind a single space.
        let row = |n: usize| {
            let y = 100.0 + n as f64 * 12.0;
            let left = if n.is_multiple_of(4) { "the first word of a li" } else { "the first words of one" };
            let at = if n.is_multiple_of(4) { 120.0 } else { 115.0 };
            [line(left, 0.0, y), line("and what goes on be", at, y)].concat()
        };
        let listing: Vec<Word> = (0..12).flat_map(row).collect();

        assert_eq!(regions(listing, false).len(), 1);
    }

    #[test]
    fn rtl_columns_begin_at_the_right() {
        let found = regions(row_painted(0.0), true);

        assert_eq!(first_words(&found), ["right", "left"]);
    }

    #[test]
    fn text_across_the_gutter_ends_the_columns() {
        let mut page = line("title that goes over the whole width of both of the columns", 10.0, 60.0);
        page.extend(row_painted(3.0));
        page.extend(line("footer that goes over the whole width of both of the columns", 10.0, 300.0));

        assert_eq!(first_words(&regions(page, false)), ["title", "left", "right", "footer"]);
    }

    #[test]
    fn table_is_read_by_rows() {
        let cells = [
            ["name", "Ada", "Grace"],
            ["born", "1815", "1906"],
            ["died", "1852", "1992"],
            ["work", "notes", "compiler"],
        ];
        let row = |(n, row): (usize, &[&str; 3])| -> Vec<Word> {
            let y = n as f64 * 14.0;
            row.iter().zip([0.0, 90.0, 200.0]).flat_map(|(cell, x)| line(cell, x, y)).collect()
        };
        let table: Vec<Word> = cells.iter().enumerate().flat_map(row).collect();

        assert_eq!(regions(table, false).len(), 1);
    }

    proptest! {
        #[test]
        fn no_word_is_lost(placed in prop::collection::vec(("[a-z]{1,9}", 0.0..400.0f64, 0.0..400.0f64, 4.0..30.0f64), 0..60), turned in any::<bool>()) {
            let words: Vec<Word> = placed.iter().flat_map(|(text, x, y, size)| words::words(painted(text, *x, *y, *size))).collect();
            let mut expected: Vec<String> = words.iter().map(|word| word.chars().collect()).collect();

            let mut found: Vec<String> = regions(words, turned).iter().flatten().map(|word| word.chars().collect()).collect();

            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
