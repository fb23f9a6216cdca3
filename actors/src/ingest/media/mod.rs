//! The text of a recording: it is decoded in the sandbox, cut into windows, and transcribed window by window. Each window
//! is a row before the next one begins, so that a recording of hours continues where it stopped.

mod decoded_audio;
mod fingerprint;
mod recording_fetch;
pub mod recording_file;
mod recording_limit;
pub mod recording_url;
mod transcript;
mod transcript_builder;
mod transcription;
mod wait;
pub mod windows;

pub use recording_fetch::fetch_recording;
pub use transcript::{has_transcript, supersede_other_texts, transcript_progress};
pub use transcription::{transcribe, transcribe_in_turn};
pub use wait::{MODEL_MISSING_REASON, ensure_slot, model_missing};
