//! The child's side: decodes the one recording that it was started with, a piece for each question.
//!
//! The recording is the read-only descriptor that the service put in the place of standard output: a confined
//! process opens no file, and it need not, whatever the size of the recording.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parse::audio::{NoSound, Recording};

use super::wire::{Ask, PIECE, Told};
use crate::limits::Meter;
use crate::wire::{self, WireError};

/// Answers until the service closes the pipe. Each piece has its own share of processor time.
pub fn answer_all(mut parent: UnixStream, mut meter: Meter) -> Result<(), WireError> {
    let mut decoding: Option<Decoding> = None;
    loop {
        let (ask, _) = wire::read::<Ask>(&mut parent, 0)?;
        // Without a share of its own the piece still has what the wall clock leaves it.
        let _ = meter.renew();
        let (told, body) = match (ask, &mut decoding) {
            (Ask::Open, place) => match survived(open) {
                Ok(opened) => (place.insert(opened).opened(), Vec::new()),
                Err(reason) => (Told::Unheard { reason }, Vec::new()),
            },
            (Ask::Give, Some(decoding)) => decoding.piece(true),
            (Ask::Pass, Some(decoding)) => decoding.piece(false),
            (Ask::Give | Ask::Pass, None) => return Err(WireError::Malformed),
        };
        wire::write(&mut parent, &told, &body)?;
    }
}

/// What trips over a file is told as what it is: one that makes no sense.
fn survived<T>(decode: impl FnOnce() -> Result<T, NoSound>) -> Result<T, NoSound> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or(Err(NoSound::Damaged))
}

fn open() -> Result<Decoding, NoSound> {
    let file = io::stdout().as_fd().try_clone_to_owned().map_err(|_| NoSound::Kind)?;
    Ok(Decoding { recording: Recording::open(File::from(file))?, waiting: Vec::new() })
}

struct Decoding {
    recording: Recording,
    /// Decoded beyond the last piece.
    waiting: Vec<f32>,
}

impl Decoding {
    fn opened(&mut self) -> Told {
        Told::Opened { seconds: self.recording.seconds(), about: self.recording.about() }
    }

    fn piece(&mut self, give: bool) -> (Told, Vec<u8>) {
        let filled = survived(|| self.recording.fill(&mut self.waiting, PIECE));
        // What was heard before counts.
        if let Err(reason) = filled
            && !self.recording.stop()
        {
            return (Told::Unheard { reason }, Vec::new());
        }
        let samples = self.waiting.len().min(PIECE);
        let taken = self.waiting.drain(..samples);
        let body = if give {
            taken.flat_map(|sample| quantised(sample).to_le_bytes()).collect()
        } else {
            Vec::new()
        };
        let recording = &self.recording;
        let (read, lost, broke_off) = (recording.read(), recording.lost(), recording.broke_off());
        (Told::Piece { samples, read, lost, broke_off }, body)
    }
}

fn quantised(sample: f32) -> i16 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast from a float keeps within the bounds")]
    let value = (sample * 32_767.0).round() as i16;
    value
}
