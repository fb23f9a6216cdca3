//! The mel filter bank of Whisper: triangular filters of equal area, evenly spaced on Slaney's mel scale.

const SPECTRUM_POINTS: usize = 201;
/// Distance of two points in hertz.
const POINT_HERTZ: f64 = 40.0;
const MAX_HERTZ: f64 = 8_000.0;

/// Returns `count` filters, one row of 201 weights each.
pub fn filters(count: usize) -> Vec<f32> {
    let edges: Vec<f64> = edges(count + 2);
    let triangle = |edges: &[f64]| match edges {
        [low, middle, high] => (0..SPECTRUM_POINTS)
            .map(|point| weight(point as f64 * POINT_HERTZ, *low, *middle, *high))
            .collect(),
        _ => Vec::new(),
    };
    edges.windows(3).flat_map(triangle).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "the model has single precision")]
fn weight(hertz: f64, low: f64, middle: f64, high: f64) -> f32 {
    let (rising, falling) = ((hertz - low) / (middle - low), (high - hertz) / (high - middle));
    // Adding zero turns -0.0 into 0.0, so that the bytes are the same on every machine.
    (rising.min(falling).max(0.0) * (2.0 / (high - low)) + 0.0) as f32
}

fn edges(count: usize) -> Vec<f64> {
    let max_mel = 15.0 + 27.0 * (MAX_HERTZ / 1000.0).ln() / 6.4_f64.ln();
    let step = max_mel / (count - 1) as f64;
    (0..count).map(|edge| hertz(if edge + 1 == count { max_mel } else { edge as f64 * step })).collect()
}

/// Converts mels to hertz: linear up to 1,000 Hz, logarithmic above.
fn hertz(mel: f64) -> f64 {
    let step = 6.4_f64.ln() / 27.0;
    if mel >= 15.0 { 1000.0 * (step * (mel - 15.0)).exp() } else { 200.0 / 3.0 * mel }
}
