//! Paragraphs with the headings above them, and their lines.
//!
//! A blank line ends a paragraph. In a text without blank lines, such as many extracted articles, lines are paragraphs: a line that is
//! long or ends a sentence was not wrapped at a margin.

use std::ops::Range;

use super::sentence;
use crate::is_cluster_bound;

/// Lines longer than this were not wrapped at a margin.
const MAX_WRAPPED_LINE_CHARS: usize = 100;
/// Maximum length of a heading without markup.
const MAX_PLAIN_HEADING_CHARS: usize = 80;
/// Maximum number of words of a heading without markup.
const MAX_PLAIN_HEADING_WORDS: usize = 12;
/// Maximum length of a known heading: some pages mark up all their text as headings.
const MAX_HEADING_CHARS: usize = 200;
/// Maximum number of consecutive headings above one paragraph.
const MAX_HEADINGS_IN_A_ROW: usize = 6;

/// A paragraph and the headings directly above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Its byte range, including the white space after it, so that the blocks of a text join to it.
    pub range: Range<usize>,
    /// Whether it begins with one or more headings.
    pub heading: bool,
    /// Start of the paragraph after the headings; the end of the range if there is no paragraph.
    pub body: usize,
}

/// Returns the blocks of a text, which join to the text; blank text has none. `known` are the ascending byte offsets of known headings.
pub(super) fn blocks<'a>(text: &'a str, known: &'a [usize]) -> impl Iterator<Item = Block> + 'a {
    let mut lines = with_headings(text, known).peekable();
    let mut start = 0;
    std::iter::from_fn(move || {
        let (_, heading) = lines.next()?;
        let mut body = (!heading).then_some(start);
        let mut headings = 1;
        while let Some((line, is_heading)) = lines.peek() {
            match body {
                // A paragraph ends at a heading or a blank line. Further lines belong to it.
                Some(_) if *is_heading || line.after_blank => break,
                Some(_) => {}
                // Without this bound a page that consists of headings would be one block, with no place
                // where it may be cut.
                None if *is_heading && headings == MAX_HEADINGS_IN_A_ROW => break,
                None if *is_heading => headings += 1,
                None => body = Some(line.start),
            }
            lines.next();
        }
        let end = lines.peek().map_or(text.len(), |(line, _)| line.start);
        let range = std::mem::replace(&mut start, end)..end;
        Some(Block { body: body.unwrap_or(end), range, heading })
    })
}

/// Returns each line, and whether it is a heading.
fn with_headings<'a>(text: &'a str, known: &'a [usize]) -> impl Iterator<Item = (Line<'a>, bool)> {
    let mut lines = lines(text).peekable();
    let mut known = known.iter().copied().peekable();
    std::iter::from_fn(move || {
        let line = lines.next()?;
        // A known offset that is not the start of a line is skipped: text before it makes it no heading.
        while known.next_if(|at| *at < line.start).is_some() {}
        let is_known = known.next_if_eq(&line.start).is_some();
        // `nth` stops at the bound, so a line of megabytes without a break is not counted to its end.
        let is_short = line.text.chars().nth(MAX_HEADING_CHARS).is_none();
        let heading = is_known && is_short || is_heading(&line, lines.peek());
        Some((line, heading))
    })
}

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Byte offset of its text, or of the space before it if an accent is attached to the space.
    pub start: usize,
    /// The line without the white space around it.
    pub text: &'a str,
    /// Whether it is the first line or follows a blank one.
    pub after_blank: bool,
    /// Whether it starts a new paragraph or item, rather than continue the line before.
    pub is_new: bool,
}

/// Returns the lines of a text that are not blank.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut at, mut before, mut blank) = (0, "", true);
    text.split_inclusive('\n').filter_map(move |full| {
        let from = at;
        at += full.len();
        let line = full.trim();
        if line.is_empty() {
            blank = true;
            return None;
        }
        let indent = full.get(..full.len() - full.trim_start().len()).unwrap_or_default();
        // If the line begins with a combining accent, the accent and the last space before it are one cluster, and a
        // cut between them would split it.
        let carrier = indent.char_indices().next_back().map_or(0, |(at, _)| at);
        let bound = is_cluster_bound(text, from + indent.len());
        let start = from + if bound { indent.len() } else { carrier };
        let after_blank = std::mem::take(&mut blank);
        // Blank lines are rare in extracted articles, so the end of the line before and the start
        // of this one decide too.
        let is_new = after_blank || ends_paragraph(before) || is_list_item(line);
        before = line;
        Some(Line { start, text: line, after_blank, is_new })
    })
}

/// Returns whether a line ends a paragraph, item or sentence, rather than being wrapped.
fn ends_paragraph(line: &str) -> bool {
    line.ends_with([':', ';']) || sentence::ends_sentence(line) || is_long(line)
}

fn is_long(line: &str) -> bool {
    line.chars().nth(MAX_WRAPPED_LINE_CHARS).is_some()
}

/// Returns whether a line begins like an item of a list or a row of a table.
fn is_list_item(line: &str) -> bool {
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['•', '·', '–', '—', '|', '>'])
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || unnumbered.len() < line.len() && [". ", ") "].iter().any(|mark| unnumbered.starts_with(mark))
}

/// Returns whether a line is a heading: by its markup, or because it is short, does not end a sentence, is separate and
/// is followed by longer text.
fn is_heading(line: &Line<'_>, next: Option<&Line<'_>>) -> bool {
    // A heading needs text below it. Otherwise each short item of a list would be the heading of the next one.
    let is_text_below =
        |next: &Line<'_>| (next.after_blank || is_long(next.text)) && !looks_like_heading(next.text);
    has_heading_markup(line.text)
        || line.is_new && looks_like_heading(line.text) && next.is_some_and(is_text_below)
}

/// Returns whether a line has the Markdown markup of a heading: one to six number signs and a space (CommonMark, ATX headings).
fn has_heading_markup(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - title.len())) && title.starts_with([' ', '\t'])
}

fn looks_like_heading(line: &str) -> bool {
    // Not `is_uppercase`: digits, and scripts without upper case, begin headings too.
    let begins = line.chars().next().is_some_and(|c| c.is_alphanumeric() && !c.is_lowercase());
    let ends = line.ends_with([',', ';', ':']) || sentence::ends_sentence(line);
    let short = line.chars().nth(MAX_PLAIN_HEADING_CHARS).is_none()
        && line.split_whitespace().nth(MAX_PLAIN_HEADING_WORDS).is_none();
    short && begins && !ends && !is_list_item(line) && line.chars().any(char::is_alphabetic)
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
    fn heading_at_the_end_is_a_separate_block() {
        assert_eq!(split("A sentence.\n\n# More"), [(false, "A sentence.\n\n"), (true, "# More")]);
    }

    #[test]
    fn lists_of_short_lines_are_not_headings() {
        assert_eq!(split("Apple\n\nPear\n\nPlum").iter().filter(|(heading, _)| *heading).count(), 0);
    }

    #[test]
    fn short_line_above_a_long_one_is_a_heading() {
        let long = "word ".repeat(30);
        let text = format!("{long}\nA heading\n{long}");
        assert_eq!(blocks(&text, &[]).map(|block| block.heading).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn wrapped_lines_continue_their_paragraph() {
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
