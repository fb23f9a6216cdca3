//! The child's side: decodes the one recording that it was started with, a piece for each request.
//!
//! The recording is the read-only descriptor that the server passed as standard output: a confined process opens no
//! file, and it need not, whatever the size of the recording.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parse::audio::{AudioError, Recording};

use super::wire::{AudioRequest, AudioResponse, PIECE_SAMPLES};
use crate::confinement::CpuMeter;
use crate::wire::{self, WireError};

/// Answers requests until the server closes the socket. Each piece has its own share of processor time.
pub fn serve_recording(mut parent: UnixStream, mut meter: CpuMeter) -> Result<(), WireError> {
    let mut decoder: Option<PieceDecoder> = None;
    loop {
        let (request, _) = wire::read_message::<AudioRequest>(&mut parent, 0)?;
        // If the limit cannot be renewed, the piece is still bounded by the time limit of the parent.
        let _ = meter.renew();
        let (response, body) = match (request, &mut decoder) {
            (AudioRequest::Open, slot) => match catch_panic(open_recording) {
                Ok(opened) => (slot.insert(opened).opened(), Vec::new()),
                Err(reason) => (AudioResponse::Failed { reason }, Vec::new()),
            },
            (AudioRequest::Decode, Some(decoder)) => decoder.next_piece(true),
            (AudioRequest::Skip, Some(decoder)) => decoder.next_piece(false),
            (AudioRequest::Decode | AudioRequest::Skip, None) => return Err(WireError::Malformed),
        };
        wire::write(&mut parent, &response, &body)?;
    }
}

/// Reports a panic of a decoder as a damaged file: the child and what was decoded before stay.
fn catch_panic<T>(decode: impl FnOnce() -> Result<T, AudioError>) -> Result<T, AudioError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or(Err(AudioError::Damaged))
}

fn open_recording() -> Result<PieceDecoder, AudioError> {
    let file = io::stdout().as_fd().try_clone_to_owned().map_err(|_| AudioError::UnknownContainer)?;
    Ok(PieceDecoder { recording: Recording::open(File::from(file))?, pending: Vec::new() })
}

/// Cuts a recording into pieces of equal length.
struct PieceDecoder {
    recording: Recording,
    /// Samples decoded beyond the last piece.
    pending: Vec<f32>,
}

impl PieceDecoder {
    fn opened(&mut self) -> AudioResponse {
        AudioResponse::Opened {
            duration_seconds: self.recording.duration_seconds(),
            metadata: self.recording.metadata(),
        }
    }

    fn next_piece(&mut self, with_samples: bool) -> (AudioResponse, Vec<u8>) {
        // A panic of the decoder is reported as a damaged file.
        let filled = catch_panic(|| self.recording.decode(&mut self.pending, PIECE_SAMPLES));
        // What was decoded before the failure counts.
        if let Err(reason) = filled
            && !self.recording.abort()
        {
            return (AudioResponse::Failed { reason }, Vec::new());
        }
        let samples = self.pending.len().min(PIECE_SAMPLES);
        let taken = self.pending.drain(..samples);
        let body = if with_samples {
            taken.flat_map(|sample| quantize(sample).to_le_bytes()).collect()
        } else {
            Vec::new()
        };
        let recording = &self.recording;
        let response = AudioResponse::Piece {
            samples,
            progress: recording.progress(),
            lost_seconds: recording.lost_seconds(),
            is_aborted: recording.is_aborted(),
        };
        (response, body)
    }
}

fn quantize(sample: f32) -> i16 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast from a float keeps within the bounds")]
    let value = (sample * 32_767.0).round() as i16;
    value
}
