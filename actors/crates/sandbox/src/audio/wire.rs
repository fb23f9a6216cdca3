//! Requests to a child that decodes a recording, and its responses. The server requests one piece at a time, so neither
//! side ever holds more than that.

use parse::audio::{AudioError, AudioMetadata, SAMPLE_RATE};
use serde::{Deserialize, Serialize};

/// Samples of one piece, at most: half a minute.
pub const PIECE_SAMPLES: usize = 30 * SAMPLE_RATE as usize;

/// The longest body of a response: a piece, two bytes a sample.
pub const MAX_PIECE_BYTES: usize = 2 * PIECE_SAMPLES;

/// A request to the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudioRequest {
    /// Open the recording; sent once, before all others.
    Open,
    /// Decode the next piece and return its samples.
    Decode,
    /// Decode the next piece without returning its samples.
    Skip,
}

/// A response of the child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum AudioResponse {
    /// The recording was opened and has a track that can be decoded.
    Opened {
        /// Its length, if its file states it.
        duration_seconds: Option<f64>,
        /// The title and the other metadata that the file states.
        metadata: AudioMetadata,
    },
    /// A piece; its samples are the frame's body, little-endian, if they were requested.
    Piece {
        /// The number of samples. Fewer than [`PIECE_SAMPLES`] only in the last piece, 0 behind it.
        samples: usize,
        /// The part of the file that has been read, 0 to 1.
        progress: f64,
        /// Seconds of audio before the current position that could not be decoded.
        lost_seconds: f64,
        /// Decoding ended early; how much is missing is not known.
        is_aborted: bool,
    },
    /// The recording cannot be decoded, or no further.
    Failed {
        /// The cause, which contains nothing of the file.
        reason: AudioError,
    },
}
