//! Decodes recordings in a separate child process, piece by piece, to one channel of 16,000 samples per second.
//!
//! The child gets the file as an open, read-only descriptor and decodes only what is requested, so a recording of
//! hours and gigabytes needs little memory on either side. Time and memory are bounded for each piece.

pub(super) mod child;
mod wire;

use std::fs::File;
use std::time::{Duration, Instant};

use parse::audio::{AudioMetadata, SAMPLE_RATE};

use super::pool::{Pool, Worker};
use super::sandbox_error::SandboxError;
use super::wire::WorkerMode;
pub use wire::PIECE_SAMPLES;
use wire::{AudioRequest, AudioResponse, MAX_PIECE_BYTES};

/// Time that every recording may take to be decoded, whatever its length.
const BASE_DECODE_TIME: Duration = Duration::from_secs(60);
/// Seconds of audio that must be decoded in each second beyond [`BASE_DECODE_TIME`]. Honest recordings are hundreds of times
/// faster; a slower one is made to keep other users waiting, a piece at a time.
const MIN_DECODE_SPEED: usize = 10;

/// A recording that is being decoded. Its child ends when this is dropped.
pub struct AudioReader {
    worker: Worker,
    wall_time: Duration,
    duration_seconds: Option<f64>,
    metadata: AudioMetadata,
    lost_seconds: f64,
    is_aborted: bool,
    decoded_samples: usize,
    decode_time: Duration,
}

/// A part of a recording: half a minute, less at the end.
#[derive(Debug)]
pub struct AudioPiece {
    /// Samples, 16,000 a second; empty if the piece was skipped.
    pub samples: Vec<i16>,
    /// The number of samples, returned or skipped: [`PIECE_SAMPLES`], fewer at the end.
    pub count: usize,
    /// The part of the file that has been read, 0 to 1.
    pub progress: f64,
}

impl AudioReader {
    /// Starts a child that reads this file, open for reading.
    pub(super) async fn open(pool: &Pool, file: File) -> Result<Self, SandboxError> {
        let (worker, wall_time) = pool.spawn_reader(file, WorkerMode::Audio).await?;
        let mut reader = Self {
            worker,
            wall_time,
            duration_seconds: None,
            metadata: AudioMetadata::default(),
            lost_seconds: 0.0,
            is_aborted: false,
            decoded_samples: 0,
            decode_time: Duration::ZERO,
        };
        match reader.request(AudioRequest::Open).await? {
            (AudioResponse::Opened { duration_seconds, metadata }, _) => {
                Ok(Self { duration_seconds, metadata, ..reader })
            }
            (AudioResponse::Failed { reason }, _) => Err(reason.into()),
            (AudioResponse::Piece { .. }, _) => Err(SandboxError::Crashed),
        }
    }

    /// Returns the recording's length, if its file states it.
    pub fn duration_seconds(&self) -> Option<f64> {
        self.duration_seconds
    }

    /// Returns the metadata of the recording.
    pub fn metadata(&self) -> &AudioMetadata {
        &self.metadata
    }

    /// Seconds of audio before the current position that could not be decoded.
    pub fn lost_seconds(&self) -> f64 {
        self.lost_seconds
    }

    /// Returns whether decoding ended before the end of the recording. How much is missing is not known.
    pub fn is_aborted(&self) -> bool {
        self.is_aborted
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    /// The same errors as [`super::Sandbox::open_audio`].
    pub async fn next_piece(&mut self) -> Result<Option<AudioPiece>, SandboxError> {
        self.piece(AudioRequest::Decode).await
    }

    /// Skips the next piece: it is decoded, so that what follows keeps its position, but its samples are not returned.
    ///
    /// # Errors
    /// The same errors as [`super::Sandbox::open_audio`].
    pub async fn skip_piece(&mut self) -> Result<Option<AudioPiece>, SandboxError> {
        self.piece(AudioRequest::Skip).await
    }

    async fn piece(&mut self, request: AudioRequest) -> Result<Option<AudioPiece>, SandboxError> {
        let start = Instant::now();
        let response = self.request(request).await?;
        // Wall-clock time, not processor time of the child: what counts is how long other users wait.
        self.decode_time += start.elapsed();
        if let (AudioResponse::Piece { samples, lost_seconds, is_aborted, .. }, _) = &response {
            (self.lost_seconds, self.is_aborted) = (*lost_seconds, *is_aborted);
            self.decoded_samples += samples;
        }
        if is_too_slow(self.decoded_samples, self.decode_time) {
            return Err(SandboxError::TimedOut);
        }
        match response {
            (AudioResponse::Piece { samples: 0, .. }, _) => Ok(None),
            // The child is not trusted: a piece that is longer than the protocol allows is treated as a crash.
            (AudioResponse::Piece { samples: count, progress, .. }, body) if count <= PIECE_SAMPLES => {
                let (pairs, _) = body.as_chunks::<2>();
                let samples = pairs.iter().map(|pair| i16::from_le_bytes(*pair)).collect();
                Ok(Some(AudioPiece { samples, count, progress }))
            }
            (AudioResponse::Failed { reason }, _) => Err(reason.into()),
            (AudioResponse::Piece { .. } | AudioResponse::Opened { .. }, _) => Err(SandboxError::Crashed),
        }
    }

    async fn request(&mut self, request: AudioRequest) -> Result<(AudioResponse, Vec<u8>), SandboxError> {
        self.worker.exchange(self.wall_time, &request, MAX_PIECE_BYTES).await
    }
}

fn is_too_slow(decoded_samples: usize, decode_time: Duration) -> bool {
    let seconds = decoded_samples / SAMPLE_RATE as usize / MIN_DECODE_SPEED;
    decode_time > BASE_DECODE_TIME + Duration::from_secs(seconds as u64)
}

#[cfg(test)]
mod tests;
