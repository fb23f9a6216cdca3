//! Changes the rate of a stream of samples with a windowed sinc. The ratio of the rates is exact, so a recording of hours does not
//! drift.
//!
//! The crate rubato was compared: it compensates its delay only by whole samples and needs eight more crates, and its FFT filter is
//! better above 7 kHz only.

use std::f64::consts::PI;

/// Zero crossings of the sinc on either side.
const ZERO_CROSSINGS: f64 = 16.0;
/// The share of the band that passes unchanged; what is above is attenuated before it aliases.
const PASSBAND_SHARE: f64 = 0.92;
/// Number of products that are computed in parallel.
const LANES: usize = 8;

/// Converts samples of one rate to another.
pub struct Resampler {
    up: usize,
    down: usize,
    width: usize,
    /// The filter, one row of `width` for each of the `up` positions between two samples.
    rows: Vec<f32>,
    /// Samples that are still needed; the first is at `-width/2 + 1` relative to the next output sample.
    pending: Vec<f32>,
    phase: usize,
}

impl Resampler {
    /// Creates a resampler; both rates are at least 1.
    pub fn new(from: u32, to: u32) -> Self {
        // A ratio of whole numbers: a step in floating point would add up to seconds over hours.
        let common = gcd(from, to).max(1);
        let (up, down) = ((to / common) as usize, (from / common) as usize);
        // Below the lower of both rates: what the new rate cannot hold would come back as other tones.
        let cutoff = (f64::from(to) / f64::from(from)).min(1.0) * PASSBAND_SHARE;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small positive number"
        )]
        // A multiple of half the lanes, so that the filter has no rest outside of the vectors.
        let half = ((ZERO_CROSSINGS / cutoff).ceil() as usize).next_multiple_of(LANES / 2);
        let width = 2 * half;
        let rows = (0..up).flat_map(|phase| row(phase as f64 / up as f64, half, cutoff)).collect();
        // Silence before the first sample, so that the first output is at the first input rather
        // than half a filter later.
        Self { up, down, width, rows, pending: vec![0.0; half - 1], phase: 0 }
    }

    /// Appends the resampled `samples` to `out`; the last few are kept until more follow.
    pub fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) {
        if self.up == self.down {
            return out.extend_from_slice(samples);
        }
        self.pending.extend_from_slice(samples);
        let mut at = 0;
        while let Some(around) = self.pending.get(at..at + self.width) {
            let row = self.rows.get(self.phase * self.width..).unwrap_or_default();
            out.push(product(around, row));
            self.phase += self.down;
            at += self.phase / self.up;
            self.phase %= self.up;
        }
        self.pending.drain(..at.min(self.pending.len()));
    }

    /// Appends the samples that were kept; nothing may be pushed afterwards.
    pub fn finish(&mut self, out: &mut Vec<f32>) {
        // Silence behind the last sample moves the samples that are kept through the filter.
        self.push(&vec![0.0; self.width / 2], out);
    }
}

/// Returns the filter for a point `between` two samples, as weights of the samples around it.
fn row(between: f64, half: usize, cutoff: f64) -> impl Iterator<Item = f32> {
    let weight = move |place: usize| {
        let distance = place as f64 - (half as f64 - 1.0) - between;
        let window = 0.5 + 0.5 * (PI * distance / half as f64).cos();
        cutoff * sinc(cutoff * distance) * if distance.abs() < half as f64 { window } else { 0.0 }
    };
    let weights: Vec<f64> = (0..2 * half).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    // Normalised, so that every position has the same loudness.
    weights.into_iter().map(move |weight| (weight / sum) as f32)
}

fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// Computes a dot product in lanes, which the compiler vectorises.
fn product(one: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (one, _) = one.as_chunks::<LANES>();
    let (other, _) = other.as_chunks::<LANES>();
    for (one, other) in one.iter().zip(other) {
        for ((sum, a), b) in sums.iter_mut().zip(one).zip(other) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sine(hertz: f64, rate: u32, count: usize) -> Vec<f32> {
        (0..count).map(|n| (2.0 * PI * hertz * n as f64 / f64::from(rate)).sin() as f32).collect()
    }

    fn all(from: u32, to: u32, samples: &[f32]) -> Vec<f32> {
        let (mut out, mut resampler) = (Vec::new(), Resampler::new(from, to));
        resampler.push(samples, &mut out);
        resampler.finish(&mut out);
        out
    }

    #[test]
    fn resampled_tone_keeps_pitch_loudness_and_phase() {
        for rate in [8_000, 11_025, 22_050, 32_000, 44_100, 48_000, 96_000] {
            let out = all(rate, 16_000, &sine(440.0, rate, rate as usize));
            let wanted = sine(440.0, 16_000, 16_000);
            let off = out.iter().zip(&wanted).skip(200).take(15_600).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f32::max) < 0.01, "{rate}");
        }
    }

    #[test]
    fn frequencies_above_the_new_rate_do_not_alias() {
        let out = all(48_000, 16_000, &sine(12_000.0, 48_000, 48_000));

        assert!(out.iter().skip(200).take(15_600).all(|sample| sample.abs() < 0.01));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn result_is_independent_of_pieces_and_exact_in_length(
            rate in prop::sample::select(vec![8_000u32, 11_025, 12_345, 44_100, 48_000]),
            cuts in prop::collection::vec(1usize..3_000, 1..6),
        ) {
            let samples = sine(300.0, rate, cuts.iter().sum());
            let (mut out, mut resampler, mut rest) = (Vec::new(), Resampler::new(rate, 16_000), samples.as_slice());
            for cut in cuts {
                let (now, later) = rest.split_at(cut);
                resampler.push(now, &mut out);
                rest = later;
            }
            resampler.finish(&mut out);

            let wanted = (samples.len() as f64 * 16_000.0 / f64::from(rate)).round();
            prop_assert!((out.len() as f64 - wanted).abs() <= 1.0 + 16_000.0 / f64::from(rate));
            prop_assert_eq!(out, all(rate, 16_000, &samples));
        }
    }
}
