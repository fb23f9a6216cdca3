//! Reads segments of a transcript with their times and their offsets in the text.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::DocumentId;
use values::kind::DocumentStatus;
use values::scope::Scope;

use super::find_recording;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::transcript::{current_transcript, transcript_status};
use crate::recordings::TimedTranscript;
use crate::target::Target;
use errors::Error;
use validation::{Integer, request};

const DEFAULT_SEGMENTS: usize = 400;
/// Samples of a second of a recording that is transcribed.
const SAMPLES_PER_SECOND: f64 = 16_000.0;

/// Reads a part of a transcript.
#[derive(Debug)]
pub struct ReadSpeech {
    /// The document.
    pub document: DocumentId,
    /// The part that is read.
    pub part: SpeechPart,
    /// The maximum number of segments.
    pub limit: usize,
}

/// Which part of a transcript is read. Parts begin at multiples of their length, so that each segment is in one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpeechPart {
    /// The part from this segment on.
    From(usize),
    /// The part with the character at this offset.
    WithOffset(usize),
    /// The part that is spoken at this time, in seconds.
    AtSeconds(f64),
}

request! {
    /// A part of a transcript. `at` comes before `seconds`, and both before `from`.
    pub struct ReadSpeechRequest {
        /// Index of the first segment, from 0. Default 0.
        pub from?: Integer<0, 1_000_000>,
        /// An offset in the document's text: the part that has it is read.
        pub at?: Integer<0, { i64::MAX }>,
        /// A time in whole seconds: the part that is spoken then is read.
        pub seconds?: Integer<0, 1_000_000>,
        /// Maximum number of segments. Default 400.
        pub limit?: Integer<1, 500>,
    }
}

impl FromRequest for ReadSpeech {
    type Request = ReadSpeechRequest;

    fn from_request(target: &Target, request: ReadSpeechRequest) -> Result<Self, Error> {
        let at = request.at.and_then(Integer::convert).map(SpeechPart::WithOffset);
        let seconds = request.seconds.and_then(Integer::convert::<u32>);
        let seconds = seconds.map(|seconds| SpeechPart::AtSeconds(f64::from(seconds)));
        let from = SpeechPart::From(request.from.and_then(Integer::convert).unwrap_or(0));
        Ok(Self {
            document: target.id(0)?,
            part: at.or(seconds).unwrap_or(from),
            limit: request.limit.and_then(Integer::convert).unwrap_or(DEFAULT_SEGMENTS),
        })
    }
}

/// A part of a transcript. While the recording is being transcribed, the segments that exist so far.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadSpeechResponse {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Version of the text, to which the offsets belong.
    pub version: i32,
    /// ISO 639-1 code of the spoken language; null if it was not detected.
    pub language: Option<String>,
    /// `processing` while the recording is being transcribed, then `ready` or `failed`.
    pub status: DocumentStatus,
    /// Part of the recording that is transcribed, from 0 to 1; null before it was begun.
    pub progress: Option<f64>,
    /// Length of the recording in seconds, as far as it is known; null before the first segment.
    pub duration_seconds: Option<f64>,
    /// Number of all segments.
    pub total_segments: usize,
    /// Index of the first segment of this part.
    pub from: usize,
    /// The segments, at most as many as requested.
    pub segments: Vec<SpeechSegment>,
    /// Index of the first segment that follows; null on the last part.
    pub next_from: Option<usize>,
}

/// A segment of a transcript: a few words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpeechSegment {
    /// Number of the segment in the transcript, from 0.
    pub index: usize,
    /// Start of the segment in the recording, in seconds.
    pub start_seconds: f64,
    /// End of the segment in the recording, in seconds.
    pub end_seconds: f64,
    /// Its words.
    pub text: String,
    /// Offset of its first character in the document's text, in Unicode scalar values; null until the transcript is the text.
    pub start_offset: Option<usize>,
    /// Offset after its last character; null until the transcript is the text.
    pub end_offset: Option<usize>,
}

impl Operation for ReadSpeech {
    type Reply = ReadSpeechResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ReadSpeechResponse) -> Option<usize> {
        Some(reply.segments.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadSpeechResponse, Error> {
        let document = find_recording(ctx, caller, self.document).await?;
        let current = current_transcript(&ctx.core, &document).await?;
        let version = current.as_ref().map_or(0, |transcript| transcript.version);
        let status = transcript_status(&ctx.core, &document, version).await?;
        let transcript = ctx.recordings.read(&document, version).await?;
        let from = self.first_segment(&transcript);
        let segments = segments_of(&transcript, from, self.limit);
        let next_from = from + segments.len();
        let total_segments = transcript.segments.len();
        let end = transcript.segments.last().map(|last| last.end);
        let measured = current.as_ref().and_then(|row| length_of(row.transcribed_samples, row.progress));
        Ok(ReadSpeechResponse {
            document_id: document.id,
            version: document.version,
            status,
            progress: current.as_ref().map(|row| row.progress),
            duration_seconds: measured.into_iter().chain(end).reduce(f64::max),
            language: current.and_then(|row| row.language).or(document.language),
            total_segments,
            from,
            segments,
            next_from: (next_from < total_segments).then_some(next_from),
        })
    }
}

impl ReadSpeech {
    fn first_segment(&self, transcript: &TimedTranscript) -> usize {
        let of_part = |index: usize| index - index % self.limit.max(1);
        match self.part {
            SpeechPart::From(index) => index.min(transcript.segments.len()),
            SpeechPart::WithOffset(offset) => of_part(transcript.index_of_offset(offset)),
            SpeechPart::AtSeconds(seconds) => of_part(transcript.index_at(seconds)),
        }
    }
}

/// Returns the length of a recording in seconds; `None` before a part of it was transcribed.
#[expect(clippy::cast_precision_loss, reason = "a recording has fewer samples than 2 to the power of 52")]
fn length_of(transcribed_samples: i64, progress: f64) -> Option<f64> {
    (progress > 0.0).then(|| transcribed_samples as f64 / SAMPLES_PER_SECOND / progress)
}

fn segments_of(transcript: &TimedTranscript, from: usize, limit: usize) -> Vec<SpeechSegment> {
    let numbered = transcript.segments.iter().enumerate().skip(from).take(limit);
    let segment = |(index, segment): (usize, &library::documents::SpokenSegment)| {
        let offsets = transcript.offsets(index);
        SpeechSegment {
            index,
            start_seconds: segment.start,
            end_seconds: segment.end,
            text: segment.text.clone(),
            start_offset: offsets.map(|offsets| offsets.0),
            end_offset: offsets.map(|offsets| offsets.1),
        }
    };
    numbered.map(segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_follows_from_what_is_transcribed() {
        assert_eq!(length_of(160_000, 0.5), Some(20.0));
        assert_eq!(length_of(0, 0.0), None);
    }
}
