//! Where the passages of a text stand in what it was made from: on a page of a PDF, or when they are said in a recording.

use text::chunk::{self, Piece, Sizing};

/// A pause of so many seconds ends a paragraph.
const PARAGRAPH: f64 = 2.0;

/// The places of a text in what it was made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Places {
    /// It has none.
    #[default]
    None,
    /// It has pages: the nth is page n, counted from 1. Each begins where the one before it ends, the first at 0. No passage
    /// reaches over the end of a page.
    Pages(Vec<PageSpan>),
    /// It was spoken: stretches of the text in order, each with its times.
    Speech(Vec<Stretch>),
}

/// A page, in Unicode scalar values of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// Where it begins.
    pub start: usize,
    /// Where it ends; a page without text is empty.
    pub end: usize,
}

/// A few words as they were said.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// When they begin, in seconds.
    pub start: f64,
    /// When they end: not earlier.
    pub end: f64,
    /// The words.
    pub text: String,
}

/// Characters of a text, and when they are said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The first, in Unicode scalar values.
    pub from: usize,
    /// Behind the last.
    pub to: usize,
    /// When they begin, in seconds.
    pub start: f64,
    /// When they end.
    pub end: f64,
}

impl Places {
    /// The text of what was said, a paragraph from pause to pause, and where its parts stand.
    pub fn spoken(spoken: &[Spoken]) -> (String, Self) {
        let (mut text, mut chars, mut before) = (String::new(), 0, None::<f64>);
        let mut stretches = Vec::with_capacity(spoken.len());
        for words in spoken {
            let gap = match before {
                None => "",
                Some(before) if words.start - before >= PARAGRAPH => "\n\n",
                Some(_) => " ",
            };
            text.push_str(gap);
            text.push_str(&words.text);
            let from = chars + gap.len();
            chars = from + words.text.chars().count();
            stretches.push(Stretch { from, to: chars, start: words.start, end: words.end });
            before = Some(words.end);
        }
        (text, Self::Speech(stretches))
    }

    /// The passages of the text, each with its place. `headings` are the offsets at which headings begin, in order.
    pub fn split(&self, text: &str, headings: &[usize], size: &Sizing) -> Vec<Piece> {
        match self {
            Self::None => chunk::split(text, headings, size),
            Self::Pages(pages) => {
                let starts: Vec<usize> = pages.iter().map(|page| page.start).collect();
                chunk::split_pages(text, &starts, headings, size)
            }
            Self::Speech(stretches) => {
                let mut pieces = chunk::split(text, headings, size);
                time(&mut pieces, stretches);
                pieces
            }
        }
    }
}

/// Gives each passage the times of the stretches that it reaches over. A stretch that is cut is taken to be said evenly.
fn time(pieces: &mut [Piece], stretches: &[Stretch]) {
    let mut rest = stretches;
    for piece in pieces {
        let over = rest.iter().take_while(|stretch| stretch.to <= piece.start).count();
        rest = rest.get(over..).unwrap_or_default();
        let within = rest.iter().take_while(|stretch| stretch.from < piece.end).count();
        let within = rest.get(..within).unwrap_or_default();
        if let (Some(first), Some(last)) = (within.first(), within.last()) {
            piece.start_seconds = Some(first.at(piece.start));
            piece.end_seconds = Some(last.at(piece.end));
        }
    }
}

impl Stretch {
    /// When this character is said: behind the last, exactly when the stretch ends, which a sum of floats may miss.
    #[expect(clippy::cast_precision_loss, reason = "a stretch has few characters")]
    fn at(&self, place: usize) -> f64 {
        if place >= self.to {
            return self.end;
        }
        let (done, whole) = (place.max(self.from) - self.from, self.to - self.from);
        self.start + (self.end - self.start) * done as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spoken(start: f64, end: f64, text: &str) -> Spoken {
        Spoken { start, end, text: text.to_owned() }
    }

    #[test]
    fn a_pause_ends_a_paragraph() {
        let said = [spoken(0.0, 1.0, "One."), spoken(1.5, 2.0, "Two."), spoken(6.0, 7.0, "Three.")];

        let (text, places) = Places::spoken(&said);

        assert_eq!(text, "One. Two.\n\nThree.");
        let pieces = places.split(&text, &[], &Sizing::default());
        assert_eq!((pieces[0].start_seconds, pieces[0].end_seconds), (Some(0.0), Some(7.0)));
    }

    #[test]
    fn what_was_never_said_has_no_passages() {
        let (text, places) = Places::spoken(&[]);

        assert_eq!(text, "");
        assert!(places.split(&text, &[], &Sizing::default()).is_empty());
    }

    #[test]
    fn a_passage_ends_exactly_when_its_last_words_do() {
        let stretch = Stretch { from: 0, to: 3, start: 0.3, end: 0.9 };

        assert_eq!((stretch.at(0).to_bits(), stretch.at(3).to_bits()), (0.3f64.to_bits(), 0.9f64.to_bits()));
    }

    fn recording() -> impl Strategy<Value = Vec<Spoken>> {
        let words = (prop::collection::vec("[a-zé]{1,9}[.,]?", 1..30), 1u32..90, 0u32..80);
        prop::collection::vec(words, 1..40).prop_map(|all| {
            let mut at = 0.0;
            let spoken = all.into_iter().map(|(words, long, pause)| {
                let start = at + f64::from(pause) / 10.0;
                at = start + f64::from(long) / 10.0;
                Spoken { start, end: at, text: words.join(" ") }
            });
            spoken.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_character_is_in_one_passage_and_times_rise_with_the_text(said in recording()) {
            let (text, places) = Places::spoken(&said);
            let size = Sizing { target: 40, max: 50, ..Sizing::default() };

            let pieces = places.split(&text, &[], &size);

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
            prop_assert_eq!(pieces.last().unwrap().end_seconds, said.last().map(|last| last.end));
        }
    }
}
