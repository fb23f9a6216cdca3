//! Reading the timed transcript of a recording (spec.md: GET /documents/:id/transcript).

use entity::id::DocumentId;
use entity::kind::{ContentType, DocumentStatus};
use entity::scope::Scope;
use entity::{document, transcript, transcript_segment};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};

use super::page::{CURSOR, PageOf};
use super::target::Target;
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::pipeline::Operation;

const DEFAULT_LIMIT: u64 = 100;

/// A page of a transcript.
#[derive(Debug)]
pub struct ReadTranscript {
    document: DocumentId,
    page: PageOf,
}

impl ReadTranscript {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional(
            "limit",
            Kind::Integer { min: 1, max: 500 },
            "Maximum number of segments. Default 100.",
        ),
    ];

    /// Reads the route's parameters.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let page = PageOf::read(&mut values, DEFAULT_LIMIT);
        Ok(Self { document: target.id(0)?, page })
    }
}

/// A page of segments, in order. While the recording is being transcribed, those that exist so far.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadTranscriptResponse {
    document_id: DocumentId,
    language: Option<String>,
    status: DocumentStatus,
    segments: Vec<TranscriptSegment>,
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TranscriptSegment {
    index: i32,
    start_seconds: f64,
    end_seconds: f64,
    text: String,
}

/// A cursor goes on in the version that it began in: a new transcript begins anew.
#[derive(Serialize, Deserialize)]
struct Position {
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
        let list = format!("transcript:{}", self.document);
        let position: Option<Position> = self.page.position(ctx, caller.user, &list)?;
        let found = document::Entity::one_of(caller.user, self.document).one(ctx.core.db.read()).await?;
        let document = found.filter(is_recording).ok_or(Error::not_found())?;
        let shown = shown(ctx, &document).await?;
        let version = shown.as_ref().map_or(0, |transcript| transcript.version);
        let after = position.filter(|at| at.version == version).map_or(-1, |at| at.after);
        let mut rows = transcript_segment::Entity::owned_by(caller.user)
            .filter(transcript_segment::Column::DocumentId.eq(document.id))
            .filter(transcript_segment::Column::Version.eq(version))
            .filter(transcript_segment::Column::Ordinal.gt(after))
            .order_by_asc(transcript_segment::Column::Ordinal)
            .limit(self.page.limit + 1)
            .all(ctx.core.db.read())
            .await?;
        let at = |row: &transcript_segment::Model| Position { version, after: row.ordinal };
        let next_cursor = self.page.cut(ctx, caller.user, &list, &mut rows, at);
        Ok(ReadTranscriptResponse {
            document_id: document.id,
            language: shown.and_then(|transcript| transcript.language).or(document.language),
            status: document.status,
            segments: rows.into_iter().map(TranscriptSegment::from).collect(),
            next_cursor,
        })
    }
}

fn is_recording(document: &document::Model) -> bool {
    match document.content_type {
        ContentType::Audio | ContentType::Video => true,
        ContentType::Article | ContentType::Pdf | ContentType::Note => false,
    }
}

/// The transcript that the document's text was made of; before there is one, what has been heard so far.
async fn shown(ctx: &OperationContext, document: &document::Model) -> Result<Option<transcript::Model>, Error> {
    let mut versions = transcript::Entity::owned_by(document.user_id)
        .filter(transcript::Column::DocumentId.eq(document.id))
        .order_by_desc(transcript::Column::Version)
        .all(ctx.core.db.read())
        .await?;
    let current = versions.iter().position(|transcript| transcript.version == document.version);
    let index = current.unwrap_or(0);
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
