//! Collects the characters of a page with their positions, in the order of painting.

use std::collections::HashMap;

use hayro_interpret::font::{Glyph as FontGlyph, GlyphRun, PositionedGlyph};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::kurbo::{Affine, BezPath, Point};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};
use hayro_syntax::object::{Dict, String as PdfString};

use super::{letters, strings};

/// The maximum number of glyphs of a page; further ones are ignored.
const MAX_GLYPHS: usize = 200_000;
/// The maximum length of a replacement text that is used. Longer ones replace a whole line or paragraph, whose glyphs have positions.
const MAX_REPLACEMENT_CHARS: usize = 8;
/// The same character painted twice within this share of its size is one bold character.
const MAX_TWIN_DISTANCE: f64 = 0.1;
/// Glyphs with greater coordinates are outside of the page.
const MAX_COORDINATE: f64 = 1e6;

/// A glyph in the upright coordinate system of its text: x to the right, y down.
#[derive(Clone, Debug, PartialEq)]
pub struct Glyph {
    /// Its text, which is never empty.
    pub text: String,
    /// Its left edge, in units of the page.
    pub x0: f64,
    /// The end of its advance: the position of the next glyph, rather than the edge of the ink.
    pub x1: f64,
    /// The base line; y grows downwards.
    pub y: f64,
    /// The height of its font on the page, after all scaling.
    pub size: f64,
}

impl Glyph {
    /// Returns whether it is white space alone.
    pub fn is_space(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }
}

/// A glyph at its position on the page, before its text is rotated upright.
#[derive(Clone, Debug)]
pub struct PaintedGlyph {
    /// Its text, folded by `letters::fold`; never empty once collected.
    pub text: String,
    /// Its origin on the base line, in page coordinates.
    pub origin: Point,
    /// The end of its advance, in page coordinates.
    pub end: Point,
    /// The height of its font on the page, after all scaling.
    pub size: f64,
}

/// Collects the glyphs of one page. It is a device of the interpreter that draws nothing.
#[derive(Default)]
pub struct GlyphCollector {
    /// In the order in which they are painted, which is mostly the reading order.
    pub glyphs: Vec<PaintedGlyph>,
    /// Number of glyphs whose font maps them to no character, which are left out.
    pub unknown: usize,
    /// Number of painted images; a page with some and without text is a scan.
    pub pictures: usize,
    width: f64,
    height: f64,
    /// The marked content that is open, the innermost last.
    replaced: Vec<Option<Replacement>>,
    /// Origins of the glyphs by their text and the cell of a grid, to find twins without a comparison with all glyphs.
    seen: HashMap<(String, i64, i64), Vec<Point>>,
}

/// The replacement text of marked content (`ActualText`, ISO 32000-1, 14.9.4).
struct Replacement {
    text: String,
    at: Option<usize>,
}

impl GlyphCollector {
    /// Creates a collector for a page of this size; glyphs outside of it are ignored.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, ..Self::default() }
    }

    fn paint(&mut self, glyph: &PositionedGlyph<'_>, on_page: Affine, mode: WritingMode) {
        let Some(mut painted) = place(glyph, on_page * glyph.transform(), mode) else { return };
        // Text outside of the page is invisible: marks of a printer, or words hidden from readers.
        if self.glyphs.len() >= MAX_GLYPHS || !self.on_page(&painted) {
            return;
        }
        match character(glyph) {
            Some(text) => painted.text = letters::fold(&text),
            None => self.unknown += 1,
        }
        // The replacement comes before the test for empty text: it may be the only text that the glyph has.
        if self.is_replaced(&mut painted) || painted.text.is_empty() || self.is_twin(&painted) {
            return;
        }
        self.glyphs.push(painted);
    }

    fn on_page(&self, glyph: &PaintedGlyph) -> bool {
        let room = glyph.size;
        let across = |point: Point| (-room..=self.width + room).contains(&point.x);
        let down = |point: Point| (-room..=self.height + room).contains(&point.y);
        glyph.size.is_finite() && [glyph.origin, glyph.end].iter().all(|point| across(*point) && down(*point))
    }

    /// Replaces the text of the first glyph of marked content; the further glyphs only widen it.
    fn is_replaced(&mut self, painted: &mut PaintedGlyph) -> bool {
        let count = self.glyphs.len();
        // The innermost replacement applies. Marked content without one is a `None` on the stack, so that
        // begin and end stay paired.
        let Some(replacement) = self.replaced.iter_mut().rev().find_map(Option::as_mut) else { return false };
        match replacement.at.and_then(|at| self.glyphs.get_mut(at)) {
            Some(first) => {
                first.end = painted.end;
                true
            }
            None => {
                painted.text.clone_from(&replacement.text);
                replacement.at = Some(count);
                false
            }
        }
    }

    fn is_twin(&mut self, glyph: &PaintedGlyph) -> bool {
        let cell = glyph.size.max(1.0);
        let near = glyph.size * MAX_TWIN_DISTANCE;
        let key = |dx: f64, dy: f64| {
            let cell = |at: f64| (at / cell).floor() as i64;
            (glyph.text.clone(), cell(glyph.origin.x + dx), cell(glyph.origin.y + dy))
        };
        let corners = [(-near, -near), (-near, near), (near, -near), (near, near)];
        // A twin may be in a neighbouring cell of the grid, so the cells at four corners
        // around the glyph are searched.
        let twin = corners.iter().any(|(dx, dy)| {
            let seen = self.seen.get(&key(*dx, *dy));
            seen.is_some_and(|seen| seen.iter().any(|other| other.distance(glyph.origin) < near))
        });
        if !twin {
            self.seen.entry(key(0.0, 0.0)).or_default().push(glyph.origin);
        }
        twin
    }
}

/// Returns the text of a glyph, if its font defines it.
fn character(glyph: &FontGlyph<'_>) -> Option<String> {
    let text = match glyph.as_unicode() {
        Some(BfString::Char(one)) => one.to_string(),
        Some(BfString::String(some)) => some,
        None => guess(glyph)?.to_string(),
    };
    let known = !text.is_empty() && !text.chars().any(letters::is_unknown);
    known.then_some(text)
}

/// Guesses the character of a glyph by its code. Almost all Type 3 fonts without standard glyph names use ASCII codes; other fonts without
/// character information use arbitrary codes.
fn guess(glyph: &FontGlyph<'_>) -> Option<char> {
    let code = match glyph {
        FontGlyph::Type3(drawn) => drawn.char_code(),
        FontGlyph::Outline(_) => return None,
    };
    char::from_u32(code).filter(|c| matches!(c, ' '..='~'))
}

/// Returns a glyph with its position; `None` if the position is not finite.
fn place(glyph: &FontGlyph<'_>, on_page: Affine, mode: WritingMode) -> Option<PaintedGlyph> {
    let advance = match glyph {
        FontGlyph::Outline(outline) => outline.advance_width(),
        FontGlyph::Type3(drawn) => drawn.advance_width(),
    };
    let corner = on_page * Point::ZERO;
    // Fonts define glyphs in thousandths of their size (ISO 32000-1, 9.2.4).
    let size = (on_page * Point::new(0.0, 1000.0)).distance(corner);
    let (origin, end) = match mode {
        WritingMode::Horizontal => {
            // Half an em stands for an unknown width. Damaged fonts state absurd ones.
            let advance = f64::from(advance.unwrap_or(500.0)).clamp(-5000.0, 5000.0);
            (corner, on_page * Point::new(advance, 0.0))
        }
        // The middle of the column is used as base line; a character is attached by the corner of its square.
        WritingMode::Vertical => (on_page * Point::new(500.0, 880.0), on_page * Point::new(500.0, -120.0)),
    };
    let real =
        [origin.x, origin.y, end.x, end.y].iter().all(|at| at.is_finite() && at.abs() < MAX_COORDINATE);
    (real && size > 0.0 && size < MAX_COORDINATE).then_some(PaintedGlyph {
        text: String::new(),
        origin,
        end,
        size,
    })
}

impl<'a> Device<'a> for GlyphCollector {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let from = self.glyphs.len();
        for glyph in run.glyphs() {
            self.paint(glyph, props.transform, run.writing_mode());
        }
        let drawn = run.glyphs().iter().any(|glyph| matches!(**glyph, FontGlyph::Type3(_)));
        // The unit of a Type 3 font is known only from its glyphs, so the run is measured after all
        // of it has been placed.
        if drawn && let Some(new) = self.glyphs.get_mut(from..) {
            measure_drawn(new);
        }
    }

    fn begin_marked_content(&mut self, _: &[u8], properties: Option<&Dict<'_>>) {
        let text = properties.and_then(|properties| properties.get::<PdfString<'_>>("ActualText"));
        let text = text.map(|text| strings::decode_text(text.as_bytes()));
        let short = text.filter(|text| text.chars().count() <= MAX_REPLACEMENT_CHARS);
        self.replaced.push(short.map(|text| Replacement { text: letters::fold(&text), at: None }));
    }

    fn end_marked_content(&mut self) {
        self.replaced.pop();
    }

    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {
        self.pictures += 1;
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
}

/// Type 3 fonts may use any unit: if their size is not plausible, it is estimated from the width of the letters.
fn measure_drawn(glyphs: &mut [PaintedGlyph]) {
    let widths: Vec<f64> = glyphs.iter().map(|glyph| glyph.end.distance(glyph.origin)).collect();
    let mean = widths.iter().sum::<f64>() / widths.len().max(1) as f64;
    // Letters are about half as wide as their font is high.
    let estimate = mean * 2.0;
    for glyph in glyphs {
        if estimate > 0.0 && !(0.3..3.0).contains(&(glyph.size / estimate)) {
            glyph.size = estimate;
        }
    }
}
