//! Finds the words of a lost highlight again, and places a highlight where the user says they are.

use std::ops::Range;

use entity::{document, highlight};
use schemars::JsonSchema;
use sea_orm::{ActiveValue::Set, IntoActiveModel};
use serde::Serialize;
use values::id::{DocumentId, HighlightId};
use values::kind::AnchorState;
use values::scope::Scope;

use super::change;
use super::field_types::{MAX_HIGHLIGHT_CHARS, TextOffset, VersionNumber};
use super::view::{AnchoredHighlight, AnchoredHighlightResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::bookmarks;
use library::documents::{current_text, mark_bookmarks_unindexed};
use library::highlights::{cut_quotation, find_similar};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{Integer, NoFields, request};

/// Places that are suggested for a lost highlight.
const MAX_CANDIDATES: usize = 5;

/// Looks for places with words like those of a highlight in the current text of its document.
#[derive(Debug)]
pub struct FindHighlight(HighlightId);

/// Places a highlight on other words of the current text of its document.
#[derive(Debug)]
pub struct PlaceHighlight {
    id: HighlightId,
    range: Range<i32>,
    version: i32,
}

request! {
    /// The new place of a highlight.
    pub struct PlaceHighlightRequest {
        /// Offset of the first character in the document's text, in Unicode scalar values.
        pub start_offset: TextOffset,
        /// Offset after the last character, at most 10,000 behind the first.
        pub end_offset: TextOffset,
        /// The version of the text to which the offsets refer.
        pub version: VersionNumber,
    }
}

impl FromRequest for FindHighlight {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl FromRequest for PlaceHighlight {
    type Request = PlaceHighlightRequest;

    fn from_request(target: &Target, request: PlaceHighlightRequest) -> Result<Self, Error> {
        // The bounds of the fields are those of the columns, so no conversion fails.
        let offset = |offset: TextOffset| offset.convert().unwrap_or(0);
        Ok(Self {
            id: target.id(0)?,
            range: offset(request.start_offset)..offset(request.end_offset),
            version: Integer::convert(request.version).unwrap_or(0),
        })
    }
}

/// Places with words like those of a highlight, the likeliest first; at most 5.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindHighlightResponse {
    /// The document of the highlight.
    pub document_id: DocumentId,
    /// The version of the text to which the offsets refer.
    pub version: i32,
    /// The highlight as it is.
    pub highlight: AnchoredHighlight,
    /// The places.
    pub candidates: Vec<HighlightCandidate>,
}

/// A place with words like those of a highlight.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HighlightCandidate {
    /// The words there.
    pub text: String,
    /// Offset of the first character, in Unicode scalar values.
    pub start_offset: usize,
    /// Offset after the last character.
    pub end_offset: usize,
    /// The part of the words of the highlight that are among them, in percent.
    pub common_percent: usize,
}

impl Operation for FindHighlight {
    type Reply = FindHighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &FindHighlightResponse) -> Option<usize> {
        Some(reply.candidates.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindHighlightResponse, Error> {
        let db = ctx.core.db.read();
        let row = highlight::Entity::one_of(caller.user, self.0).one(db).await?.ok_or(Error::not_found())?;
        let bookmark = entity::bookmark::Entity::one_visible_to(caller.user, row.bookmark_id).one(db).await?;
        let bookmark = bookmark.ok_or(Error::not_found())?;
        let document = document::Entity::one_visible_to(caller.user, bookmark.document_id).one(db).await?;
        let document = document.ok_or(Error::not_found())?;
        let text = current_text(db, &document).await?;
        let found = find_similar(&text, &row.text, MAX_CANDIDATES).into_iter();
        let candidates = found.filter_map(|found| {
            Some(HighlightCandidate {
                text: text::slice_chars(&text, found.start, found.end)?.to_owned(),
                start_offset: found.start,
                end_offset: found.end,
                common_percent: found.common_percent,
            })
        });
        Ok(FindHighlightResponse {
            document_id: document.id,
            version: document.version,
            candidates: candidates.collect(),
            highlight: row.into(),
        })
    }
}

impl Operation for PlaceHighlight {
    type Reply = AnchoredHighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AnchoredHighlightResponse, Error> {
        let max_chars = i32::try_from(MAX_HIGHLIGHT_CHARS).unwrap_or(i32::MAX);
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let (bookmark, row) = change::lock(&txn, caller.user, self.id).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let document = document::Entity::one_visible_to(caller.user, bookmark.document_id).one(&txn).await?;
        let document = document.ok_or(Error::not_found())?;
        let text = cut_quotation(&txn, &document, self.version, self.range.clone(), max_chars).await?;
        let row = highlight::Model {
            text,
            start_offset: self.range.start,
            end_offset: self.range.end,
            anchor_state: AnchorState::Exact,
            ..row
        };
        let mut changed = row.clone().into_active_model();
        changed.text = Set(row.text.clone());
        changed.start_offset = Set(row.start_offset);
        changed.end_offset = Set(row.end_offset);
        changed.anchor_state = Set(row.anchor_state);
        highlight::Entity::update_owned_row(&txn, caller.user, changed).await?;
        let now = ctx.core.clock.now();
        mark_bookmarks_unindexed(&txn, caller.user, &[bookmark.id], now).await?;
        bookmarks::touch(&txn, bookmark, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(AnchoredHighlightResponse { highlight: row.into() })
    }
}
