//! Groups glyphs into words: glyphs painted in sequence without a gap.

use super::glyphs::Glyph;
use super::letters;

/// The minimum width of a space, in heights of the font.
const MIN_SPACE_WIDTH: f64 = 0.15;
/// The maximum vertical shift of a glyph within a word, in heights of the font; subscripts of formulas are shifted less.
const MAX_SHIFT: f64 = 0.6;
/// The maximum overlap of letters, in heights of the font.
const MAX_OVERLAP: f64 = 0.3;
/// The minimum number of glyphs for the detection of letter spacing.
const MIN_SPACED_GLYPHS: usize = 6;
/// Height above the base line, in heights of the font.
const ASCENT: f64 = 0.75;
/// Depth below the base line, in heights of the font.
const DESCENT: f64 = 0.22;

/// A word with its bounding box.
#[derive(Clone, Debug)]
pub struct Word {
    /// In the order of painting; at least one.
    pub glyphs: Vec<Glyph>,
    /// Its left edge, in units of the page.
    pub x0: f64,
    /// Its right edge, in units of the page.
    pub x1: f64,
    /// The base line of its largest glyph.
    pub y: f64,
    /// The height of its largest glyph's font.
    pub size: f64,
    /// Upper edge, estimated from the font height; y grows downwards, so it is less than `bottom`.
    pub top: f64,
    /// Lower edge, estimated from the font height like the upper one.
    pub bottom: f64,
    /// Whether a space was painted before it.
    pub spaced: bool,
}

impl Word {
    fn new(glyph: Glyph, spaced: bool) -> Self {
        let (x0, x1, y, size) = (glyph.x0, glyph.x1, glyph.y, glyph.size);
        Self {
            x0,
            x1,
            y,
            size,
            top: y - ASCENT * size,
            bottom: y + DESCENT * size,
            glyphs: vec![glyph],
            spaced,
        }
    }

    fn push(&mut self, glyph: Glyph) {
        self.x0 = self.x0.min(glyph.x0);
        self.x1 = self.x1.max(glyph.x1);
        self.top = self.top.min(glyph.y - ASCENT * glyph.size);
        self.bottom = self.bottom.max(glyph.y + DESCENT * glyph.size);
        // The largest glyph decides, so that a subscript does not move its word.
        if glyph.size > self.size {
            (self.y, self.size) = (glyph.y, glyph.size);
        }
        self.glyphs.push(glyph);
    }

    /// Returns its characters, in the order of painting.
    pub fn chars(&self) -> impl Iterator<Item = char> {
        self.glyphs.iter().flat_map(|glyph| glyph.text.chars())
    }

    /// Returns the middle between its upper and lower edge.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

/// Returns the words of glyphs, which are in the order of painting. White space separates words and is removed.
pub fn words(glyphs: Vec<Glyph>) -> Vec<Word> {
    let mut words = Vec::new();
    for line in runs(glyphs).chunk_by(|(a, _), (b, _)| is_one_line(a, b)) {
        // Letter spacing is measured over a whole line: a single word has too few gaps.
        let gaps: Vec<f64> = line.iter().flat_map(|(run, _)| gaps(run)).collect();
        let space = MIN_SPACE_WIDTH + letter_space(&gaps);
        for (run, spaced) in line {
            cut(run, *spaced, space, &mut words);
        }
    }
    words
}

/// Returns whether a run is on the line of the one before it and of the same size.
fn is_one_line(before: &[Glyph], after: &[Glyph]) -> bool {
    let pair = before.last().zip(after.first());
    pair.is_some_and(|(a, b)| (a.y - b.y).abs() < 0.1 * a.size && (a.size - b.size).abs() < 0.1 * a.size)
}

fn gaps(run: &[Glyph]) -> impl Iterator<Item = f64> {
    run.iter().zip(run.iter().skip(1)).filter_map(|(a, b)| gap(a, b))
}

/// Returns runs of glyphs on one line, and whether a space was painted before each.
fn runs(glyphs: Vec<Glyph>) -> Vec<(Vec<Glyph>, bool)> {
    let mut runs: Vec<(Vec<Glyph>, bool)> = Vec::new();
    let (mut open, mut spaced) = (false, false);
    for glyph in glyphs {
        if glyph.is_space() {
            // A painted space separates words even if it is too narrow to be recognised as a gap.
            (open, spaced) = (false, true);
            continue;
        }
        match runs.last_mut() {
            Some((run, _)) if open && run.last().is_some_and(|last| gap(last, &glyph).is_some()) => {
                run.push(glyph)
            }
            Some(_) | None => runs.push((vec![glyph], spaced)),
        }
        (open, spaced) = (true, false);
    }
    runs
}

/// Returns the gap between two glyphs painted in sequence, in heights of the font; `None` if the second does not continue
/// the line of the first.
fn gap(before: &Glyph, after: &Glyph) -> Option<f64> {
    let size = before.size.max(after.size);
    if (after.y - before.y).abs() > MAX_SHIFT * size {
        return None;
    }
    let right = (after.x0 - before.x1) / size;
    if (-MAX_OVERLAP..1.0).contains(&right) {
        return Some(right);
    }
    let left = (before.x0 - after.x1) / size;
    // Text from right to left may be painted in its own order, each glyph to the left of the one before.
    let is_rtl = [before, after].iter().any(|glyph| glyph.text.chars().any(letters::is_right_to_left));
    (is_rtl && (-MAX_OVERLAP..1.0).contains(&left)).then_some(left)
}

/// Splits a run into words at its spaces.
fn cut(run: &[Glyph], spaced: bool, space: f64, words: &mut Vec<Word>) {
    let mut gaps = gaps(run);
    let mut current: Option<Word> = None;
    for glyph in run {
        match current.as_mut() {
            Some(word) if gaps.next().is_some_and(|gap| gap <= space) => word.push(glyph.clone()),
            Some(_) | None => {
                words.extend(current.replace(Word::new(glyph.clone(), spaced && current.is_none())))
            }
        }
    }
    words.extend(current);
}

/// Returns the distance of letters within words of letter-spaced text; 0 otherwise.
fn letter_space(gaps: &[f64]) -> f64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    // In letter-spaced text even the smallest gaps are wide. In other text most gaps are zero
    // and only spaces are wide.
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let least = sorted.get(sorted.len() / 10).copied().unwrap_or_default();
    let even = least > usual * 0.6;
    if sorted.len() >= MIN_SPACED_GLYPHS && usual > MIN_SPACE_WIDTH * 0.6 && even { usual } else { 0.0 }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Glyphs of half their height in width, from `x` on; a space is painted as such.
    pub fn painted(text: &str, x: f64, y: f64, size: f64) -> Vec<Glyph> {
        let at = |n: usize| x + n as f64 * size / 2.0;
        let glyph = |(n, c): (usize, char)| Glyph { text: c.to_string(), x0: at(n), x1: at(n + 1), y, size };
        text.chars().enumerate().map(glyph).collect()
    }

    fn texts(glyphs: Vec<Glyph>) -> Vec<String> {
        words(glyphs).iter().map(|word| word.chars().collect()).collect()
    }

    #[test]
    fn spaces_and_gaps_separate_words() {
        let mut glyphs = painted("two words", 0.0, 0.0, 10.0);
        glyphs.extend(painted("more", 47.0, 0.0, 10.0));

        assert_eq!(texts(glyphs), ["two", "words", "more"]);
    }

    #[test]
    fn superscript_belongs_to_its_word() {
        let mut glyphs = painted("x", 0.0, 0.0, 10.0);
        glyphs.extend(painted("2", 5.0, -4.0, 7.0));

        assert_eq!(texts(glyphs), ["x2"]);
    }

    #[test]
    fn letter_spaced_word_is_one_word() {
        let apart = |word: &str, x: f64| -> Vec<Glyph> {
            (0..)
                .zip(word.chars())
                .flat_map(|(n, c)| painted(&c.to_string(), x + f64::from(n) * 7.5, 0.0, 10.0))
                .collect()
        };
        let mut glyphs = apart("heading", 0.0);
        glyphs.extend(apart("here", 57.0));

        assert_eq!(texts(glyphs), ["heading", "here"]);
    }

    proptest! {
        #[test]
        fn no_character_is_lost(placed in prop::collection::vec(("[a-zא-ת ]", 0.0..500.0f64, 0.0..500.0f64, 1.0..40.0f64), 0..60)) {
            let glyphs: Vec<Glyph> = placed.iter().flat_map(|(text, x, y, size)| painted(text, *x, *y, *size)).collect();
            let expected: String = glyphs.iter().filter(|glyph| !glyph.is_space()).map(|glyph| glyph.text.as_str()).collect();

            let found: String = words(glyphs).iter().flat_map(|word| word.chars().collect::<Vec<_>>()).collect();

            prop_assert_eq!(found, expected);
        }
    }
}
