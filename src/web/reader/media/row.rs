//! A row of a transcript: its time and its words, with the highlights in them.

use std::collections::BTreeSet;
use std::ops::Range;

use actors::operations::recording::SpeechSegment;

use crate::web::places::whole_seconds;
use crate::web::reader::side_notes::SideNote;

/// A row of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptRow {
    /// When it is spoken, in whole seconds.
    pub seconds: i64,
    /// The same, as the address names it.
    pub start: String,
    /// When it ends.
    pub end: String,
    /// The id of the row; empty if another row of the same second has it.
    pub anchor: String,
    /// Whether the address names it.
    pub is_named: bool,
    /// Offset of its first character in the text; `None` until the transcript is the text.
    pub offset: Option<usize>,
    /// Its words in pieces.
    pub pieces: Vec<WordPiece>,
}

/// A piece of the words of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPiece {
    /// The words.
    pub text: String,
    /// The classes of its mark; empty for words without one.
    pub class: String,
    /// Whether it is the first piece that the address names.
    pub is_target: bool,
}

/// What is marked in a transcript.
pub struct RowMarks<'a> {
    /// The highlights.
    pub notes: &'a [SideNote],
    /// The characters that the address names.
    pub target: Option<Range<usize>>,
    /// The time that the address names, in whole seconds.
    pub seconds: Option<i64>,
}

impl TranscriptRow {
    /// Returns the rows of segments, which follow one another.
    pub fn list(segments: Vec<SpeechSegment>, marks: &RowMarks<'_>) -> Vec<Self> {
        let mut target_is_open = marks.target.is_some();
        let mut taken = BTreeSet::new();
        let named = named_index(&segments, marks.seconds);
        let row = |(index, segment): (usize, SpeechSegment)| {
            let seconds = whole_seconds(segment.start_seconds);
            let is_named = named == Some(index);
            // The address names a time within the row.
            let anchor = marks.seconds.filter(|_| is_named).unwrap_or(seconds);
            Self {
                seconds,
                start: format!("{:.2}", segment.start_seconds),
                end: format!("{:.2}", segment.end_seconds),
                anchor: if taken.insert(anchor) { format!("t{anchor}") } else { String::new() },
                is_named,
                offset: segment.start_offset,
                pieces: pieces(&segment.text, segment.start_offset, marks, &mut target_is_open),
            }
        };
        segments.into_iter().enumerate().map(row).collect()
    }
}

fn named_index(segments: &[SpeechSegment], seconds: Option<i64>) -> Option<usize> {
    let seconds = f64::from(u32::try_from(seconds?).ok()?);
    // A whole second names the row that begins within it too.
    segments.iter().rposition(|segment| segment.start_seconds < seconds + 1.0)
}

fn pieces(
    text: &str,
    start: Option<usize>,
    marks: &RowMarks<'_>,
    target_is_open: &mut bool,
) -> Vec<WordPiece> {
    let plain = |text: String| WordPiece { text, class: String::new(), is_target: false };
    let Some(start) = start else { return vec![plain(text.to_owned())] };
    let chars: Vec<char> = text.chars().collect();
    let end = start + chars.len();
    let ranges: Vec<(Range<usize>, String)> = ranges_within(start..end, marks);
    let bounds: BTreeSet<usize> =
        ranges.iter().flat_map(|(range, _)| [range.start, range.end]).chain([start, end]).collect();
    let bounds: Vec<usize> = bounds.into_iter().collect();
    let piece = |pair: &[usize]| {
        let [from, to] = pair else { return plain(String::new()) };
        let covering = ranges.iter().filter(|(range, _)| range.start <= *from && *to <= range.end);
        let class: Vec<&str> = covering.map(|(_, class)| class.as_str()).collect();
        let is_target = class.contains(&"at") && std::mem::take(target_is_open);
        let words = chars.get(from - start..to - start).unwrap_or_default().iter().collect();
        WordPiece { text: words, class: class.join(" "), is_target }
    };
    bounds.windows(2).map(piece).filter(|piece| !piece.text.is_empty()).collect()
}

/// Returns the highlights and the named characters in a row, each with its classes.
fn ranges_within(row: Range<usize>, marks: &RowMarks<'_>) -> Vec<(Range<usize>, String)> {
    let clipped = |range: Range<usize>| range.start.max(row.start)..range.end.min(row.end);
    let notes = marks.notes.iter().filter(|note| !note.is_lost).filter_map(|note| {
        let range = usize::try_from(note.start).ok()?..usize::try_from(note.end).ok()?;
        Some((clipped(range), format!("hl c-{}", note.color)))
    });
    let target = marks.target.clone().map(|target| (clipped(target), "at".to_owned()));
    notes.chain(target).filter(|(range, _)| range.start < range.end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(index: usize, start_seconds: f64, start: usize, text: &str) -> SpeechSegment {
        SpeechSegment {
            index,
            start_seconds,
            end_seconds: start_seconds + 1.0,
            text: text.to_owned(),
            start_offset: Some(start),
            end_offset: Some(start + text.chars().count()),
        }
    }

    fn marks(target: Option<Range<usize>>, seconds: Option<i64>) -> RowMarks<'static> {
        RowMarks { notes: &[], target, seconds }
    }

    #[test]
    fn named_characters_are_marked_over_rows() {
        let segments = vec![segment(0, 0.0, 0, "One é."), segment(1, 2.0, 7, "Two.")];

        let rows = TranscriptRow::list(segments, &marks(Some(4..9), None));

        let texts = |row: &TranscriptRow| {
            row.pieces.iter().map(|piece| (piece.text.clone(), piece.is_target)).collect::<Vec<_>>()
        };
        assert_eq!(texts(&rows[0]), [("One ".to_owned(), false), ("é.".to_owned(), true)]);
        assert_eq!(texts(&rows[1]), [("Tw".to_owned(), false), ("o.".to_owned(), false)]);
        assert_eq!(rows[1].pieces[0].class, "at");
    }

    #[test]
    fn time_of_the_address_names_one_row() {
        let segments =
            vec![segment(0, 0.4, 0, "One."), segment(1, 2.5, 5, "Two."), segment(2, 2.9, 10, "Three.")];

        let rows = TranscriptRow::list(segments.clone(), &marks(None, Some(1)));
        assert_eq!(rows.iter().map(|row| row.is_named).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(rows.iter().map(|row| row.anchor.as_str()).collect::<Vec<_>>(), ["t1", "t2", ""]);

        let rows = TranscriptRow::list(segments, &marks(None, Some(2)));
        assert!(rows[2].is_named);
    }
}
