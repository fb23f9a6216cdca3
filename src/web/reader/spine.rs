//! The line at the edge of a text: how far one is, and where the highlights are.

use actors::operations::reading::{ReadPageResponse, drawn_color};
use values::kind::AnchorState;

/// The height of the drawing, in its own units.
const HEIGHT: i64 = 1_000;
/// Highlights that are drawn; more would cover the line.
const MAX_TICKS: usize = 500;

/// The line with its measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spine {
    /// Up to where the text was read.
    pub done: i64,
    /// The highlights.
    pub ticks: Vec<SpineTick>,
}

/// A highlight on the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpineTick {
    /// Its distance from the top.
    pub top: i64,
    /// Its colour.
    pub color: &'static str,
}

impl Spine {
    /// Draws the line of a document.
    #[expect(clippy::cast_possible_truncation, reason = "the result is within the height")]
    pub fn new(document: &ReadPageResponse, progress: f64) -> Self {
        let length = i64::from(document.total_chars).max(1);
        let placed =
            document.highlights.iter().filter(|highlight| highlight.anchor_state != AnchorState::Lost);
        let ticks = placed.take(MAX_TICKS).map(|highlight| SpineTick {
            top: (i64::from(highlight.start_offset) * HEIGHT / length).clamp(0, HEIGHT - 4),
            color: drawn_color(highlight.color.as_deref()),
        });
        Self { done: (progress.clamp(0.0, 1.0) * 1_000.0).round() as i64, ticks: ticks.collect() }
    }
}
