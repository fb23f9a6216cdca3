//! Mixes channels down to one.

/// If the mean of all channels has less than this share of their mean power, they cancel each other out. Two independent channels
/// have a half, and one active channel of six has a sixth.
const CANCELLATION_SHARE: f32 = 0.1;
/// From this share on they no longer cancel each other out.
const RECOVERY_SHARE: f32 = 0.2;

/// Mixes channels down to one.
#[derive(Debug, Default)]
pub struct Downmixer {
    /// The channel that is used alone while the channels cancel each other out.
    dominant: Option<usize>,
}

impl Downmixer {
    /// Appends the mean of all channels to `mono`, so that speakers on both sides are included. If one channel is about the
    /// inverse of the other, their mean would be near silence, so the loudest channel is used alone.
    pub fn downmix(&mut self, interleaved: &[f32], channels: usize, mono: &mut Vec<f32>) {
        let frames = || interleaved.chunks_exact(channels);
        #[expect(clippy::cast_precision_loss, reason = "a few channels")]
        let share = 1.0 / channels as f32;
        let mean = |frame: &[f32]| frame.iter().copied().map(bounded).sum::<f32>() * share;
        let powers: Vec<f32> = (0..channels)
            .map(|channel| frames().map(|frame| sample_of(frame, channel).powi(2)).sum())
            .collect();
        let power = powers.iter().sum::<f32>() * share;
        let together = frames().map(|frame| mean(frame).powi(2)).sum::<f32>();
        // Two thresholds: with one, a share near it would switch between both ways from packet to packet.
        self.dominant = match self.dominant {
            Some(dominant) if together < power * RECOVERY_SHARE => Some(dominant),
            None if together < power * CANCELLATION_SHARE => loudest(&powers),
            Some(_) | None => None,
        };
        match self.dominant {
            Some(dominant) => mono.extend(frames().map(|frame| sample_of(frame, dominant))),
            None => mono.extend(frames().map(mean)),
        }
    }
}

/// Returns the first channel that is about as loud as the loudest.
fn loudest(powers: &[f32]) -> Option<usize> {
    let greatest = powers.iter().copied().max_by(f32::total_cmp)?;
    // The first rather than the loudest, so that nearly equal channels give the same one in every packet.
    powers.iter().position(|power| *power >= greatest * 0.5)
}

fn sample_of(frame: &[f32], channel: usize) -> f32 {
    frame.get(channel).copied().map_or(0.0, bounded)
}

fn bounded(sample: f32) -> f32 {
    // A single NaN of a broken decoder would make the whole mean, and the resampler after it, NaN.
    if sample.is_finite() { sample.clamp(-1.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(packets: &[&[f32]], channels: usize) -> Vec<f32> {
        let (mut mixer, mut mono) = (Downmixer::default(), Vec::new());
        packets.iter().for_each(|packet| mixer.downmix(packet, channels, &mut mono));
        mono
    }

    #[test]
    fn all_channels_are_mixed() {
        assert_eq!(mixed(&[&[0.5, 0.25, -0.5, 0.0]], 2), [0.375, -0.25]);
        assert_eq!(mixed(&[&[0.0, 0.0, 0.5, 0.0, 0.0, 0.0]], 6), [0.5 / 6.0]);
        assert_eq!(mixed(&[&[f32::NAN, 3.0]], 1), [0.0, 1.0]);
        assert_eq!(mixed(&[&[f32::NAN, 0.5, 0.5, 0.5]], 2), [0.25, 0.5]);
    }

    #[test]
    fn downmix_keeps_one_channel_when_channels_cancel() {
        for other in [-1.0_f32, -0.98, -0.9, -0.75] {
            let packet = |left: f32| [left, left * other, -left, -left * other];
            // Louder on the other side for a moment.
            let swapped = [0.3 * other, 0.3, -0.3 * other, -0.3];
            let expected = [0.5, -0.5, 0.3 * other, -0.3 * other];
            assert_eq!(mixed(&[&packet(0.5), &swapped], 2), expected, "{other}");
        }
        assert_eq!(mixed(&[&[0.0, 0.0]], 2), [0.0]);
        // Once the channels no longer cancel each other out, all are mixed again.
        assert_eq!(mixed(&[&[0.5, -0.5], &[0.5, 0.5], &[0.25, 0.75]], 2), [0.5, 0.5, 0.5]);
    }
}
