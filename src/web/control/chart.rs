//! The chart of calls a day: its geometry, which the template writes as SVG.

use actors::operations::activity_days::ActivityDayView;

/// Width of the chart in its own units; the page scales it.
const WIDTH: f64 = 800.0;
/// Left edge of the bars; the labels of the axis are before it.
const LEFT: f64 = 34.0;
/// Upper edge of the greatest bar.
const TOP: f64 = 12.0;
/// The line on which the bars stand.
const BASE: f64 = 136.0;
/// Part of a day's width that its bar takes.
const BAR_SHARE: f64 = 0.64;
/// Height of the smallest bar that is drawn: a single call stays visible.
const MIN_BAR_HEIGHT: f64 = 1.5;
/// Lines of the grid above the base.
const GRID_LINES: u64 = 3;
/// Days between two labels of the axis.
const LABEL_DAYS: usize = 7;

/// A chart, ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The lines of the grid with their labels, the base first.
    pub lines: Vec<GridLine>,
    /// One group for each day.
    pub bars: Vec<DayBar>,
}

/// A line of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridLine {
    /// Its height.
    pub y: String,
    /// The baseline of its label.
    pub label_y: String,
    /// The number of calls.
    pub calls: u64,
}

/// The bar of a day.
#[derive(Clone, Debug, PartialEq)]
pub struct DayBar {
    /// The day.
    pub day: ActivityDayView,
    /// Left edge.
    pub x: String,
    /// Width.
    pub width: String,
    /// The middle, for the label.
    pub middle: String,
    /// Whether the axis names the day.
    pub has_label: bool,
    /// The parts, from the base up.
    pub parts: Vec<BarPart>,
    /// Height of the mark of refused calls; `None` if none was refused.
    pub refused_y: Option<String>,
}

/// A part of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct BarPart {
    /// The class of its colour.
    pub class: &'static str,
    /// Upper edge.
    pub y: String,
    /// Height.
    pub height: String,
}

impl Chart {
    /// Lays out the chart of these days.
    #[expect(clippy::cast_precision_loss, reason = "the chart is only shown")]
    pub fn of(days: &[ActivityDayView]) -> Self {
        let most = days.iter().map(ActivityDayView::calls).max().unwrap_or_default();
        let top = round_up(most.max(GRID_LINES));
        let height_of = |calls: u64| (BASE - TOP) * calls as f64 / top as f64;
        let step = (WIDTH - LEFT) / days.len().max(1) as f64;
        let lines = (0..=GRID_LINES).map(|line| {
            let calls = top / GRID_LINES * line;
            let y = BASE - height_of(calls);
            GridLine { y: text(y), label_y: text(y + 4.0), calls }
        });
        let bar = |(index, day): (usize, &ActivityDayView)| {
            let left = LEFT + step * (index as f64 + (1.0 - BAR_SHARE) / 2.0);
            let mut y = BASE;
            let mut parts = Vec::new();
            for (class, calls) in [("b-rest", day.rest.calls), ("b-mcp", day.mcp.calls)] {
                if calls > 0 {
                    let height = height_of(calls).max(MIN_BAR_HEIGHT);
                    y -= height;
                    parts.push(BarPart { class, y: text(y), height: text(height) });
                }
            }
            DayBar {
                day: day.clone(),
                x: text(left),
                width: text(step * BAR_SHARE),
                middle: text(left + step * BAR_SHARE / 2.0),
                has_label: (days.len() - 1 - index).is_multiple_of(LABEL_DAYS),
                parts,
                refused_y: (day.refused() > 0).then(|| text(y - 5.0)),
            }
        };
        Self { lines: lines.collect(), bars: days.iter().enumerate().map(bar).collect() }
    }
}

/// Rounds the greatest number of calls up to one whose thirds are round too: 3, 6, 9, 15, 30, 60, 90, 150, ...
fn round_up(most: u64) -> u64 {
    let mut unit: u64 = 1;
    loop {
        for factor in [3, 6, 9, 15] {
            let top = unit.saturating_mul(factor);
            if top >= most {
                return top;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// Writes a length with one decimal.
fn text(length: f64) -> String {
    format!("{length:.1}")
}

#[cfg(test)]
mod tests {
    use actors::operations::activity_days::CallCounts;
    use values::time::Timestamp;

    use super::*;

    fn day(rest: u64, mcp: u64, refused: u64) -> ActivityDayView {
        ActivityDayView {
            day: Timestamp::from_millis(1_714_996_800_000).day(),
            rest: CallCounts { calls: rest, refused },
            mcp: CallCounts { calls: mcp, refused: 0 },
        }
    }

    #[test]
    fn axis_ends_at_a_round_number() {
        for (most, top) in [(0, 3), (3, 3), (4, 6), (10, 15), (16, 30), (812, 900), (901, 1_500)] {
            assert_eq!(round_up(most.max(3)), top, "{most}");
        }
        let chart = Chart::of(&[day(812, 0, 0)]);
        assert_eq!(chart.lines.iter().map(|line| line.calls).collect::<Vec<_>>(), [0, 300, 600, 900]);
    }

    #[test]
    fn bar_stacks_both_surfaces_on_the_base() {
        let chart = Chart::of(&[day(3, 6, 1), day(0, 0, 0)]);
        let [first, second] = &chart.bars[..] else { panic!("{chart:?}") };

        let heights: Vec<_> = first.parts.iter().map(|part| (part.class, part.height.as_str())).collect();
        assert_eq!(heights, [("b-rest", "41.3"), ("b-mcp", "82.7")]);
        assert_eq!((first.parts[0].y.as_str(), first.parts[1].y.as_str()), ("94.7", "12.0"));
        assert!(first.refused_y.is_some() && second.parts.is_empty() && second.refused_y.is_none());
    }

    #[test]
    fn no_day_is_no_chart() {
        assert_eq!(Chart::of(&[]).bars, []);
    }
}
