//! The decoding of a recording in the sandbox, and what of it is missing in a transcript.

use std::path::Path;

use errors::Error;
use inference::transcriber::SAMPLE_RATE_HZ;
use jobs::JobError;
use library::documents::parser_job_error;
use parse::audio::AudioMetadata;
use sandbox::audio::{AudioPiece, AudioReader, PIECE_SAMPLES};
use sandbox::{Sandbox, SandboxError};

const _: () = assert!(
    parse::audio::SAMPLE_RATE == SAMPLE_RATE_HZ,
    "the sample rate of the decoder differs from that of the transcriber"
);

/// A loss of fewer seconds is not reported to the user.
const MIN_REPORTED_LOSS_SECONDS: f64 = 1.5;
/// A loss of a smaller share of the recording is not reported.
const MIN_REPORTED_LOSS_SHARE: f64 = 0.02;

/// The properties of a recording that was decoded to its end.
pub struct DecodedAudio {
    seconds: f64,
    /// Seconds of the recording that could not be decoded.
    lost_seconds: f64,
    /// After how many seconds decoding was aborted, if it was.
    aborted_at: Option<f64>,
    /// Title, author and number of audio tracks, as the file states them.
    pub metadata: AudioMetadata,
}

impl DecodedAudio {
    /// Describes a recording of which `decoded_seconds` were decoded until its end.
    pub fn at_end(audio: &AudioReader, decoded_seconds: f64) -> Self {
        let aborted_at = audio.is_aborted().then_some(decoded_seconds);
        let seconds = audio.duration_seconds().unwrap_or_default().max(decoded_seconds);
        Self { seconds, lost_seconds: audio.lost_seconds(), aborted_at, metadata: audio.metadata().clone() }
    }

    /// Returns whether almost nothing of the recording could be decoded.
    pub fn is_lost(&self) -> bool {
        self.lost_seconds > 0.0 && self.lost_seconds >= self.seconds * (1.0 - MIN_REPORTED_LOSS_SHARE)
    }

    /// Says what is missing in its transcript, for the user; none if nothing
    /// is. `refused_seconds` were refused by the transcriber.
    pub fn missing_reason(&self, text: &str, refused_seconds: f64) -> Option<String> {
        if refused_seconds > 0.0 {
            let (refused, whole) = (format_duration(refused_seconds), format_duration(self.seconds));
            return Some(format!(
                "{refused} of {whole} were not transcribed: the transcription service refused them"
            ));
        }
        if self.lost_seconds >= MIN_REPORTED_LOSS_SECONDS
            && self.lost_seconds >= self.seconds * MIN_REPORTED_LOSS_SHARE
        {
            let (lost, whole) = (format_duration(self.lost_seconds), format_duration(self.seconds));
            return Some(format!(
                "{lost} of {whole} could not be transcribed: the file is damaged; upload an undamaged copy"
            ));
        }
        if let Some(aborted_at) = self.aborted_at {
            let decoded = format_duration(aborted_at);
            return Some(format!(
                "the part after {decoded} could not be transcribed: the file is damaged; upload an undamaged copy"
            ));
        }
        let other_tracks = match self.metadata.tracks {
            0 | 1 => String::new(),
            tracks => format!(": one of its {tracks} audio tracks was transcribed"),
        };
        text.is_empty().then(|| format!("the recording contains no speech{other_tracks}"))
    }
}

fn format_duration(seconds: f64) -> String {
    let whole = seconds.round();
    if whole < 120.0 { format!("{whole} seconds") } else { format!("{} minutes", (whole / 60.0).round()) }
}

/// Opens a recording in the sandbox; its child process ends when the reader is dropped.
pub async fn open_audio(sandbox: &Sandbox, file: &Path) -> Result<AudioReader, JobError> {
    let file = tokio::fs::File::open(file).await.map_err(Error::internal)?.into_std().await;
    sandbox.open_audio(file).await.map_err(parser_job_error)
}

/// Decodes a recording that is transcribed already, to find out what of it could not be.
pub async fn decode_to_end(sandbox: &Sandbox, file: &Path) -> Result<DecodedAudio, JobError> {
    let mut audio = open_audio(sandbox, file).await?;
    let mut samples = 0;
    while let Some(piece) = audio.skip_piece().await.map_err(parser_job_error)? {
        samples += piece.count as u64;
    }
    Ok(DecodedAudio::at_end(&audio, to_seconds(samples)))
}

/// Skips the samples that are transcribed already. Returns the share of the file that was read, and the rest of the piece
/// in which those samples end.
pub async fn skip_samples(
    audio: &mut AudioReader,
    samples: u64,
) -> Result<(f64, Option<AudioPiece>), SandboxError> {
    // Whole pieces are skipped without their samples; only the piece in which transcription continues is returned.
    let (mut skipped, mut read_share) = (0, 0.0);
    let full_piece = PIECE_SAMPLES as u64;
    while skipped + full_piece <= samples {
        match audio.skip_piece().await? {
            Some(piece) => (skipped, read_share) = (skipped + piece.count as u64, piece.progress),
            None => return Ok((1.0, None)),
        }
    }
    if skipped == samples {
        return Ok((read_share, None));
    }
    let piece = audio.next_piece().await?.map(|mut piece| {
        let transcribed = usize::try_from(samples - skipped).unwrap_or(usize::MAX);
        piece.samples.drain(..transcribed.min(piece.samples.len()));
        piece
    });
    Ok((piece.as_ref().map_or(1.0, |piece| piece.progress), piece))
}

/// Converts a number of samples to seconds.
#[expect(clippy::cast_precision_loss, reason = "a recording has at most a day")]
pub fn to_seconds(samples: u64) -> f64 {
    samples as f64 / f64::from(SAMPLE_RATE_HZ)
}
