//! Groups the words of a region into lines: consecutive words in the order of painting, then lines at the same height are joined.

use super::letters;
use super::words::Word;

/// The largest distance of a word from the base line, in heights of the font: indices and limits of formulas.
const MAX_SHIFT: f64 = 0.6;
/// The maximum overlap of a word with the one before it, in heights of the font.
const MAX_BACK_STEP: f64 = 0.4;
/// The largest distance between base lines of one line, in heights of the font.
const MAX_LEVEL_DISTANCE: f64 = 0.3;
/// The largest steps up and down between the lines of a block, in heights of the font.
const MAX_STEP_UP: f64 = 2.5;
const MAX_STEP_DOWN: f64 = 4.0;
/// The minimum number of lines of a table column.
const MIN_COLUMN_LINES: usize = 3;
/// The maximum length of the labels of a figure.
const MAX_LABEL_CHARS: usize = 30;
/// The maximum distance between the labels of a figure, in heights of the font.
const MAX_LABEL_DISTANCE: f64 = 12.0;

/// The words of one line, with their bounds.
#[derive(Clone, Debug)]
pub struct TextLine {
    /// From left to right, except in formulas, whose parts are in the order of painting; at least one.
    pub words: Vec<Word>,
    /// Its left edge, the smallest of its words.
    pub x0: f64,
    /// Its right edge, the largest of its words.
    pub x1: f64,
    /// The base line of its largest word.
    pub y: f64,
    /// The height of its largest word's font.
    pub size: f64,
    /// Whether any of it is written from right to left.
    pub has_rtl: bool,
}

impl TextLine {
    fn new(word: Word) -> Self {
        let has_rtl = is_rtl(&word);
        Self { x0: word.x0, x1: word.x1, y: word.y, size: word.size, has_rtl, words: vec![word] }
    }

    fn push(&mut self, word: Word) {
        self.x0 = self.x0.min(word.x0);
        self.x1 = self.x1.max(word.x1);
        // The largest word decides, so that an index does not move the line.
        if word.size > self.size {
            (self.y, self.size) = (word.y, word.size);
        }
        self.has_rtl |= is_rtl(&word);
        self.words.push(word);
    }

    /// Returns whether the word continues this line, which was painted just before it.
    fn is_continued_by(&self, word: &Word) -> bool {
        let size = self.size.max(word.size);
        if (word.y - self.y).abs() > MAX_SHIFT * size {
            return false;
        }
        let Some(last) = self.words.last() else { return false };
        // Runs of both directions alternate, so words are not painted in one direction.
        let has_rtl = (self.has_rtl || is_rtl(word)) && (word.y - self.y).abs() < MAX_LEVEL_DISTANCE * size;
        // An index may be painted back, above or below the end of the word that it belongs to.
        let small = word.size < 0.85 * self.size && word.x0 > last.x0 - MAX_BACK_STEP * size;
        word.x0 > self.x1 - MAX_BACK_STEP * size || small || has_rtl
    }

    /// Returns whether both lines are parts of one line.
    fn is_level_with(&self, other: &TextLine) -> bool {
        let size = self.size.min(other.size);
        // Lines that overlap sideways are on top of each other, such as the two limits of a sum.
        let beside = self.x1 < other.x0 + 0.2 * size || other.x1 < self.x0 + 0.2 * size;
        beside && (self.y - other.y).abs() < MAX_LEVEL_DISTANCE * size
    }

    /// Returns whether `small` is a subscript or superscript of this line: smaller, slightly shifted, and close to a word.
    fn has_index(&self, small: &TextLine) -> bool {
        // y grows downwards, so a superscript has a negative shift and may be further away than a subscript.
        let shift = small.y - self.y;
        let fits = small.size < 0.85 * self.size && shift > -0.8 * self.size && shift < 0.35 * self.size;
        let beside =
            |word: &Word| small.x0 > word.x1 - 0.1 * self.size || small.x1 < word.x0 + 0.1 * self.size;
        let close = |word: &Word| (small.x0 - word.x1).abs() < 0.3 * self.size;
        fits && self.words.iter().all(beside) && self.words.iter().any(close)
    }

    /// Returns whether `mark` is a footnote mark at one of its words.
    fn has_mark(&self, mark: &TextLine) -> bool {
        let short = matches!(mark.words.as_slice(), [word] if word.chars().count() <= 2);
        short
            && mark.words.iter().flat_map(Word::chars).all(|c| c.is_numeric() || c == '*')
            && self.has_index(mark)
    }

    fn join(&mut self, other: TextLine) {
        for word in other.words {
            self.push(word);
        }
        self.words.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    }
}

fn is_rtl(word: &Word) -> bool {
    word.chars().any(letters::is_right_to_left)
}

/// Returns the lines of words, which are in the order of painting, from top to bottom.
pub fn lines(words: Vec<Word>) -> Vec<TextLine> {
    let mut lines: Vec<TextLine> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.is_continued_by(&word) => line.push(word),
            Some(_) | None => lines.push(TextLine::new(word)),
        }
    }
    let mut blocks = blocks(lines);
    // Blocks are sorted, not lines: the order of painting holds within a block.
    blocks.sort_by(|a, b| a.top.total_cmp(&b.top));
    groups(blocks).into_iter().flat_map(BlockGroup::lines).collect()
}

/// Lines that were painted in sequence, one below the other. Their order is kept, because the parts of a formula are above and below each
/// other and painted in reading order.
struct LineBlock {
    lines: Vec<TextLine>,
    /// Its number in the order of painting.
    painted: usize,
    top: f64,
    bottom: f64,
}

fn blocks(lines: Vec<TextLine>) -> Vec<LineBlock> {
    let mut blocks: Vec<LineBlock> = Vec::new();
    for line in lines {
        let (y, size, painted) = (line.y, line.size, blocks.len());
        match blocks.last_mut() {
            Some(block) if block.is_continued_by(&line) => {
                block.top = block.top.min(y);
                block.bottom = block.bottom.max(y);
                block.lines.push(line);
            }
            Some(_) | None => blocks.push(LineBlock {
                lines: vec![line],
                painted,
                top: y,
                bottom: y + MAX_LEVEL_DISTANCE * size,
            }),
        }
    }
    with_labels(blocks)
}

/// Joins blocks of figure labels, which are painted in any direction. Their order is kept.
fn with_labels(blocks: Vec<LineBlock>) -> Vec<LineBlock> {
    let mut kept: Vec<LineBlock> = Vec::new();
    for block in blocks {
        match kept.last_mut() {
            Some(before) if block.is_label_near(before) => {
                before.top = before.top.min(block.top);
                before.bottom = before.bottom.max(block.bottom);
                before.lines.extend(block.lines);
            }
            Some(_) | None => kept.push(block),
        }
    }
    kept
}

impl LineBlock {
    fn is_label_near(&self, before: &LineBlock) -> bool {
        let words = self.lines.iter().flat_map(|line| &line.words);
        let apart = (self.top - before.bottom).max(before.top - self.bottom);
        let size = self.lines.iter().map(|line| line.size).fold(0.0, f64::max);
        self.lines.len() < MIN_COLUMN_LINES
            && words.map(|word| word.glyphs.len()).sum::<usize>() <= MAX_LABEL_CHARS
            && apart < MAX_LABEL_DISTANCE * size
    }

    fn is_continued_by(&self, line: &TextLine) -> bool {
        let Some(last) = self.lines.last() else { return false };
        let step = (line.y - last.y) / last.size.max(line.size);
        (-MAX_STEP_UP..MAX_STEP_DOWN).contains(&step) && line.y > self.bottom - MAX_STEP_UP * line.size
    }

    /// Returns whether it may be a column of a table: lines of one size, each below the one before it.
    fn is_column(&self) -> bool {
        let pairs = || self.lines.iter().zip(self.lines.iter().skip(1));
        let alike =
            |(a, b): (&TextLine, &TextLine)| a.size.max(b.size) < 1.2 * a.size.min(b.size) && b.y > a.y;
        self.lines.len() >= MIN_COLUMN_LINES && pairs().all(alike)
    }
}

/// Blocks that overlap in height, so that they stand next to each other.
struct BlockGroup {
    blocks: Vec<LineBlock>,
    bottom: f64,
}

fn groups(blocks: Vec<LineBlock>) -> Vec<BlockGroup> {
    let mut groups: Vec<BlockGroup> = Vec::new();
    for block in blocks {
        match groups.last_mut() {
            Some(group) if block.top < group.bottom => {
                group.bottom = group.bottom.max(block.bottom);
                group.blocks.push(block);
            }
            Some(_) | None => groups.push(BlockGroup { bottom: block.bottom, blocks: vec![block] }),
        }
    }
    groups
}

impl BlockGroup {
    /// Returns its lines: from top to bottom if the lines of the blocks are level, as in a table; otherwise in the order of painting.
    fn lines(mut self) -> Vec<TextLine> {
        if self.is_table() {
            return sorted(self.blocks.into_iter().flat_map(|block| block.lines).collect());
        }
        // Blocks that overlap in height and are not a table are a formula or a figure, whose parts
        // are painted in reading order.
        self.blocks.sort_by_key(|block| block.painted);
        // Footnote marks are often painted last, far from their word, so they alone are moved.
        join(self.blocks.into_iter().flat_map(|block| block.lines), TextLine::has_mark)
    }

    /// Returns whether the blocks are columns of cells, or words painted in no order; pieces of formulas are neither.
    fn is_table(&self) -> bool {
        // Words painted in no order are blocks of one line each; a table painted by columns has blocks of several.
        let pieces = self.blocks.iter().all(|block| block.lines.len() == 1);
        let cells = |block: &&LineBlock| pieces || block.is_column();
        let all = || {
            self.blocks
                .iter()
                .filter(cells)
                .flat_map(|block| block.lines.iter().map(|line| (block.painted, line)))
        };
        let level = |(of, line): &(usize, &TextLine)| {
            all().any(|(other, beside)| other != *of && line.is_level_with(beside))
        };
        let lines: usize = self.blocks.iter().map(|block| block.lines.len()).sum();
        self.blocks.len() > 1 && all().filter(level).count() * 2 >= lines
    }
}

/// Sorts lines from top to bottom.
fn sorted(mut lines: Vec<TextLine>) -> Vec<TextLine> {
    // The sort is stable: level lines stay in the order of painting.
    lines.sort_by(|a, b| a.y.total_cmp(&b.y));
    join(lines.into_iter(), |a, b| a.is_level_with(b) || a.has_index(b) || b.has_index(a))
}

/// The number of preceding lines in which the other half of a line is searched.
const MAX_LINES_BACK: usize = 6;

fn join(
    lines: impl Iterator<Item = TextLine>,
    belong: impl Fn(&TextLine, &TextLine) -> bool,
) -> Vec<TextLine> {
    let mut joined: Vec<TextLine> = Vec::new();
    for line in lines {
        // The other half of a line is near in the sorted order. A search through all lines takes quadratic time.
        let near = joined.len().saturating_sub(MAX_LINES_BACK);
        match joined.iter_mut().skip(near).rev().find(|other| belong(other, &line)) {
            Some(other) => other.join(line),
            None => joined.push(line),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::super::words::{self, tests::painted};
    use super::*;

    fn texts(words: Vec<Word>) -> Vec<String> {
        let text = |line: &TextLine| {
            let words: Vec<String> = line.words.iter().map(|word| word.chars().collect()).collect();
            words.join(" ")
        };
        lines(words).iter().map(text).collect()
    }

    fn words(text: &str, x: f64, y: f64, size: f64) -> Vec<Word> {
        words::words(painted(text, x, y, size))
    }

    #[test]
    fn lines_are_sorted_from_top_to_bottom() {
        let (first, second) = (
            "the first line is quite a bit longer than a label",
            "and so is the second one, which stands below it",
        );
        let page = [words(second, 0.0, 50.0, 10.0), words(first, 0.0, 5.0, 10.0)].concat();

        assert_eq!(texts(page), [first, second]);
    }

    #[test]
    fn cells_painted_by_column_are_in_their_rows() {
        let page = [
            words("a", 0.0, 0.0, 10.0),
            words("c", 0.0, 15.0, 10.0),
            words("e", 0.0, 30.0, 10.0),
            words("b", 50.0, 0.0, 10.0),
            words("d", 50.0, 15.0, 10.0),
            words("f", 50.0, 30.0, 10.0),
        ];

        assert_eq!(texts(page.concat()), ["a b", "c d", "e f"]);
    }

    #[test]
    fn footnote_mark_painted_later_joins_its_word() {
        let page = [
            words("word next", 0.0, 0.0, 10.0),
            words("below it all", 0.0, 12.0, 10.0),
            words("1", 20.0, -4.0, 5.0),
        ];

        assert_eq!(texts(page.concat()), ["word 1 next", "below it all"]);
    }
}
