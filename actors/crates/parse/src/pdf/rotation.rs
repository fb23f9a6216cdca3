//! Rotates text of each direction upright, so that later steps see lines from left to right.

use std::collections::BTreeMap;

use super::glyphs::{Glyph, PaintedGlyph};

/// Directions that differ by less are treated as one, because a scan may be slightly rotated.
const ANGLE_STEP_DEGREES: f64 = 5.0;

/// The glyphs of one direction, rotated upright.
#[derive(Debug)]
pub struct UprightGlyphs {
    /// The direction from which they were rotated, in degrees clockwise.
    pub turn: f64,
    /// In the order of painting.
    pub glyphs: Vec<Glyph>,
}

/// Returns the point of the page that is at this point once its text is rotated upright from `turn` degrees.
pub fn to_page(x: f64, y: f64, turn: f64) -> (f64, f64) {
    let (sin, cos) = turn.to_radians().sin_cos();
    (x * cos - y * sin, x * sin + y * cos)
}

/// Returns the glyphs of a page by direction, the direction with most glyphs first; each in the order of painting.
pub fn rotate_upright(painted: Vec<PaintedGlyph>) -> Vec<UprightGlyphs> {
    let mut groups: BTreeMap<i64, Vec<(f64, PaintedGlyph)>> = BTreeMap::new();
    for glyph in painted {
        let angle = direction(&glyph);
        let step = (angle / ANGLE_STEP_DEGREES).round() as i64;
        // Steps are taken modulo a whole turn, so that -1 and 359 degrees are one direction.
        let whole_turn = (360.0 / ANGLE_STEP_DEGREES) as i64;
        groups.entry(step.rem_euclid(whole_turn)).or_default().push((angle, glyph));
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    // The main text comes first; a margin note or a stamp in another direction follows it.
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups.into_iter().map(to_upright).collect()
}

/// Returns the direction in which a glyph advances, in degrees relative to the page.
fn direction(glyph: &PaintedGlyph) -> f64 {
    let along = glyph.end - glyph.origin;
    // A glyph without an advance, such as a combining accent, has no direction and counts as upright.
    if along.hypot() < glyph.size * 0.01 { 0.0 } else { along.y.atan2(along.x).to_degrees() }
}

fn to_upright(mut group: Vec<(f64, PaintedGlyph)>) -> UprightGlyphs {
    let mut angles: Vec<f64> = group.iter().map(|(angle, _)| angle.rem_euclid(360.0)).collect();
    angles.sort_by(f64::total_cmp);
    // The median is one of the angles, so around zero the middle of 359 and 1 degrees is not 180.
    let turn = angles.get(angles.len() / 2).copied().unwrap_or_default();
    let (sin, cos) = turn.to_radians().sin_cos();
    let upright = |(_, glyph): (f64, PaintedGlyph)| {
        let along = |x: f64, y: f64| x * cos + y * sin;
        let (a, b) = (along(glyph.origin.x, glyph.origin.y), along(glyph.end.x, glyph.end.y));
        let y = glyph.origin.y * cos - glyph.origin.x * sin;
        Glyph { text: glyph.text, x0: a.min(b), x1: a.max(b), y, size: glyph.size }
    };
    UprightGlyphs { turn, glyphs: group.drain(..).map(upright).collect() }
}

#[cfg(test)]
mod tests {
    use hayro_interpret::kurbo::Point;

    use super::*;

    fn painted(text: &str, origin: (f64, f64), end: (f64, f64)) -> PaintedGlyph {
        PaintedGlyph { text: text.to_owned(), origin: Point::from(origin), end: Point::from(end), size: 10.0 }
    }

    #[test]
    fn vertical_text_is_rotated() {
        let groups = rotate_upright(vec![
            painted("a", (100.0, 10.0), (100.0, 15.0)),
            painted("b", (100.0, 15.0), (100.0, 20.0)),
            painted("x", (0.0, 0.0), (5.0, 0.0)),
        ]);

        let [down, across] = groups.as_slice() else { panic!("two directions") };
        assert_eq!((across.glyphs.len(), down.turn), (1, 90.0));
        let [a, b] = down.glyphs.as_slice() else { panic!("two glyphs") };
        let (x, y) = to_page(a.x0, a.y, down.turn);
        assert!((x - 100.0).abs() < 1e-9 && (y - 10.0).abs() < 1e-9, "back at its place on the page");
        assert!((a.x1 - b.x0).abs() < 1e-9 && (a.y - b.y).abs() < 1e-9 && a.x0 < b.x0);
    }

    #[test]
    fn skewed_page_is_straightened() {
        let slope = 1f64.to_radians().tan();
        let at = |x: f64| (x, 50.0 + x * slope);
        let groups = rotate_upright(
            (0..20).map(|n| f64::from(n) * 5.0).map(|x| painted("a", at(x), at(x + 5.0))).collect(),
        );

        let [line] = groups.as_slice() else { panic!("one direction") };
        assert!(line.glyphs.windows(2).all(|pair| (pair[0].y - pair[1].y).abs() < 1e-6));
    }
}
