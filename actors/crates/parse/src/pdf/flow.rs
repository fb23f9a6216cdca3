//! Joins the lines of a page to text: paragraphs, headings and hyphenated words.

use std::collections::HashSet;

use super::bidi;
use super::letters;
use super::lines::TextLine;
use super::placed_text::PlacedText;
use super::words::Word;

/// The largest gap between the pieces of one word, in heights of the font.
const MAX_GLUED_GAP: f64 = 0.1;
/// The minimum step between paragraphs, as a multiple of the usual step between lines.
const MIN_PARAGRAPH_STEP: f64 = 1.3;
/// The minimum ratio of font heights between a line and one that starts a new paragraph.
const MIN_SIZE_RATIO: f64 = 1.15;
/// After a hyphen at the end of a line, these words mark a suspended compound: "in- and output" means "input and output".
const CONJUNCTIONS: [&str; 14] =
    ["und", "oder", "bzw", "bzw.", "bis", "sowie", "and", "or", "to", "en", "of", "och", "eller", "og"];

/// Short words within compounds, as in "state-of-the-art", in addition to all words of one and two letters ("c'est-à-dire",
/// "arc-en-ciel"). Other short parts are halves of words.
const COMPOUND_PARTS: [&str; 32] = [
    "all", "and", "aux", "das", "del", "der", "des", "die", "for", "from", "les", "los", "non", "not", "off",
    "one", "out", "par", "pas", "pour", "sous", "sur", "the", "two", "und", "van", "vom", "von", "with",
    "you", "zum", "zur",
];

/// The facts on which the text of a page depends besides its lines.
#[derive(Debug, Default)]
pub struct PageContext {
    /// Whether it is read from right to left.
    pub right_to_left: bool,
    /// Outline titles of the sections that begin on it, as returned by [`key`].
    pub headings: HashSet<String>,
}

/// Returns the text of a page, whose parts are in reading order.
pub fn lay_out_text(parts: &[Vec<TextLine>], page: &PageContext) -> PlacedText {
    let mut text = PlacedText::default();
    for part in parts {
        // The usual step is measured for each part, because a caption and the columns have different ones.
        let step = usual_step(part);
        let mut before: Option<(&TextLine, bool)> = None;
        for line in part {
            let written = write(line, page);
            let heading = !page.headings.is_empty() && page.headings.contains(&key(&written.to_string()));
            let new =
                before.is_none_or(|(above, was_heading)| heading || was_heading || is_new(above, line, step));
            append(&mut text, written, new);
            before = Some((line, heading));
        }
    }
    text
}

/// Returns the letters and digits of a line, by which it is compared with outline titles.
pub fn key(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn usual_step(lines: &[TextLine]) -> f64 {
    let mut steps: Vec<f64> =
        pairs(lines).map(|(above, below)| below.y - above.y).filter(|step| *step > 0.0).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or_default()
}

fn pairs(lines: &[TextLine]) -> impl Iterator<Item = (&TextLine, &TextLine)> {
    lines.iter().zip(lines.iter().skip(1))
}

fn is_new(above: &TextLine, line: &TextLine, step: f64) -> bool {
    let (large, small) = (above.size.max(line.size), above.size.min(line.size));
    let wide = line.y - above.y > (step * MIN_PARAGRAPH_STEP).max(large * 1.5);
    // Two single words of different sizes are more often pieces of a formula than a heading and its text.
    let alike = above.words.len() > 1 || line.words.len() > 1;
    wide || (alike && large > small * MIN_SIZE_RATIO)
}

/// Returns the text of a line in logical order.
pub fn write(line: &TextLine, page: &PageContext) -> PlacedText {
    if line.has_rtl {
        // A quotation in the other direction is frequent, so each line decides first, and the page only
        // if the line is undecided.
        let direction = bidi::direction(line.words.iter().flat_map(|word| &word.glyphs));
        return bidi::logical(units(line), direction.unwrap_or(page.right_to_left));
    }
    let mut text = PlacedText::default();
    let mut before: Option<&Word> = None;
    for word in &line.words {
        if before.is_some_and(|before| !is_glued(before, word)) {
            text.push_str(" ");
        }
        for glyph in &word.glyphs {
            text.append(PlacedText::of_glyph(glyph));
        }
        before = Some(word);
    }
    text
}

fn is_glued(before: &Word, word: &Word) -> bool {
    let size = before.size.max(word.size);
    let gap = (word.x0 - before.x1) / size;
    // Parts of formulas overlap: an index is painted back over the end of its letter.
    !word.spaced && (-0.8..MAX_GLUED_GAP).contains(&gap)
}

/// Returns the units of a line from left to right.
fn units(line: &TextLine) -> Vec<bidi::Unit> {
    let mut words: Vec<&Word> = line.words.iter().collect();
    words.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    let mut units: Vec<bidi::Unit> = Vec::new();
    let mut before: Option<&Word> = None;
    for word in words {
        if before.is_some_and(|before| (word.x0 - before.x1) / word.size > MAX_GLUED_GAP || word.spaced) {
            units.push(bidi::Unit::space());
        }
        let mut glyphs: Vec<_> = word.glyphs.iter().collect();
        glyphs.sort_by(|a, b| a.x0.total_cmp(&b.x0));
        for glyph in glyphs {
            // A mark stays with its letter as one unit, so that reversing the line does not put it on the neighbour.
            let mark = glyph.text.chars().all(letters::is_mark);
            match units.last_mut().filter(|_| mark) {
                Some(letter) => letter.push(glyph),
                None => units.push(bidi::Unit::of_glyph(glyph)),
            }
        }
        before = Some(word);
    }
    units
}

/// Appends a line, as a new paragraph or as a continuation.
fn append(text: &mut PlacedText, line: PlacedText, new: bool) {
    if line.is_empty() {
        return;
    }
    match line_break(&text.tail(MAX_RUN_CHARS + 1), &line.to_string()) {
        Some(line_break @ (LineBreak::Word | LineBreak::Compound)) => {
            if line_break == LineBreak::Word {
                text.pop();
            }
            // The line break moves behind the joined word, so that the word is whole for search and the lines
            // stay about as they are.
            let (half, rest) = line.split_at_space();
            text.append(half);
            if !rest.is_empty() {
                text.push_str("\n");
                text.append(rest);
            }
        }
        Some(LineBreak::Shared) => {
            text.push_str(" ");
            text.append(line);
        }
        None => {
            let between = if text.is_empty() {
                ""
            } else if new {
                "\n\n"
            } else {
                "\n"
            };
            text.push_str(between);
            text.append(line);
        }
    }
}

/// The meaning of a hyphen at the end of a line.
#[derive(Debug, PartialEq, Eq)]
enum LineBreak {
    /// The two halves are one word without the hyphen.
    Word,
    /// The two halves are joined with the hyphen: a compound with other hyphens, or a URL.
    Compound,
    /// A suspended compound, which shares its second part with the next word.
    Shared,
}

/// Characters before a line's end that are searched for the start of the broken word. A page without white space would be searched to its
/// start for each of its lines.
const MAX_RUN_CHARS: usize = 200;

/// Returns how a line continues a text, which ends with `tail`.
fn line_break(tail: &str, line: &str) -> Option<LineBreak> {
    let mut last = tail.chars().rev();
    // U+2010 and the soft hyphen besides the ASCII one: fonts map the hyphen of typesetting to any of the three.
    let hyphen = last.next().filter(|c| matches!(c, '-' | '\u{2010}' | '\u{ad}'))?;
    // A capital or a digit after a hyphen is a compound (`Anglo-Saxon`) or a range, whose hyphen belongs to the text.
    let continues = line.chars().next().is_some_and(char::is_lowercase);
    if !last.next().is_some_and(char::is_alphabetic) || !continues {
        return None;
    }
    let first = line.split(' ').next().unwrap_or_default();
    let run = tail.rsplit(char::is_whitespace).next().unwrap_or_default();
    let half = run.strip_suffix(hyphen).unwrap_or(run);
    Some(match hyphen {
        '\u{ad}' => LineBreak::Word,
        // Typesetting inserts U+2010, so the other hyphens of this run belong to the text.
        '\u{2010}' if half.contains('-') => LineBreak::Word,
        _ if CONJUNCTIONS.contains(&first) => LineBreak::Shared,
        _ if keeps_hyphen(half) => LineBreak::Compound,
        _ => LineBreak::Word,
    })
}

/// Returns whether the hyphen at the end of a line belongs to the text: in a URL, after a single letter, and after a short word in a
/// compound (`state-of-the-`). Other parts of compounds are hyphenated like words.
fn keeps_hyphen(half: &str) -> bool {
    let tiny = |part: &str| part.chars().count() <= 2 && part.chars().all(char::is_lowercase);
    let small = |part: &str| tiny(part) || COMPOUND_PARTS.contains(&part);
    let part = half.rsplit_once(['-', '\u{2010}']).map(|(_, part)| part);
    half.contains("://") || half.chars().count() == 1 || part.is_some_and(small)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lines::lines;
    use super::super::words::{self, tests::painted};
    use super::*;

    fn page(lines_of: &[(&str, f64, f64)]) -> String {
        let words =
            lines_of.iter().flat_map(|(line, y, size)| words::words(painted(line, 0.0, *y, *size))).collect();
        lay_out_text(&[lines(words)], &PageContext::default()).to_string()
    }

    #[test]
    fn hyphenated_word_is_joined() {
        assert_eq!(page(&[("an auto-", 0.0, 10.0), ("matic car", 12.0, 10.0)]), "an automatic\ncar");
    }

    #[test]
    fn hard_hyphen_is_kept() {
        assert_eq!(page(&[("Vor- ", 0.0, 10.0), ("und Nachteile", 12.0, 10.0)]), "Vor- und Nachteile");
        assert_eq!(page(&[("Anglo-", 0.0, 10.0), ("Saxon", 12.0, 10.0)]), "Anglo-\nSaxon");
        for (first, second) in [
            ("state-of-the-", "art"),
            ("c'est-à-", "dire"),
            ("Boulogne-sur-", "mer"),
            ("http://ex.org/some-", "path/page"),
            ("x-", "ray"),
        ] {
            let whole = format!("{first}{second}\nand more");
            assert_eq!(page(&[(first, 0.0, 10.0), (&format!("{second} and more"), 12.0, 10.0)]), whole);
        }
        assert_eq!(page(&[("Open-Source-Soft-", 0.0, 10.0), ("ware", 12.0, 10.0)]), "Open-Source-Software");
        assert_eq!(page(&[("a fine-gra-", 0.0, 10.0), ("ined sieve", 12.0, 10.0)]), "a fine-grained\nsieve");
        assert_eq!(page(&[("well-in\u{2010}", 0.0, 10.0), ("formed", 12.0, 10.0)]), "well-informed");
    }

    #[test]
    fn headings_and_paragraphs_are_separated() {
        let found = page(&[
            ("A heading", 0.0, 14.0),
            ("goes over", 16.0, 10.0),
            ("two lines", 28.0, 10.0),
            ("and three.", 40.0, 10.0),
            ("New one.", 62.0, 10.0),
        ]);

        assert_eq!(found, "A heading\n\ngoes over\ntwo lines\nand three.\n\nNew one.");
    }

    #[test]
    fn outline_identifies_headings_that_look_like_text() {
        let lines = lines(
            [("One", 0.0), ("two three", 12.0), ("four", 24.0)]
                .iter()
                .flat_map(|(line, y)| words::words(painted(line, 0.0, *y, 10.0)))
                .collect(),
        );
        let page = PageContext { headings: HashSet::from([key("Two Three")]), ..PageContext::default() };

        assert_eq!(lay_out_text(&[lines], &page).to_string(), "One\n\ntwo three\n\nfour");
    }

    proptest! {
        #[test]
        fn no_letter_is_lost(placed in prop::collection::vec(("[a-zא-ת]{1,6}", 0.0..300.0f64, 0.0..300.0f64, 5.0..20.0f64), 0..40)) {
            let words: Vec<Word> = placed.iter().flat_map(|(text, x, y, size)| words::words(painted(text, *x, *y, *size))).collect();
            let sorted = |chars: &mut Vec<char>| chars.sort_unstable();
            let mut expected: Vec<char> = words.iter().flat_map(|word| word.chars().collect::<Vec<_>>()).collect();

            let found = lay_out_text(&[lines(words)], &PageContext::default()).to_string();

            let mut found: Vec<char> = found.chars().filter(|c| !c.is_whitespace()).collect();
            sorted(&mut expected);
            sorted(&mut found);
            prop_assert_eq!(found, expected);
        }
    }
}
