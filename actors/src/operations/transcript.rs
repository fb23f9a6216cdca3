//! Reads the transcript of a recording, with times (spec.md: GET /documents/:id/transcript).

use entity::{document, transcript, transcript_segment};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};
use values::id::DocumentId;
use values::kind::{ContentType, DocumentStatus};
use values::scope::Scope;

use super::page::{CursorText, ListName, ListPage, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use jobs::JobKind;
use library::context::CoreContext;
use validation::{Integer, request};

const DEFAULT_LIMIT: u64 = 100;

/// Reads a page of a transcript.
#[derive(Debug)]
pub struct ReadTranscript {
    document: DocumentId,
    page: PageRequest,
}

request! {
    /// A page of the segments of a transcript.
    pub struct ReadTranscriptRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of segments. Default 100.
        pub limit?: Integer<1, 500>,
    }
}

impl FromRequest for ReadTranscript {
    type Request = ReadTranscriptRequest;

    fn from_request(target: &Target, request: ReadTranscriptRequest) -> Result<Self, Error> {
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { document: target.id(0)?, page })
    }
}

/// A page of segments, in order. While the recording is being transcribed, those that exist so far.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadTranscriptResponse {
    document_id: DocumentId,
    /// ISO 639-1 code of the spoken language; null if it was not detected.
    language: Option<String>,
    /// `processing` while the recording is being transcribed, then `ready` or `failed`.
    status: DocumentStatus,
    segments: Vec<TranscriptSegment>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TranscriptSegment {
    /// Number of the segment in the transcript, from 0.
    index: i32,
    /// Start of the segment in the recording, in seconds.
    start_seconds: f64,
    /// End of the segment in the recording, in seconds.
    end_seconds: f64,
    text: String,
}

/// The position of a segment within a version of the transcript.
#[derive(Serialize, Deserialize)]
struct SegmentPosition {
    version: i32,
    after: i32,
}

impl Operation for ReadTranscript {
    type Reply = ReadTranscriptResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ReadTranscriptResponse) -> Option<usize> {
        Some(reply.segments.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadTranscriptResponse, Error> {
        let list = self.page.of_list(ctx, caller, ListName::selected_by("transcript", self.document));
        let position: Option<SegmentPosition> = list.position()?;
        let found =
            document::Entity::one_visible_to(caller.user, self.document).one(ctx.core.db.read()).await?;
        // A document without a transcript is answered like an unknown one (contract.md, section 5).
        let document = found.filter(is_recording).ok_or(Error::not_found())?;
        let current = current_transcript(&ctx.core, &document).await?;
        let version = current.as_ref().map_or(0, |transcript| transcript.version);
        let status = transcript_status(&ctx.core, &document, version).await?;
        // The segments of another version are other ones, so if the transcript was replaced since, the list starts again.
        let after = position.filter(|last| last.version == version).map_or(-1, |last| last.after);
        let query = transcript_segment::Entity::owned_by(caller.user)
            .filter(transcript_segment::Column::DocumentId.eq(document.id))
            .filter(transcript_segment::Column::Version.eq(version))
            .filter(transcript_segment::Column::Ordinal.gt(after))
            .order_by_asc(transcript_segment::Column::Ordinal);
        let position = |row: &transcript_segment::Model| SegmentPosition { version, after: row.ordinal };
        let ListPage { rows, next_cursor } = list.fetch(query, position).await?;
        Ok(ReadTranscriptResponse {
            document_id: document.id,
            language: current.and_then(|transcript| transcript.language).or(document.language),
            status,
            segments: rows.into_iter().map(TranscriptSegment::from).collect(),
            next_cursor,
        })
    }
}

/// Returns whether a document is made from audio or video.
pub(super) fn is_recording(document: &document::Model) -> bool {
    match document.content_type {
        ContentType::Audio | ContentType::Video => true,
        ContentType::Article | ContentType::Pdf | ContentType::Note => false,
    }
}

/// Returns the status of the transcript of this version. An entry is ready with the description from its feed while its recording is
/// being transcribed.
pub(super) async fn transcript_status(
    core: &CoreContext,
    document: &document::Model,
    version: i32,
) -> Result<DocumentStatus, Error> {
    let is_text = version == document.version;
    if is_text || document.status != DocumentStatus::Ready {
        return Ok(document.status);
    }
    let (user, kind) = (document.user_id, JobKind::Transcribe);
    let is_pending = jobs::is_document_pending(core.db.read(), user, document.id, kind).await?;
    Ok(if is_pending { DocumentStatus::Processing } else { document.status })
}

/// Returns the transcript that is the document's text or, if there is none yet, the latest one so far.
pub(super) async fn current_transcript(
    core: &CoreContext,
    document: &document::Model,
) -> Result<Option<transcript::Model>, Error> {
    let mut versions = transcript::Entity::owned_by(document.user_id)
        .filter(transcript::Column::DocumentId.eq(document.id))
        .order_by_desc(transcript::Column::Version)
        .all(core.db.read())
        .await?;
    let of_text = versions.iter().position(|transcript| transcript.version == document.version);
    let index = of_text.unwrap_or(0);
    Ok((index < versions.len()).then(|| versions.swap_remove(index)))
}

impl From<transcript_segment::Model> for TranscriptSegment {
    fn from(row: transcript_segment::Model) -> Self {
        Self {
            index: row.ordinal,
            start_seconds: row.start_seconds,
            end_seconds: row.end_seconds,
            text: row.text,
        }
    }
}
