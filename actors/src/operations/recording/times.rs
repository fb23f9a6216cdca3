//! Finds when words of a transcript are spoken.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use values::id::DocumentId;
use values::scope::Scope;

use super::find_recording;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::{Integer, request};

/// Finds when words of a transcript are spoken.
#[derive(Debug)]
pub struct LocateSpeech {
    /// The document.
    pub document: DocumentId,
    /// The offset of the first character.
    pub start: usize,
    /// The offset after the last character.
    pub end: usize,
}

request! {
    /// Words of a transcript.
    pub struct LocateSpeechRequest {
        /// Offset of the first character in the document's text, in Unicode scalar values.
        pub start: Integer<0, { i64::MAX }>,
        /// Offset after the last character.
        pub end: Integer<0, { i64::MAX }>,
    }
}

impl FromRequest for LocateSpeech {
    type Request = LocateSpeechRequest;

    fn from_request(target: &Target, request: LocateSpeechRequest) -> Result<Self, Error> {
        let (start, end) = (request.start.into_inner(), request.end.into_inner());
        if end <= start {
            return Err(Error::invalid("end", "must be greater than start"));
        }
        let offset = |offset: i64| usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(Self { document: target.id(0)?, start: offset(start), end: offset(end) })
    }
}

/// When words are spoken: the times of the segments that they are in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocateSpeechResponse {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Version of the text, to which the offsets belong.
    pub version: i32,
    /// Start of the first segment, in seconds; null until the transcript is the text.
    pub start_seconds: Option<f64>,
    /// End of the last segment, in seconds; null until the transcript is the text.
    pub end_seconds: Option<f64>,
}

impl Operation for LocateSpeech {
    type Reply = LocateSpeechResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<LocateSpeechResponse, Error> {
        let document = find_recording(ctx, caller, self.document).await?;
        let transcript = ctx.recordings.read(&document, document.version).await?;
        let times = transcript.times(self.start, self.end);
        Ok(LocateSpeechResponse {
            document_id: document.id,
            version: document.version,
            start_seconds: times.map(|times| times.0),
            end_seconds: times.map(|times| times.1),
        })
    }
}

/// Finds when several ranges of a transcript begin, for the page of a recording.
#[derive(Debug)]
pub struct LocateSpeechRanges {
    /// The document.
    pub document: DocumentId,
    /// The ranges, as offsets in the document's text.
    pub ranges: Vec<Range<usize>>,
}

/// When ranges of a transcript begin.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocateSpeechRangesResponse {
    /// Start of the first segment of each range, in seconds and in the order of the ranges; null until the transcript is the text.
    pub start_seconds: Vec<Option<f64>>,
}

impl Operation for LocateSpeechRanges {
    type Reply = LocateSpeechRangesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<LocateSpeechRangesResponse, Error> {
        let document = find_recording(ctx, caller, self.document).await?;
        let transcript = ctx.recordings.read(&document, document.version).await?;
        let start = |range: &Range<usize>| transcript.times(range.start, range.end).map(|times| times.0);
        Ok(LocateSpeechRangesResponse { start_seconds: self.ranges.iter().map(start).collect() })
    }
}
