//! Paragraphs with the headings above them, and the lines they consist of.
//!
//! A blank line ends a paragraph. Where a text has none, as extracted articles often, its lines are the
//! paragraphs: a line that is long, or ends a sentence, was ended by its writer and not by a margin.

use std::ops::Range;

use super::sentence;
use crate::is_cluster_bound;

/// Lines longer than this were not broken to fit a margin.
const LONG_LINE: usize = 100;
/// Headings without a mark are no longer than both.
const HEADING_CHARS: usize = 80;
const HEADING_WORDS: usize = 12;
/// What is longer is none, whoever says that it is: some pages mark all that they say as such.
const LONGEST_HEADING: usize = 200;
/// Headings of more ranks do not stand above one paragraph.
const RANKS: usize = 6;

/// A paragraph and the headings directly above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Its bytes, the white space behind it included.
    pub range: Range<usize>,
    /// Whether headings stand at its beginning.
    pub heading: bool,
    /// Where the paragraph begins, behind the headings; the end of the range where there is none.
    pub body: usize,
}

/// The blocks of a text. They join to it; blank text has none. `known` are the bytes at which headings begin for sure, in
/// order.
pub(super) fn blocks<'a>(text: &'a str, known: &'a [usize]) -> impl Iterator<Item = Block> + 'a {
    let mut lines = with_headings(text, known).peekable();
    let mut start = 0;
    std::iter::from_fn(move || {
        let (_, heading) = lines.next()?;
        let mut body = (!heading).then_some(start);
        let mut ranks = 1;
        while let Some((line, is_heading)) = lines.peek() {
            match body {
                Some(_) if *is_heading || line.after_blank => break,
                Some(_) => {}
                None if *is_heading && ranks == RANKS => break,
                None if *is_heading => ranks += 1,
                None => body = Some(line.start),
            }
            lines.next();
        }
        let end = lines.peek().map_or(text.len(), |(line, _)| line.start);
        let range = std::mem::replace(&mut start, end)..end;
        Some(Block { body: body.unwrap_or(end), range, heading })
    })
}

/// Each line, and whether it is a heading.
fn with_headings<'a>(text: &'a str, known: &'a [usize]) -> impl Iterator<Item = (Line<'a>, bool)> {
    let mut lines = lines(text).peekable();
    let mut known = known.iter().copied().peekable();
    std::iter::from_fn(move || {
        let line = lines.next()?;
        while known.next_if(|at| *at < line.start).is_some() {}
        let is_known = known.next_if_eq(&line.start).is_some();
        let is_short = line.text.chars().nth(LONGEST_HEADING).is_none();
        let heading = is_known && is_short || is_heading(&line, lines.peek());
        Some((line, heading))
    })
}

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Where its text begins, or the space before it where that carries an accent.
    pub start: usize,
    /// Without the white space around it.
    pub text: &'a str,
    /// Whether nothing or a blank line stands before it.
    pub after_blank: bool,
    /// Whether it begins something new, rather than going on with the line before.
    pub is_new: bool,
}

/// The lines of a text that are not blank.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut at, mut before, mut blank) = (0, "", true);
    text.split_inclusive('\n').filter_map(move |whole| {
        let from = at;
        at += whole.len();
        let line = whole.trim();
        if line.is_empty() {
            blank = true;
            return None;
        }
        let indent = whole.get(..whole.len() - whole.trim_start().len()).unwrap_or_default();
        let carrier = indent.char_indices().next_back().map_or(0, |(at, _)| at);
        let bound = is_cluster_bound(text, from + indent.len());
        let start = from + if bound { indent.len() } else { carrier };
        let after_blank = std::mem::take(&mut blank);
        let is_new = after_blank || is_ended(before) || is_listed(line);
        before = line;
        Some(Line { start, text: line, after_blank, is_new })
    })
}

/// Whether a line was ended by its writer.
fn is_ended(line: &str) -> bool {
    line.ends_with([':', ';']) || sentence::is_ended(line) || is_long(line)
}

fn is_long(line: &str) -> bool {
    line.chars().nth(LONG_LINE).is_some()
}

/// Whether a line begins as the items of lists and the rows of tables do.
fn is_listed(line: &str) -> bool {
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['•', '·', '–', '—', '|', '>'])
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || unnumbered.len() < line.len() && [". ", ") "].iter().any(|mark| unnumbered.starts_with(mark))
}

/// Whether a line stands over what follows: by its mark, or because it is short, ends no sentence, stands alone
/// and has something longer below it.
fn is_heading(line: &Line<'_>, next: Option<&Line<'_>>) -> bool {
    let stands_over =
        |next: &Line<'_>| (next.after_blank || is_long(next.text)) && !looks_like_heading(next.text);
    is_marked(line.text) || line.is_new && looks_like_heading(line.text) && next.is_some_and(stands_over)
}

/// Whether a line has Markdown's mark of a heading.
fn is_marked(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - title.len())) && title.starts_with([' ', '\t'])
}

fn looks_like_heading(line: &str) -> bool {
    let begins = line.chars().next().is_some_and(|c| c.is_alphanumeric() && !c.is_lowercase());
    let ends = line.ends_with([',', ';', ':']) || sentence::is_ended(line);
    let short =
        line.chars().nth(HEADING_CHARS).is_none() && line.split_whitespace().nth(HEADING_WORDS).is_none();
    short && begins && !ends && !is_listed(line) && line.chars().any(char::is_alphabetic)
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<(bool, &str)> {
        blocks(text, &[]).map(|block| (block.heading, &text[block.range])).collect()
    }

    #[test]
    fn blank_lines_end_paragraphs_and_belong_to_them() {
        assert_eq!(
            split("\n One,\ntwo.\n \n\nThree.\n"),
            [(false, "\n One,\ntwo.\n \n\n"), (false, "Three.\n")]
        );
    }

    #[test]
    fn headings_belong_to_the_paragraph_below_them() {
        assert_eq!(
            split(
                "# Ants\n## Life\nThey live.\n\nWork\n\nThey work all day, as far as is known.\n\nThe end."
            ),
            [
                (true, "# Ants\n## Life\nThey live.\n\n"),
                (true, "Work\n\nThey work all day, as far as is known.\n\n"),
                (false, "The end."),
            ]
        );
    }

    #[test]
    fn a_heading_at_the_very_end_stands_alone() {
        assert_eq!(split("A sentence.\n\n# More"), [(false, "A sentence.\n\n"), (true, "# More")]);
    }

    #[test]
    fn lists_of_short_lines_are_not_headings() {
        assert_eq!(split("Apple\n\nPear\n\nPlum").iter().filter(|(heading, _)| *heading).count(), 0);
    }

    #[test]
    fn a_short_line_over_a_long_one_is_a_heading_without_blank_lines_too() {
        let long = "word ".repeat(30);
        let text = format!("{long}\nA heading\n{long}");
        assert_eq!(blocks(&text, &[]).map(|block| block.heading).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn lines_broken_by_a_margin_go_on() {
        let text = "A line that was\nbroken at a margin.\nAnother one:\n- item\n- item";
        assert_eq!(lines(text).map(|line| line.is_new).collect::<Vec<_>>(), [true, false, true, true, true]);
    }

    proptest! {
        #[test]
        fn blocks_join_to_the_text(text in "(# |[A-C]|[a-c]|[.:]|\n|\n\n| |\u{301}|\r\n|。){0,40}", known in prop::collection::btree_set(0usize..60, 0..20)) {
            let known: Vec<usize> = known.into_iter().collect();
            let ranges: Vec<_> = blocks(&text, &known).collect();
            prop_assert_eq!(ranges.is_empty(), text.trim().is_empty());
            let mut at = 0;
            for block in &ranges {
                prop_assert_eq!(block.range.start, at);
                prop_assert!(at <= block.body && block.body <= block.range.end);
                prop_assert!(is_cluster_bound(&text, at) && block.range.end > at);
                at = block.range.end;
            }
            prop_assert!(ranges.is_empty() || at == text.len());
        }
    }
}
