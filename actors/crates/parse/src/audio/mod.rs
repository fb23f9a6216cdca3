//! Recordings: audio and video files, decoded to one channel of 16,000 samples a second.
//!
//! [`Recording::open`] finds the container and the track; [`Recording::fill`] decodes as much as is asked for, so a recording
//! of hours and gigabytes needs little memory.

mod aac;
mod codec;
mod mix;
mod opus;
mod quicktime;
mod resample;
#[cfg(test)]
mod tests;
mod track;

use serde::{Deserialize, Serialize};

pub use track::Recording;

/// Samples of a second: what speech models hear.
pub const RATE: u32 = 16_000;

/// What a recording says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its name, in one line of at most [`LONGEST`] characters.
    pub title: Option<String>,
    /// Who made it, likewise.
    pub author: Option<String>,
    /// How many sound tracks it has; one of them is heard.
    pub tracks: usize,
}

/// Characters of what a recording says of itself: those of a title.
pub const LONGEST: usize = 300;

/// Why a file gives no sound, in words for the person. None of them says anything of what the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NoSound {
    /// No container that is known.
    #[error("the file is not a kind of audio or video that is read")]
    Kind,
    /// A film without sound.
    #[error("the file has no sound")]
    Silent,
    /// A codec that is not known.
    #[error("the sound of the file is coded in a way that is not read")]
    Codec,
    /// The container or the codec is known, but the bytes make no sense.
    #[error("the file is damaged: its sound cannot be read")]
    Damaged,
}
