//! Groups the characters of a page into runs: pieces of one line in one direction, for the text layer over its picture.

use serde::{Deserialize, Serialize};

use super::letters;
use super::placed_text::{CharBox, PlacedChar, PlacedText};
use super::rotation;

/// The maximum number of runs of a page. Text beyond it can be read and searched, but is not part of the layer.
const MAX_RUNS: usize = 20_000;
/// The largest shift of a base line and the largest difference of font heights within a run, in heights of the font.
const MAX_DIFFERENCE: f64 = 0.15;
/// The widest gap between two characters of a run, in heights of the font. Cells of a table are further apart.
const MAX_GAP: f64 = 1.5;
/// The largest overlap of two characters of a run, in heights of the font.
const MAX_OVERLAP: f64 = 0.5;

/// A run of text on the picture of a page: a piece of one line. Lengths are in units of the page (1/72 inch), with y growing downwards
/// from the upper left corner of the page as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextRun {
    /// The left end of its base line.
    pub x: f32,
    /// The height of its base line.
    pub y: f32,
    /// The height of its font.
    pub size: f32,
    /// Its length along the base line.
    pub length: f32,
    /// Its direction, in degrees clockwise around its left end; 0 for upright text.
    pub turn: f32,
    /// Whether it is read from right to left.
    pub is_rtl: bool,
    /// The offset of its first character in the text, in Unicode scalar values.
    pub start: usize,
    /// The number of its characters.
    pub chars: usize,
    /// The left and right edge of each character, as distances from the left end: two for each of `chars`. Spaces between words have
    /// the width of their gap.
    pub edges: Vec<(f32, f32)>,
}

/// A rectangle on the picture of a page, in the units of [`TextRun`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextRect {
    /// Its left edge, before it is turned.
    pub x: f32,
    /// Its upper edge, before it is turned.
    pub y: f32,
    /// Its width.
    pub width: f32,
    /// Its height.
    pub height: f32,
    /// The angle by which it is turned around (`turn_x`, `turn_y`), in degrees clockwise.
    pub turn: f32,
    /// The centre of that turn.
    pub turn_x: f32,
    /// The centre of that turn.
    pub turn_y: f32,
}

/// The part of the font height above the base line that a rectangle covers.
const RECT_ASCENT: f32 = 0.95;
/// The part of the font height below the base line that a rectangle covers.
const RECT_DESCENT: f32 = 0.3;

impl TextRun {
    /// Returns the rectangle of its characters from offset `start` up to `end`; `None` if it has none of them.
    pub fn rect(&self, start: usize, end: usize) -> Option<TextRect> {
        let first = start.saturating_sub(self.start);
        let last = end.saturating_sub(self.start).min(self.chars);
        let edges = self.edges.get(first..last).filter(|edges| !edges.is_empty())?;
        let left = edges.iter().map(|edge| edge.0).fold(f32::INFINITY, f32::min);
        let right = edges.iter().map(|edge| edge.1).fold(f32::NEG_INFINITY, f32::max);
        Some(TextRect {
            x: self.x + left,
            y: self.y - RECT_ASCENT * self.size,
            width: (right - left).max(0.0),
            height: (RECT_ASCENT + RECT_DESCENT) * self.size,
            turn: self.turn,
            turn_x: self.x,
            turn_y: self.y,
        })
    }
}

/// Returns the runs of a text in its order. Characters without a place belong to a run only between two others of it.
pub fn runs(text: &PlacedText) -> Vec<TextRun> {
    let mut runs = Vec::new();
    let mut open: Option<OpenRun> = None;
    for (offset, placed) in text.chars().iter().enumerate() {
        match (placed.place, open.as_mut()) {
            (Some(place), Some(run)) if run.is_continued_by(&place) => run.push(placed, place),
            (Some(place), _) => {
                runs.extend(open.take().map(OpenRun::close));
                open = Some(OpenRun::new(offset, placed, place));
            }
            (None, Some(run)) if placed.c == ' ' => run.push_space(),
            (None, _) => runs.extend(open.take().map(OpenRun::close)),
        }
        if runs.len() >= MAX_RUNS {
            return runs;
        }
    }
    runs.extend(open.map(OpenRun::close));
    runs
}

/// A run that may be continued.
struct OpenRun {
    start: usize,
    /// The left and right edge of each character, and `None` for spaces.
    edges: Vec<Option<(f64, f64)>>,
    last: CharBox,
    /// Whether each character is left of the one before; unknown for a single one.
    is_leftwards: Option<bool>,
    has_rtl: bool,
}

impl OpenRun {
    fn new(start: usize, placed: &PlacedChar, place: CharBox) -> Self {
        let has_rtl = letters::is_right_to_left(placed.c);
        Self { start, edges: vec![Some((place.x0, place.x1))], last: place, is_leftwards: None, has_rtl }
    }

    fn is_continued_by(&self, place: &CharBox) -> bool {
        let (last, size) = (&self.last, self.last.size.max(place.size));
        let is_level = (place.y - last.y).abs() < MAX_DIFFERENCE * size;
        let is_alike = (place.size - last.size).abs() < MAX_DIFFERENCE * size && place.turn == last.turn;
        let gaps = -MAX_OVERLAP * size..MAX_GAP * size;
        let is_beside = match self.is_leftwards {
            Some(true) => gaps.contains(&(last.x0 - place.x1)),
            Some(false) => gaps.contains(&(place.x0 - last.x1)),
            None => gaps.contains(&(last.x0 - place.x1)) || gaps.contains(&(place.x0 - last.x1)),
        };
        is_level && is_alike && is_beside
    }

    fn push(&mut self, placed: &PlacedChar, place: CharBox) {
        if self.is_leftwards.is_none() && place.x0 != self.last.x0 {
            self.is_leftwards = Some(place.x0 < self.last.x0);
        }
        self.has_rtl |= letters::is_right_to_left(placed.c);
        self.edges.push(Some((place.x0, place.x1)));
        self.last = CharBox { size: self.last.size.max(place.size), ..place };
    }

    fn push_space(&mut self) {
        self.edges.push(None);
    }

    fn close(mut self) -> TextRun {
        // A space at the end is in front of a line end, or of another run.
        while self.edges.last().is_some_and(Option::is_none) {
            self.edges.pop();
        }
        let placed = || self.edges.iter().flatten();
        let left = placed().map(|edge| edge.0).fold(f64::INFINITY, f64::min);
        let right = placed().map(|edge| edge.1).fold(f64::NEG_INFINITY, f64::max);
        let (x, y) = rotation::to_page(left, self.last.y, self.last.turn);
        // A turn of nearly 360 degrees is a slight one to the left.
        let turn = if self.last.turn > 180.0 { self.last.turn - 360.0 } else { self.last.turn };
        TextRun {
            x: rounded(x),
            y: rounded(y),
            size: rounded(self.last.size),
            length: rounded(right - left),
            turn: rounded(turn),
            is_rtl: self.is_leftwards.unwrap_or(self.has_rtl),
            start: self.start,
            chars: self.edges.len(),
            edges: edges_from(left, &self.edges),
        }
    }
}

/// Returns the edges as distances from `left`. A space reaches from the character before it to the one behind it.
fn edges_from(left: f64, edges: &[Option<(f64, f64)>]) -> Vec<(f32, f32)> {
    let mut found = Vec::with_capacity(edges.len());
    let mut before: Option<(f64, f64)> = None;
    for (n, edge) in edges.iter().enumerate() {
        let (from, to) = edge.unwrap_or_else(|| {
            let behind =
                edges.iter().skip(n).flatten().next().or(before.as_ref()).copied().unwrap_or((left, left));
            let before = before.unwrap_or(behind);
            if behind.0 < before.0 { (behind.1, before.0) } else { (before.1, behind.0) }
        });
        before = edge.or(before);
        let (from, to) = (from.min(to), to.max(from));
        found.push((rounded(from - left), rounded(to - left)));
    }
    found
}

/// Returns a length in hundredths, which is finer than any screen shows.
fn rounded(length: f64) -> f32 {
    ((length * 100.0).round() / 100.0) as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::glyphs::Glyph;
    use super::*;

    fn glyph(text: &str, x0: f64, y: f64) -> PlacedText {
        PlacedText::of_glyph(&Glyph { text: text.to_owned(), x0, x1: x0 + 5.0, y, size: 10.0 })
    }

    /// A line whose glyphs are 5 wide, from `x` on; spaces are not painted.
    fn line(text: &str, x: f64, y: f64) -> PlacedText {
        let mut line = PlacedText::default();
        for (n, c) in text.chars().enumerate() {
            match c {
                ' ' => line.push_str(" "),
                _ => line.append(glyph(&c.to_string(), x + 5.0 * n as f64, y)),
            }
        }
        line
    }

    #[test]
    fn line_is_one_run_with_its_offsets() {
        let mut text = line("Two words", 50.0, 100.0);
        text.push_str("\n");
        text.append(line("below", 50.0, 112.0));

        let runs = runs(&text);

        let found: Vec<_> = runs.iter().map(|run| (run.start, run.chars, run.x, run.y, run.length)).collect();
        assert_eq!(found, [(0, 9, 50.0, 100.0, 45.0), (10, 5, 50.0, 112.0, 25.0)]);
        assert_eq!(runs[0].edges[3], (15.0, 20.0), "the space has the width of its gap");
    }

    #[test]
    fn cells_of_a_table_are_separate_runs() {
        let mut text = line("one", 0.0, 0.0);
        text.push_str(" ");
        text.append(line("two", 90.0, 0.0));

        let runs = runs(&text);

        assert_eq!(runs.iter().map(|run| (run.start, run.chars)).collect::<Vec<_>>(), [(0, 3), (4, 3)]);
    }

    #[test]
    fn leftward_run_has_its_left_edge() {
        let mut text = glyph("ש", 20.0, 0.0);
        text.append(glyph("ל", 15.0, 0.0));
        text.append(glyph("ם", 10.0, 0.0));

        let found = runs(&text);

        let [run] = found.as_slice() else { panic!("one run") };
        assert!(run.is_rtl && run.x == 10.0 && run.length == 15.0);
        assert_eq!(run.edges, [(10.0, 15.0), (5.0, 10.0), (0.0, 5.0)]);
    }

    #[test]
    fn rectangle_covers_the_chosen_characters() {
        let run = &runs(&line("Two words", 50.0, 100.0))[0];

        let rect = run.rect(4, 9).unwrap();

        assert_eq!((rect.x, rect.width, rect.y), (70.0, 25.0, 90.5));
        assert_eq!(run.rect(9, 12), None);
        assert_eq!(run.rect(0, 200).unwrap().width, 45.0);
    }

    proptest! {
        #[test]
        fn every_painted_character_is_in_one_run(
            placed in prop::collection::vec(("[a-zא-ת]{1,3}", 0.0..300.0f64, 0.0..300.0f64, any::<bool>()), 0..40),
        ) {
            let mut text = PlacedText::default();
            for (word, x, y, spaced) in &placed {
                text.append(glyph(word, *x, *y));
                text.push_str(if *spaced { " " } else { "" });
            }

            let mut covered = vec![0; text.chars().len()];
            for run in runs(&text) {
                prop_assert_eq!(run.edges.len(), run.chars);
                covered[run.start..run.start + run.chars].iter_mut().for_each(|count| *count += 1);
            }

            for (placed, count) in text.chars().iter().zip(covered) {
                prop_assert!(count <= 1 && (placed.place.is_none() || count == 1));
            }
        }
    }
}
