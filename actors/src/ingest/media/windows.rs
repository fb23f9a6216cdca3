//! Cuts a stream of samples into windows to be heard: silence before a window is passed over, and a window ends in a
//! pause where there is one. Plain: the same samples give the same windows, however they come in.

use inference::transcriber::SAMPLE_RATE_HZ;

/// Samples of which one loudness is taken: 20 ms.
const FRAME: usize = SAMPLE_RATE_HZ as usize / 50;
/// Frames of silence that are left before speech: a soft beginning is no silence.
const LEAD: usize = 15;
/// So much softer than the loudest that was heard lately is silence. In decibels.
const BELOW: f32 = 35.0;
/// The loudest is forgotten at this pace, in decibels a frame: one a second.
const FORGET: f32 = 0.02;
/// What is louder than this, in decibels of full scale, is no silence.
const HIGHEST: f32 = -40.0;
/// What is softer than this is silence whatever was heard.
const LOWEST: f32 = -70.0;
/// The shortest pause, in frames, in which a window is cut for preference: 0.3 s.
const PAUSE: usize = 15;
/// A pause of so many frames ends a window before it is full: 8 s.
const LONG_PAUSE: usize = 400;

/// A stretch of sound to be heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its first sample, counted from the recording's beginning.
    pub start: u64,
    /// Its samples.
    pub samples: Vec<i16>,
}

/// Gathers samples and gives windows.
pub struct Windows {
    longest: usize,
    samples: Vec<i16>,
    /// For each whole frame of `samples`: its loudness, and whether it is silence.
    frames: Vec<(f32, bool)>,
    start: u64,
    loudest: f32,
}

impl Windows {
    /// Windows of at most so many samples, of a recording that is heard from sample `start` on.
    pub fn new(longest: usize, start: u64) -> Self {
        Self { longest: longest.max(FRAME), samples: Vec::new(), frames: Vec::new(), start, loudest: LOWEST }
    }

    /// Adds what comes next.
    pub fn push(&mut self, samples: &[i16]) {
        self.samples.extend_from_slice(samples);
        let known = self.frames.len();
        for frame in self.samples.chunks_exact(FRAME).skip(known) {
            let loudness = loudness(frame);
            self.loudest = loudness.max(self.loudest - FORGET);
            let silent = loudness < (self.loudest - BELOW).clamp(LOWEST, HIGHEST);
            self.frames.push((loudness, silent));
        }
    }

    /// The next window, if enough has come in for it. `ended`: nothing more comes.
    pub fn next(&mut self, ended: bool) -> Option<Window> {
        self.skip_silence(ended);
        let length = self.length(ended)?;
        let samples: Vec<i16> = self.samples.drain(..length).collect();
        self.frames.drain(..(length / FRAME).min(self.frames.len()));
        let start = self.start;
        self.start += length as u64;
        Some(Window { start, samples })
    }

    /// Up to which sample everything was given or is silence.
    pub fn heard(&self) -> u64 {
        self.start
    }

    /// Drops silence at the beginning, but for a little before what is not.
    fn skip_silence(&mut self, ended: bool) {
        let silent = self.frames.iter().take_while(|(_, silent)| *silent).count();
        let all = silent == self.frames.len();
        let frames = if all && ended { silent } else { silent.saturating_sub(LEAD) };
        let rest = all && ended;
        let samples = if rest { self.samples.len() } else { frames * FRAME };
        self.samples.drain(..samples);
        self.frames.drain(..frames);
        self.start += samples as u64;
    }

    /// How long the next window is, where that is known already.
    fn length(&self, ended: bool) -> Option<usize> {
        let most = self.longest / FRAME;
        if let Some(end) = self.long_pause(most) {
            return Some(end * FRAME);
        }
        if self.samples.len() > self.longest {
            return Some(self.cut(most) * FRAME);
        }
        (ended && !self.samples.is_empty()).then_some(self.samples.len())
    }

    /// Where speech ends before a long pause, if there is one within the window.
    fn long_pause(&self, most: usize) -> Option<usize> {
        let mut silent = 0;
        let speech = self.frames.iter().position(|(_, silent)| !silent)?;
        for (place, (_, quiet)) in self.frames.iter().enumerate().take(most).skip(speech) {
            silent = if *quiet { silent + 1 } else { 0 };
            if silent == LONG_PAUSE {
                return Some(place + 1 + LEAD - LONG_PAUSE);
            }
        }
        None
    }

    /// The frame before which a full window is cut: in the last pause of its second half, else where it is softest.
    fn cut(&self, most: usize) -> usize {
        let (mut run, mut cut) = (0, None);
        for (place, (_, silent)) in self.frames.iter().enumerate().take(most).skip(most / 2) {
            run = if *silent { run + 1 } else { 0 };
            if run >= PAUSE {
                cut = Some(place + 1 - run / 2);
            }
        }
        cut.unwrap_or_else(|| self.softest(most))
    }

    /// The softest tenth of a second of the last third.
    fn softest(&self, most: usize) -> usize {
        let from = most - most / 3;
        let frames = self.frames.get(from..most).unwrap_or_default();
        let sum = |(place, five): (usize, &[(f32, bool)])| {
            (five.iter().map(|(loudness, _)| loudness).sum::<f32>(), place)
        };
        let softest =
            frames.windows(5).enumerate().map(sum).min_by(|(one, _), (other, _)| one.total_cmp(other));
        softest.map_or(most, |(_, place)| from + place + 2).max(1)
    }
}

/// In decibels of full scale.
fn loudness(frame: &[i16]) -> f32 {
    let power: f32 = frame.iter().map(|sample| (f32::from(*sample) / 32_768.0).powi(2)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a frame is short")]
    let mean = power / frame.len() as f32;
    10.0 * mean.max(1e-12).log10()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: usize = SAMPLE_RATE_HZ as usize;

    fn tone(seconds: f64) -> Vec<i16> {
        let count = (seconds * SECOND as f64) as usize;
        (0..count).map(|n| ((n as f64 * 0.3).sin() * 8_000.0) as i16).collect()
    }

    fn silence(seconds: f64) -> Vec<i16> {
        vec![3; (seconds * SECOND as f64) as usize]
    }

    fn all(longest: usize, samples: &[i16], step: usize) -> (Vec<Window>, u64) {
        let (mut windows, mut found) = (Windows::new(longest, 0), Vec::new());
        for part in samples.chunks(step) {
            windows.push(part);
            while let Some(window) = windows.next(false) {
                found.push(window);
            }
        }
        while let Some(window) = windows.next(true) {
            found.push(window);
        }
        (found, windows.heard())
    }

    fn at(window: &Window) -> (f64, f64) {
        (
            window.start as f64 / SECOND as f64,
            (window.start as usize + window.samples.len()) as f64 / SECOND as f64,
        )
    }

    #[test]
    fn silence_is_passed_over_and_its_length_is_heard() {
        let (windows, heard) = all(29 * SECOND, &silence(95.5), SECOND);

        assert!(windows.is_empty());
        assert_eq!(heard, (95.5 * SECOND as f64) as u64);
    }

    #[test]
    fn a_window_begins_a_little_before_speech_and_ends_before_a_long_pause() {
        let recording = [silence(20.0), tone(5.0), silence(30.0), tone(2.0), silence(1.0)].concat();

        let (windows, heard) = all(29 * SECOND, &recording, 7_777);

        let times: Vec<_> = windows.iter().map(at).collect();
        assert_eq!(times.len(), 2, "{times:?}");
        assert!((times[0].0 - 19.7).abs() < 0.05 && (times[0].1 - 25.3).abs() < 0.05, "{times:?}");
        assert!((times[1].0 - 54.7).abs() < 0.05, "{times:?}");
        assert_eq!(heard as usize, recording.len());
    }

    #[test]
    fn a_full_window_is_cut_in_its_last_pause() {
        let recording = [tone(16.0), silence(0.5), tone(9.0), silence(0.5), tone(20.0)].concat();

        let (windows, _) = all(29 * SECOND, &recording, SECOND);

        let (_, end) = at(&windows[0]);
        assert!((25.5..26.0).contains(&end), "{end}");
    }

    #[test]
    fn noise_as_loud_as_speech_is_not_silence() {
        let noise: Vec<i16> = tone(60.0).iter().map(|sample| sample / 20).collect();
        let recording = [tone(2.0), noise].concat();

        let (windows, _) = all(29 * SECOND, &recording, SECOND);

        assert_eq!(windows.iter().map(|window| window.samples.len()).sum::<usize>(), recording.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn windows_are_in_order_within_bounds_and_the_same_however_samples_come(
            parts in prop::collection::vec((any::<bool>(), 1usize..60), 1..8),
            step in 1_000usize..200_000,
        ) {
            let parts = parts.into_iter().map(|(speech, tenths)| {
                if speech { tone(tenths as f64 / 10.0) } else { silence(tenths as f64 / 10.0) }
            });
            let recording = parts.collect::<Vec<_>>().concat();
            let longest = 4 * SECOND;

            let (windows, heard) = all(longest, &recording, step);

            prop_assert_eq!(heard as usize, recording.len());
            let mut end = 0;
            for window in &windows {
                let start = window.start as usize;
                prop_assert!(start >= end && !window.samples.is_empty() && window.samples.len() <= longest);
                end = start + window.samples.len();
                prop_assert_eq!(&window.samples[..], &recording[start..end]);
            }
        }
    }
}
