//! Where the passages of a text are in their source: on a page of a PDF, or at a time of a recording.

use text::chunk::{self, Piece, Sizing};

/// A pause of this length ends a paragraph.
const PARAGRAPH_PAUSE_SECONDS: f64 = 2.0;

/// Maps the characters of a text to its source.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SourceMap {
    /// The source has neither pages nor times.
    #[default]
    None,
    /// The spans of the pages in order, page 1 first. Each begins where the one before it ends, the first at 0. No passage crosses
    /// the end of a page.
    Pages(Vec<PageSpan>),
    /// The timed spans of a transcript, in order.
    Speech(Vec<TimedSpan>),
}

/// The characters of a page, in Unicode scalar values of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// Offset of the page's first character.
    pub start: usize,
    /// Offset after the page's last character; equal to `start` for a page without text.
    pub end: usize,
}

/// A few words of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct SpokenSegment {
    /// When they begin, in seconds.
    pub start: f64,
    /// When they end, in seconds; never before `start`.
    pub end: f64,
    /// The words that are spoken in this time.
    pub text: String,
}

/// The characters of a segment, and when they are spoken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedSpan {
    /// The first character, in Unicode scalar values.
    pub from: usize,
    /// Offset after the last character, in Unicode scalar values.
    pub to: usize,
    /// When the segment begins, in seconds from the start of the recording.
    pub start: f64,
    /// When it ends, in seconds from the start of the recording.
    pub end: f64,
}

impl SourceMap {
    /// Joins the segments of a transcript to a text and maps it. A pause of two seconds begins a new paragraph.
    pub fn from_segments(segments: &[SpokenSegment]) -> (String, Self) {
        let (mut text, mut chars, mut end_before) = (String::new(), 0, None::<f64>);
        let mut spans = Vec::with_capacity(segments.len());
        for segment in segments {
            let gap = match end_before {
                None => "",
                Some(end) if segment.start - end >= PARAGRAPH_PAUSE_SECONDS => "\n\n",
                Some(_) => " ",
            };
            text.push_str(gap);
            text.push_str(&segment.text);
            // A gap is ASCII, so its bytes are its characters.
            let from = chars + gap.len();
            chars = from + segment.text.chars().count();
            spans.push(TimedSpan { from, to: chars, start: segment.start, end: segment.end });
            end_before = Some(segment.end);
        }
        (text, Self::Speech(spans))
    }

    /// Splits the text into passages, each with its page or its times. `headings` are the offsets of the headings, ascending.
    pub fn split(&self, text: &str, headings: &[usize], size: &Sizing) -> Vec<Piece> {
        match self {
            Self::None => chunk::split(text, headings, size),
            Self::Pages(pages) => {
                let starts: Vec<usize> = pages.iter().map(|page| page.start).collect();
                chunk::split_pages(text, &starts, headings, size)
            }
            Self::Speech(spans) => {
                let mut pieces = chunk::split(text, headings, size);
                set_times(&mut pieces, spans);
                pieces
            }
        }
    }
}

/// Sets the times of each passage from the spans that it overlaps. Within a span that a passage cuts, time is interpolated.
fn set_times(pieces: &mut [Piece], spans: &[TimedSpan]) {
    let mut rest = spans;
    for piece in pieces {
        // Passages and spans are both in order, so the spans before this passage are skipped for the following ones too: one pass
        // over each, also for a recording of many hours.
        let passed = rest.iter().take_while(|span| span.to <= piece.start).count();
        rest = rest.get(passed..).unwrap_or_default();
        let overlapping = rest.iter().take_while(|span| span.from < piece.end).count();
        let overlapping = rest.get(..overlapping).unwrap_or_default();
        if let (Some(first), Some(last)) = (overlapping.first(), overlapping.last()) {
            piece.start_seconds = Some(first.time_at(piece.start));
            piece.end_seconds = Some(last.time_at(piece.end));
        }
    }
}

impl TimedSpan {
    /// Returns when the character at `offset` is spoken.
    #[expect(clippy::cast_precision_loss, reason = "a span has few characters")]
    fn time_at(&self, offset: usize) -> f64 {
        // The exact end, which the sum of floats below may miss.
        if offset >= self.to {
            return self.end;
        }
        let (passed, all) = (offset.max(self.from) - self.from, self.to - self.from);
        self.start + (self.end - self.start) * passed as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(start: f64, end: f64, text: &str) -> SpokenSegment {
        SpokenSegment { start, end, text: text.to_owned() }
    }

    #[test]
    fn pause_ends_a_paragraph() {
        let segments = [segment(0.0, 1.0, "One."), segment(1.5, 2.0, "Two."), segment(6.0, 7.0, "Three.")];

        let (text, map) = SourceMap::from_segments(&segments);

        assert_eq!(text, "One. Two.\n\nThree.");
        let pieces = map.split(&text, &[], &Sizing::default());
        assert_eq!((pieces[0].start_seconds, pieces[0].end_seconds), (Some(0.0), Some(7.0)));
    }

    #[test]
    fn transcript_without_segments_has_no_passages() {
        let (text, map) = SourceMap::from_segments(&[]);

        assert_eq!(text, "");
        assert!(map.split(&text, &[], &Sizing::default()).is_empty());
    }

    #[test]
    fn end_of_a_span_has_its_exact_end_time() {
        let span = TimedSpan { from: 0, to: 3, start: 0.3, end: 0.9 };

        let bits = (span.time_at(0).to_bits(), span.time_at(3).to_bits());

        assert_eq!(bits, (0.3f64.to_bits(), 0.9f64.to_bits()));
    }

    fn any_transcript() -> impl Strategy<Value = Vec<SpokenSegment>> {
        let words = (prop::collection::vec("[a-zé]{1,9}[.,]?", 1..30), 1u32..90, 0u32..80);
        prop::collection::vec(words, 1..40).prop_map(|all| {
            let mut at = 0.0;
            let segments = all.into_iter().map(|(words, tenths, pause)| {
                let start = at + f64::from(pause) / 10.0;
                at = start + f64::from(tenths) / 10.0;
                SpokenSegment { start, end: at, text: words.join(" ") }
            });
            segments.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn passages_cover_the_text_with_rising_times(segments in any_transcript()) {
            let (text, map) = SourceMap::from_segments(&segments);
            let size = Sizing { target: 40, max: 50, ..Sizing::default() };

            let pieces = map.split(&text, &[], &size);

            prop_assert_eq!(pieces.iter().map(|piece| piece.text_in(&text)).collect::<String>(), text.clone());
            let (mut chars, mut before) = (0, 0.0);
            for piece in &pieces {
                prop_assert_eq!(piece.start, chars);
                chars = piece.end;
                let (start, end) = (piece.start_seconds.unwrap(), piece.end_seconds.unwrap());
                prop_assert!(start >= before - 1e-9 && end > start, "{before} {start} {end}");
                before = end;
            }
            prop_assert_eq!(chars, text.chars().count());
            prop_assert_eq!(pieces.last().unwrap().end_seconds, segments.last().map(|last| last.end));
        }
    }
}
