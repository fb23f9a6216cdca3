//! Recordings: audio and video files, decoded to one channel of 16,000 samples a second.
//!
//! [`Recording::open`] finds the container and the track; [`Recording::decode`] decodes as much as is requested, so a recording
//! of hours and gigabytes needs little memory.

mod aac;
mod codec;
mod decode_fault;
mod downmix;
mod opus;
mod quicktime;
mod recording;
mod resample;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use recording::Recording;

/// Samples a second of everything that is decoded: the rate of speech models.
pub const SAMPLE_RATE: u32 = 16_000;

/// The metadata that the file of a recording states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudioMetadata {
    /// Its title, in one line of at most [`MAX_NAME_CHARS`] characters; `None` if the file states none.
    pub title: Option<String>,
    /// Its artist, in one line of the same length.
    pub author: Option<String>,
    /// The number of its audio tracks; one of them is decoded.
    pub tracks: usize,
}

/// The longest title or artist, in characters.
pub const MAX_NAME_CHARS: usize = 300;

/// Why the audio of a file cannot be decoded, in words for the user. None of these repeats any of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum AudioError {
    /// The container is not supported, or the file is not a recording.
    #[error("this kind of audio or video file is not supported")]
    UnknownContainer,
    /// A video without an audio track.
    #[error("the file has no audio track")]
    NoAudioTrack,
    /// No audio track has a codec that is supported.
    #[error("the audio codec of the file is not supported")]
    UnknownCodec,
    /// The container or the codec is supported, but the bytes are malformed.
    #[error("the file is damaged: its audio cannot be read")]
    Damaged,
}
