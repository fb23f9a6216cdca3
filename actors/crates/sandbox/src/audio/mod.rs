//! Recordings: decoded in a child of their own, piece by piece, to one channel of 16,000 samples a second.
//!
//! The child gets the file as an open, read-only descriptor and decodes only what is asked for, so a recording of
//! hours and gigabytes needs little memory on either side. Time and memory are bounded for each piece.

pub(super) mod child;
mod wire;

use std::fs::File;
use std::time::{Duration, Instant};

use parse::audio::{About, RATE};

use super::SandboxError;
use super::pool::{Pool, Worker};
use super::wire::Duty;
pub use wire::PIECE;
use wire::{Ask, PIECE_BYTES, Told};

/// A recording may take so long to be decoded, whatever its length.
const AT_FIRST: Duration = Duration::from_secs(60);
/// And beyond that a second for so many seconds of sound. Honest ones take hundreds of times less: what is slower was made to
/// keep others waiting, a piece at a time.
const PACE: usize = 10;

/// A recording that is being decoded. Its child ends with it.
pub struct Sound {
    worker: Worker,
    wall: Duration,
    seconds: Option<f64>,
    about: About,
    lost: f64,
    broke_off: bool,
    decoded: usize,
    took: Duration,
}

/// A part of a recording.
#[derive(Debug)]
pub struct Piece {
    /// Samples, 16,000 a second; none where they were passed over.
    pub samples: Vec<i16>,
    /// How many there are, given or passed over: [`PIECE`], but at the end fewer.
    pub count: usize,
    /// The part of the file that was read by now, 0 to 1.
    pub read: f64,
}

impl Sound {
    /// Starts a child over this file, open for reading.
    pub(super) async fn open(pool: &Pool, file: File) -> Result<Self, SandboxError> {
        let (worker, wall) = pool.reader_of(file, Duty::Sound).await?;
        let mut sound = Self {
            worker,
            wall,
            seconds: None,
            about: About::default(),
            lost: 0.0,
            broke_off: false,
            decoded: 0,
            took: Duration::ZERO,
        };
        match sound.ask(Ask::Open).await? {
            (Told::Opened { seconds, about }, _) => Ok(Self { seconds, about, ..sound }),
            (Told::Unheard { reason }, _) => Err(reason.into()),
            (Told::Piece { .. }, _) => Err(SandboxError::Crashed),
        }
    }

    /// The recording's length, where its file says so.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds
    }

    /// What it says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Seconds of sound that should have been there by now and could not be decoded.
    pub fn lost(&self) -> f64 {
        self.lost
    }

    /// Whether its decoder was ended before the recording was: nobody knows how much comes behind.
    pub fn broke_off(&self) -> bool {
        self.broke_off
    }

    /// The next piece; none at the end.
    ///
    /// # Errors
    /// As [`super::Sandbox::sound`].
    pub async fn next(&mut self) -> Result<Option<Piece>, SandboxError> {
        self.piece(Ask::Give).await
    }

    /// Passes the next piece over: it is decoded, so that what follows is at its right place, and not given.
    ///
    /// # Errors
    /// As [`super::Sandbox::sound`].
    pub async fn pass(&mut self) -> Result<Option<Piece>, SandboxError> {
        self.piece(Ask::Pass).await
    }

    async fn piece(&mut self, ask: Ask) -> Result<Option<Piece>, SandboxError> {
        let asked = Instant::now();
        let told = self.ask(ask).await?;
        self.took += asked.elapsed();
        if let (Told::Piece { samples, lost, broke_off, .. }, _) = &told {
            (self.lost, self.broke_off) = (*lost, *broke_off);
            self.decoded += samples;
        }
        if is_too_slow(self.decoded, self.took) {
            return Err(SandboxError::TimedOut);
        }
        match told {
            (Told::Piece { samples: 0, .. }, _) => Ok(None),
            (Told::Piece { samples: count, read, .. }, body) if count <= PIECE => {
                let (pairs, _) = body.as_chunks::<2>();
                let samples = pairs.iter().map(|pair| i16::from_le_bytes(*pair)).collect();
                Ok(Some(Piece { samples, count, read }))
            }
            (Told::Unheard { reason }, _) => Err(reason.into()),
            (Told::Piece { .. } | Told::Opened { .. }, _) => Err(SandboxError::Crashed),
        }
    }

    async fn ask(&mut self, ask: Ask) -> Result<(Told, Vec<u8>), SandboxError> {
        self.worker.exchange(self.wall, &ask, PIECE_BYTES).await
    }
}

fn is_too_slow(samples: usize, took: Duration) -> bool {
    let seconds = samples / RATE as usize / PACE;
    took > AT_FIRST + Duration::from_secs(seconds as u64)
}

#[cfg(test)]
mod tests;
