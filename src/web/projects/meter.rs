//! The meter: what an assistant gets of a project, by its parts.

use actors::operations::projects::{ContextPart, MeasureContextResponse};

use crate::web::locale::Locale;
use crate::web::strings::ToMessageValue;

/// Width of the drawing in its own units, as its `viewBox` says.
const METER_WIDTH: f64 = 272.0;
/// Gap between two bars.
const BAR_GAP: f64 = 1.0;
/// The narrowest bar of a part that has anything.
const MIN_BAR_WIDTH: f64 = 1.0;

/// The meter with its legend.
pub struct MeterView {
    /// The maximum that an assistant asks for, in characters.
    pub max: usize,
    /// The characters that it gets.
    pub chars: usize,
    /// The bars.
    pub bars: Vec<MeterBar>,
    /// The rows of the legend.
    pub rows: Vec<MeterRow>,
    /// The name of the drawing, in words.
    pub name: String,
    /// Whether something is cut.
    pub is_cut: bool,
}

/// A bar of the drawing.
pub struct MeterBar {
    /// Its class.
    pub class: &'static str,
    /// Where it begins.
    pub x: String,
    /// How wide it is.
    pub width: String,
}

/// A row of the legend.
pub struct MeterRow {
    /// The class of its bar.
    pub class: &'static str,
    /// The key of its name.
    pub key: &'static str,
    /// Its characters.
    pub chars: usize,
    /// How many entries are given of how many; `None` for what is never cut.
    pub entries: Option<(usize, usize)>,
    /// Whether entries are cut.
    pub is_cut: bool,
}

impl MeterView {
    /// Returns the meter of a measured context.
    pub fn new(size: &MeasureContextResponse, locale: &Locale) -> Self {
        let whole = MeterRow {
            class: "m1",
            key: "projects-part-instructions",
            chars: size.instructions_chars,
            entries: None,
            is_cut: false,
        };
        let rows = vec![
            whole,
            row("m2", "projects-part-decisions", size.decisions),
            row("m3", "projects-part-notes", size.notes),
            row("m4", "projects-part-passages", size.passages),
            row("m5", "projects-part-sources", size.sources),
        ];
        let sizes = [
            ("max", size.max_chars.to_message_value()),
            ("instructions", size.instructions_chars.to_message_value()),
            ("decisions", size.decisions.chars.to_message_value()),
            ("notes", size.notes.chars.to_message_value()),
            ("passages", size.passages.chars.to_message_value()),
            ("sources", size.sources.chars.to_message_value()),
            ("cut", size.sources.total.saturating_sub(size.sources.given).to_message_value()),
            ("total", size.sources.total.to_message_value()),
        ];
        Self {
            max: size.max_chars,
            chars: size.chars,
            bars: bars(&rows, size.max_chars.max(size.chars)),
            name: locale.t_with("projects-meter-name", &sizes),
            is_cut: size.truncated,
            rows,
        }
    }
}

fn row(class: &'static str, key: &'static str, part: ContextPart) -> MeterRow {
    let is_cut = part.given < part.total;
    MeterRow { class, key, chars: part.chars, entries: Some((part.given, part.total)), is_cut }
}

/// Returns the bars of the parts, one beside the other. The full width stands for `room` characters.
#[expect(clippy::cast_precision_loss, reason = "a context has at most some ten thousand characters")]
fn bars(rows: &[MeterRow], room: usize) -> Vec<MeterBar> {
    let scale = METER_WIDTH / room.max(1) as f64;
    let mut x = 0.0;
    let mut bars = Vec::with_capacity(rows.len());
    // An empty list has the two characters of its brackets.
    for row in rows.iter().filter(|row| row.chars > 2) {
        let width = (row.chars as f64 * scale - BAR_GAP).max(MIN_BAR_WIDTH);
        let width = width.min((METER_WIDTH - x).max(0.0));
        bars.push(MeterBar { class: row.class, x: format!("{x:.2}"), width: format!("{width:.2}") });
        x += width + BAR_GAP;
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_side_by_side_within_the_meter() {
        let part = |chars| row("m2", "projects-part-decisions", ContextPart { chars, given: 1, total: 1 });
        let rows = [part(8_000), part(2), part(4_000), part(4_000)];

        let shown: Vec<(String, String)> =
            bars(&rows, 16_000).into_iter().map(|bar| (bar.x, bar.width)).collect();

        let expected = [("0.00", "135.00"), ("136.00", "67.00"), ("204.00", "67.00")];
        assert_eq!(shown, expected.map(|(x, width)| (x.to_owned(), width.to_owned())));
    }
}
