//! Rows of level words, and tests on them: whether a column is prose, and whether two columns belong to one table.

use super::letters;
use super::words::Word;

/// The maximum distance between base lines of one row, in heights of the text.
const MAX_LEVEL_DISTANCE: f64 = 0.35;
/// The minimum gap between words of different columns, in heights of the text.
const MIN_COLUMN_GAP: f64 = 1.5;

/// Words at the same height, from left to right.
#[derive(Debug)]
pub struct WordRow<'a> {
    /// The base line of the first of them.
    pub y: f64,
    /// Its words, from left to right; at least one.
    pub words: Vec<&'a Word>,
}

impl<'a> WordRow<'a> {
    /// Returns the words from the left edge up to the first wide gap.
    pub fn head(&self, size: f64) -> Vec<&'a Word> {
        until_wide_gap(self.words.iter().copied(), |before, after| after.x0 - before.x1, size)
    }

    /// Returns the words from the last wide gap to the right edge.
    pub fn tail(&self, size: f64) -> Vec<&'a Word> {
        until_wide_gap(self.words.iter().rev().copied(), |before, after| before.x0 - after.x1, size)
    }
}

fn until_wide_gap<'a>(
    words: impl Iterator<Item = &'a Word>,
    gap: impl Fn(&Word, &Word) -> f64,
    size: f64,
) -> Vec<&'a Word> {
    let mut kept: Vec<&Word> = Vec::new();
    for word in words {
        if kept.last().is_some_and(|last| gap(last, word) > MIN_COLUMN_GAP * size) {
            break;
        }
        kept.push(word);
    }
    kept
}

/// Returns the rows of words, from top to bottom.
pub fn rows<'a>(words: impl IntoIterator<Item = &'a Word>, size: f64) -> Vec<WordRow<'a>> {
    let mut words: Vec<&Word> = words.into_iter().collect();
    // By base line, not by upper edge, which depends on the size of the font.
    words.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut rows: Vec<WordRow<'_>> = Vec::new();
    for word in words {
        match rows.last_mut() {
            Some(row) if word.y - row.y < MAX_LEVEL_DISTANCE * size => row.words.push(word),
            Some(_) | None => rows.push(WordRow { y: word.y, words: vec![word] }),
        }
    }
    for row in &mut rows {
        row.words.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    }
    rows
}

/// Returns whether a column is prose: most lines are full, have several words, and are close to each other.
pub fn is_prose<'a>(
    rows: &[WordRow<'a>],
    line: impl Fn(&WordRow<'a>, f64) -> Vec<&'a Word>,
    size: f64,
) -> bool {
    let lines: Vec<Vec<&Word>> = rows.iter().map(|row| line(row, size)).collect();
    let count = lines.len().max(1) as f64;
    let chars = lines.iter().flatten().map(|word| word.chars().count()).sum::<usize>();
    let words = lines.iter().map(Vec::len).sum::<usize>();
    // Prose of scripts without spaces has one word a line.
    let wordy = words as f64 / count >= 2.3 || is_unspaced(&lines);
    chars as f64 / count >= 14.0 && wordy && pitch(rows) < 2.0 * size && are_full(&lines, size)
}

/// Returns whether most lines fill their row: the first word of the next line would not have fit. Cells of a table are shorter.
fn are_full(lines: &[Vec<&Word>], size: f64) -> bool {
    let mut widths: Vec<f64> = lines.iter().map(|line| width(line)).collect();
    widths.sort_by(f64::total_cmp);
    // Nine tenths rather than the maximum: one line that extends into the margin would make all others short.
    let room = widths.get(widths.len() * 9 / 10).copied().unwrap_or_default();
    let pairs = || lines.iter().zip(lines.iter().skip(1));
    let full = pairs().filter(|(line, next)| width(line) + first_width(next) + 0.2 * size > room).count();
    // The last line of a paragraph is short, so not all lines can be full.
    full * 10 >= pairs().count() * 6
}

fn first_width(line: &[&Word]) -> f64 {
    let first = line.iter().min_by(|a, b| a.x0.total_cmp(&b.x0));
    first.map_or(0.0, |word| word.x1 - word.x0)
}

fn width(line: &[&Word]) -> f64 {
    let left = line.iter().map(|word| word.x0).fold(f64::INFINITY, f64::min);
    let right = line.iter().map(|word| word.x1).fold(f64::NEG_INFINITY, f64::max);
    (right - left).max(0.0)
}

fn is_unspaced(lines: &[Vec<&Word>]) -> bool {
    let all = lines.iter().flatten().flat_map(|word| word.chars());
    let (unspaced, other): (Vec<char>, Vec<char>) = all.partition(|c| letters::is_unspaced(*c));
    unspaced.len() > other.len()
}

/// Returns the usual distance between rows.
pub fn pitch(rows: &[WordRow<'_>]) -> f64 {
    let mut steps: Vec<f64> = rows.iter().zip(rows.iter().skip(1)).map(|(a, b)| b.y - a.y).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or_default()
}

/// Returns whether most lines of the shorter column are level with a line of the other.
pub fn are_level(left: &[WordRow<'_>], right: &[WordRow<'_>], size: f64) -> bool {
    let (few, many) = if left.len() < right.len() { (left, right) } else { (right, left) };
    // Much less than the distance within a row: cells of a table are exactly level, lines of columns only by chance.
    let beside = |row: &&WordRow<'_>| many.iter().any(|other| (other.y - row.y).abs() < 0.12 * size);
    few.iter().filter(beside).count() * 2 >= few.len()
}
