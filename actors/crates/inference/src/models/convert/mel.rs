//! The filters by which Whisper hears: triangles, evenly spaced on Slaney's mel scale, each of the same area.

/// Points of one spectrum.
const POINTS: usize = 201;
/// Hertz between two of them.
const STEP: f64 = 40.0;
const HIGHEST: f64 = 8_000.0;

/// The filters, one row of 201 for each of `count`.
pub fn filters(count: usize) -> Vec<f32> {
    let edges: Vec<f64> = edges(count + 2);
    let triangle = |edges: &[f64]| match edges {
        [low, middle, high] => {
            (0..POINTS).map(|point| weight(point as f64 * STEP, *low, *middle, *high)).collect()
        }
        _ => Vec::new(),
    };
    edges.windows(3).flat_map(triangle).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "the model has single precision")]
fn weight(hertz: f64, low: f64, middle: f64, high: f64) -> f32 {
    let (rising, falling) = ((hertz - low) / (middle - low), (high - hertz) / (high - middle));
    // A sum with zero has no sign where it is none: the same bytes on every machine.
    (rising.min(falling).max(0.0) * (2.0 / (high - low)) + 0.0) as f32
}

fn edges(count: usize) -> Vec<f64> {
    let most = 15.0 + 27.0 * (HIGHEST / 1000.0).ln() / 6.4_f64.ln();
    let step = most / (count - 1) as f64;
    (0..count).map(|place| hertz(if place + 1 == count { most } else { place as f64 * step })).collect()
}

/// Linear up to 1,000 Hz, logarithmic above.
fn hertz(mel: f64) -> f64 {
    let step = 6.4_f64.ln() / 27.0;
    if mel >= 15.0 { 1000.0 * (step * (mel - 15.0)).exp() } else { 200.0 / 3.0 * mel }
}
