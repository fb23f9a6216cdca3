//! Counts in the arithmetic of scores.

/// Converts a count of words, terms or hits. Exact below 2^24, which none of them reaches.
#[expect(clippy::cast_precision_loss, reason = "counts of words, terms and hits, far below 2^24")]
pub fn to_f32(count: usize) -> f32 {
    count as f32
}
