//! Lists the highlights of a document for its reader, in the order of the text.

use std::ops::Range;

use entity::{bookmark, document, highlight};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, UserId};
use values::kind::AnchorState;
use values::scope::Scope;

use super::view::AnchoredHighlight;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::NoFields;

/// Highlights of one document that are drawn. The list of all highlights has the others.
const MAX_DRAWN_HIGHLIGHTS: u64 = 2_000;

/// Highlights of one page that are drawn.
const MAX_RANGE_HIGHLIGHTS: u64 = 200;

/// Lists the highlights of a document with the states of their anchors.
#[derive(Debug)]
pub struct ListDocumentHighlights(DocumentId);

impl FromRequest for ListDocumentHighlights {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The highlights of a document in the order of the text, at most 2,000.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListDocumentHighlightsResponse {
    /// The version of the text to which their offsets refer.
    pub version: i32,
    /// The highlights.
    pub highlights: Vec<AnchoredHighlight>,
}

impl Operation for ListDocumentHighlights {
    type Reply = ListDocumentHighlightsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ListDocumentHighlightsResponse) -> Option<usize> {
        Some(reply.highlights.len())
    }

    async fn run(
        self,
        caller: &Caller,
        ctx: &OperationContext,
    ) -> Result<ListDocumentHighlightsResponse, Error> {
        let found = document::Entity::one_visible_to(caller.user, self.0).one(ctx.core.db.read()).await?;
        let document = found.ok_or(Error::not_found())?;
        let highlights = highlights_of(&ctx.core, caller.user, &document).await?;
        Ok(ListDocumentHighlightsResponse { version: document.version, highlights })
    }
}

/// Lists the highlights that have words in a range of a document, for one page of a PDF.
#[derive(Debug)]
pub struct ListHighlightsInRange {
    /// The document.
    pub document: DocumentId,
    /// The range, as offsets in the document's text.
    pub range: Range<usize>,
}

/// The highlights with words in a range, and what else the page of a PDF needs of its document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListHighlightsInRangeResponse {
    /// The version of the text to which the offsets refer.
    pub version: i32,
    /// ISO 639-1 code of the language; null if it was not detected.
    pub language: Option<String>,
    /// The highlights in the order of the text, at most 200; lost ones are left out.
    pub highlights: Vec<AnchoredHighlight>,
}

impl Operation for ListHighlightsInRange {
    type Reply = ListHighlightsInRangeResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ListHighlightsInRangeResponse) -> Option<usize> {
        Some(reply.highlights.len())
    }

    async fn run(
        self,
        caller: &Caller,
        ctx: &OperationContext,
    ) -> Result<ListHighlightsInRangeResponse, Error> {
        let found = document::Entity::one_visible_to(caller.user, self.document);
        let document = found.one(ctx.core.db.read()).await?.ok_or(Error::not_found())?;
        let highlights = highlights_within(&ctx.core, caller.user, &document, self.range).await?;
        Ok(ListHighlightsInRangeResponse {
            version: document.version,
            language: document.language,
            highlights,
        })
    }
}

async fn highlights_within(
    core: &CoreContext,
    user: UserId,
    document: &document::Model,
    range: Range<usize>,
) -> Result<Vec<AnchoredHighlight>, Error> {
    let Some(bookmark) = bookmark_of_text(core, user, document).await? else { return Ok(Vec::new()) };
    let offset = |offset: usize| i32::try_from(offset).unwrap_or(i32::MAX);
    let rows = highlight::Entity::owned_by(user)
        .filter(highlight::Column::BookmarkId.eq(bookmark))
        .filter(highlight::Column::StartOffset.lt(offset(range.end)))
        .filter(highlight::Column::EndOffset.gt(offset(range.start)))
        .order_by_asc(highlight::Column::StartOffset)
        .order_by_asc(highlight::Column::Id)
        .limit(MAX_RANGE_HIGHLIGHTS)
        .all(core.db.read())
        .await?;
    let is_placed = |row: &highlight::Model| row.anchor_state != AnchorState::Lost;
    Ok(rows.into_iter().filter(is_placed).map(AnchoredHighlight::from).collect())
}

/// Returns the highlights of a document that a user may see, in the order of the text; none of a note.
pub async fn highlights_of(
    core: &CoreContext,
    user: UserId,
    document: &document::Model,
) -> Result<Vec<AnchoredHighlight>, Error> {
    let Some(bookmark) = bookmark_of_text(core, user, document).await? else { return Ok(Vec::new()) };
    let rows = highlight::Entity::owned_by(user)
        .filter(highlight::Column::BookmarkId.eq(bookmark))
        .order_by_asc(highlight::Column::StartOffset)
        .order_by_asc(highlight::Column::Id)
        .limit(MAX_DRAWN_HIGHLIGHTS);
    Ok(rows.all(core.db.read()).await?.into_iter().map(AnchoredHighlight::from).collect())
}

/// Returns the bookmark whose text a document is.
async fn bookmark_of_text(
    core: &CoreContext,
    user: UserId,
    document: &document::Model,
) -> Result<Option<BookmarkId>, Error> {
    let Some(id) = document.bookmark_id else { return Ok(None) };
    let found = bookmark::Entity::one_visible_to(user, id).one(core.db.read()).await?;
    Ok(found.filter(|bookmark| bookmark.document_id == document.id).map(|bookmark| bookmark.id))
}
