//! Cuts a stream of samples into windows for the transcriber: silence before a window is skipped, and a window ends in a
//! pause where there is one. The same samples give the same windows, in whatever pieces they arrive.

use inference::transcriber::SAMPLE_RATE_HZ;

/// Samples over which one level is measured: 20 ms.
const FRAME_SAMPLES: usize = SAMPLE_RATE_HZ as usize / 50;
/// Frames of silence that are kept before speech, because a soft beginning looks like silence.
const LEAD_FRAMES: usize = 15;
/// A frame is silent if it is softer than the recent peak by this much.
const SILENCE_BELOW_PEAK_DB: f32 = 35.0;
/// By how much the recent peak decays with each frame: 1 dB per second.
const PEAK_DECAY_DB: f32 = 0.02;
/// A frame that is louder than this is never silent, in decibels of full scale.
const MAX_SILENCE_DBFS: f32 = -40.0;
/// A frame that is softer than this is always silent, in decibels of full scale.
const MIN_SILENCE_DBFS: f32 = -70.0;
/// Shortest pause in which a full window is cut: 0.3 s.
const MIN_PAUSE_FRAMES: usize = 15;
/// A pause of this length ends a window before it is full: 8 s.
const LONG_PAUSE_FRAMES: usize = 400;

/// A part of a recording for the transcriber.
#[derive(Clone, Debug, PartialEq)]
pub struct AudioWindow {
    /// Its first sample, counted from the start of the recording.
    pub start: u64,
    /// The samples of the window, at most as many as the transcriber takes.
    pub samples: Vec<i16>,
}

/// Collects samples and cuts them into windows.
pub struct WindowCutter {
    max_samples: usize,
    samples: Vec<i16>,
    /// For each whole frame of `samples`: its level, and whether it is silent.
    frames: Vec<(f32, bool)>,
    start: u64,
    peak: f32,
}

impl WindowCutter {
    /// Creates a cutter of windows of at most `max_samples` samples, from sample `start` of a recording on.
    pub fn new(max_samples: usize, start: u64) -> Self {
        Self {
            max_samples: max_samples.max(FRAME_SAMPLES),
            samples: Vec::new(),
            frames: Vec::new(),
            start,
            peak: MIN_SILENCE_DBFS,
        }
    }

    /// Adds the next samples of the recording, any number of them.
    pub fn push(&mut self, samples: &[i16]) {
        self.samples.extend_from_slice(samples);
        // Only whole frames are measured, so the levels do not depend on how the samples are divided into pieces.
        let measured = self.frames.len();
        for frame in self.samples.chunks_exact(FRAME_SAMPLES).skip(measured) {
            let level = level_dbfs(frame);
            self.peak = level.max(self.peak - PEAK_DECAY_DB);
            let is_silent =
                level < (self.peak - SILENCE_BELOW_PEAK_DB).clamp(MIN_SILENCE_DBFS, MAX_SILENCE_DBFS);
            self.frames.push((level, is_silent));
        }
    }

    /// Returns the next window, once there are enough samples for it. `is_end`: no more samples follow.
    pub fn next(&mut self, is_end: bool) -> Option<AudioWindow> {
        self.skip_silence(is_end);
        let length = self.window_samples(is_end)?;
        let samples: Vec<i16> = self.samples.drain(..length).collect();
        self.frames.drain(..(length / FRAME_SAMPLES).min(self.frames.len()));
        let start = self.start;
        self.start += length as u64;
        Some(AudioWindow { start, samples })
    }

    /// Returns the number of samples from the start of the recording that were returned in windows or skipped as silence.
    pub fn done_samples(&self) -> u64 {
        self.start
    }

    /// Drops leading silence, except for the last frames of it.
    fn skip_silence(&mut self, is_end: bool) {
        let silent = self.frames.iter().take_while(|(_, is_silent)| *is_silent).count();
        let is_silent_to_end = is_end && silent == self.frames.len();
        let frames = if is_silent_to_end { silent } else { silent.saturating_sub(LEAD_FRAMES) };
        // The samples of the last frame that is not full go too.
        let samples = if is_silent_to_end { self.samples.len() } else { frames * FRAME_SAMPLES };
        self.samples.drain(..samples);
        self.frames.drain(..frames);
        self.start += samples as u64;
    }

    /// Returns the length of the next window, if it is known already.
    fn window_samples(&self, is_end: bool) -> Option<usize> {
        let max_frames = self.max_samples / FRAME_SAMPLES;
        if let Some(end) = self.find_long_pause(max_frames) {
            return Some(end * FRAME_SAMPLES);
        }
        if self.samples.len() > self.max_samples {
            return Some(self.find_cut(max_frames) * FRAME_SAMPLES);
        }
        (is_end && !self.samples.is_empty()).then_some(self.samples.len())
    }

    /// Finds the frame in which a long pause within the window begins.
    fn find_long_pause(&self, max_frames: usize) -> Option<usize> {
        let mut silent_frames = 0;
        // Counted from the first speech on: the silence that is kept before it is not a pause.
        let speech = self.frames.iter().position(|(_, is_silent)| !is_silent)?;
        for (index, (_, is_silent)) in self.frames.iter().enumerate().take(max_frames).skip(speech) {
            silent_frames = if *is_silent { silent_frames + 1 } else { 0 };
            if silent_frames == LONG_PAUSE_FRAMES {
                return Some(index + 1 + LEAD_FRAMES - LONG_PAUSE_FRAMES);
            }
        }
        None
    }

    /// Finds the frame before which a full window is cut: in the last pause of its second half, else where it is softest.
    fn find_cut(&self, max_frames: usize) -> usize {
        let (mut silent_frames, mut cut) = (0, None);
        for (index, (_, is_silent)) in self.frames.iter().enumerate().take(max_frames).skip(max_frames / 2) {
            silent_frames = if *is_silent { silent_frames + 1 } else { 0 };
            if silent_frames >= MIN_PAUSE_FRAMES {
                cut = Some(index + 1 - silent_frames / 2);
            }
        }
        cut.unwrap_or_else(|| self.find_softest(max_frames))
    }

    /// Finds the middle of the softest tenth of a second of the window's last third.
    fn find_softest(&self, max_frames: usize) -> usize {
        let from = max_frames - max_frames / 3;
        let frames = self.frames.get(from..max_frames).unwrap_or_default();
        let sum_levels = |(index, five): (usize, &[(f32, bool)])| {
            (five.iter().map(|(level, _)| level).sum::<f32>(), index)
        };
        let softest =
            frames.windows(5).enumerate().map(sum_levels).min_by(|(one, _), (other, _)| one.total_cmp(other));
        softest.map_or(max_frames, |(_, index)| from + index + 2).max(1)
    }
}

/// Measures the level of a frame, in decibels of full scale.
fn level_dbfs(frame: &[i16]) -> f32 {
    let power: f32 = frame.iter().map(|sample| (f32::from(*sample) / 32_768.0).powi(2)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a frame is short")]
    let mean = power / frame.len() as f32;
    // Digital silence would be minus infinity.
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

    fn cut_all(max_samples: usize, samples: &[i16], step: usize) -> (Vec<AudioWindow>, u64) {
        let (mut windows, mut found) = (WindowCutter::new(max_samples, 0), Vec::new());
        for part in samples.chunks(step) {
            windows.push(part);
            while let Some(window) = windows.next(false) {
                found.push(window);
            }
        }
        while let Some(window) = windows.next(true) {
            found.push(window);
        }
        (found, windows.done_samples())
    }

    fn times(window: &AudioWindow) -> (f64, f64) {
        (
            window.start as f64 / SECOND as f64,
            (window.start as usize + window.samples.len()) as f64 / SECOND as f64,
        )
    }

    #[test]
    fn silence_is_skipped_and_counts_as_done() {
        let (windows, done) = cut_all(29 * SECOND, &silence(95.5), SECOND);

        assert!(windows.is_empty());
        assert_eq!(done, (95.5 * SECOND as f64) as u64);
    }

    #[test]
    fn window_starts_before_speech_and_ends_before_a_long_pause() {
        let recording = [silence(20.0), tone(5.0), silence(30.0), tone(2.0), silence(1.0)].concat();

        let (windows, done) = cut_all(29 * SECOND, &recording, 7_777);

        let times: Vec<_> = windows.iter().map(times).collect();
        assert_eq!(times.len(), 2, "{times:?}");
        assert!((times[0].0 - 19.7).abs() < 0.05 && (times[0].1 - 25.3).abs() < 0.05, "{times:?}");
        assert!((times[1].0 - 54.7).abs() < 0.05, "{times:?}");
        assert_eq!(done as usize, recording.len());
    }

    #[test]
    fn full_window_is_cut_in_its_last_pause() {
        let recording = [tone(16.0), silence(0.5), tone(9.0), silence(0.5), tone(20.0)].concat();

        let (windows, _) = cut_all(29 * SECOND, &recording, SECOND);

        let (_, end) = times(&windows[0]);
        assert!((25.5..26.0).contains(&end), "{end}");
    }

    #[test]
    fn noise_as_loud_as_speech_is_not_silence() {
        let noise: Vec<i16> = tone(60.0).iter().map(|sample| sample / 20).collect();
        let recording = [tone(2.0), noise].concat();

        let (windows, _) = cut_all(29 * SECOND, &recording, SECOND);

        assert_eq!(windows.iter().map(|window| window.samples.len()).sum::<usize>(), recording.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn windows_are_ordered_bounded_and_lose_no_samples(
            parts in prop::collection::vec((any::<bool>(), 1usize..60), 1..8),
            step in 1_000usize..200_000,
        ) {
            let parts = parts.into_iter().map(|(speech, tenths)| {
                if speech { tone(tenths as f64 / 10.0) } else { silence(tenths as f64 / 10.0) }
            });
            let recording = parts.collect::<Vec<_>>().concat();
            let max_samples = 4 * SECOND;

            let (windows, done) = cut_all(max_samples, &recording, step);

            prop_assert_eq!(done as usize, recording.len());
            let mut end = 0;
            for window in &windows {
                let start = window.start as usize;
                prop_assert!(start >= end && !window.samples.is_empty() && window.samples.len() <= max_samples);
                end = start + window.samples.len();
                prop_assert_eq!(&window.samples[..], &recording[start..end]);
            }
        }
    }
}
