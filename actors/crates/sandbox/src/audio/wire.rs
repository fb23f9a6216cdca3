//! What the service asks a child that decodes a recording, and what the child tells. The service asks for one piece
//! at a time, so neither side ever holds more than that.

use parse::audio::{About, NoSound, RATE};
use serde::{Deserialize, Serialize};

/// Samples of one piece, at most: half a minute.
pub const PIECE: usize = 30 * RATE as usize;

/// The longest body of what a child tells: a piece, two bytes a sample.
pub const PIECE_BYTES: usize = 2 * PIECE;

/// What is asked of the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Look at the recording, once and first.
    Open,
    /// Decode the next piece and give it.
    Give,
    /// Decode the next piece and leave it out.
    Pass,
}

/// What the child tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum Told {
    /// The recording can be decoded.
    Opened {
        /// Its length, where its file says so.
        seconds: Option<f64>,
        /// What else its file says.
        about: About,
    },
    /// A piece; its samples are the frame's body, little-endian, where they were asked for.
    Piece {
        /// Its samples. Fewer than [`PIECE`] only at the end, which has none.
        samples: usize,
        /// The part of the file that was read by now, 0 to 1.
        read: f64,
        /// Seconds of sound that should have been there by now and could not be decoded.
        lost: f64,
        /// What comes behind it could not be decoded, and nobody knows how much that is.
        broke_off: bool,
    },
    /// It cannot be decoded.
    Unheard {
        /// Why not.
        reason: NoSound,
    },
}
