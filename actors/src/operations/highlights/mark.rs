//! Highlights words of a document that the caller sees in a version of its text.

use std::ops::Range;

use entity::{bookmark, document, entry, highlight};
use schemars::JsonSchema;
use sea_orm::QuerySelect;
use sea_orm::sea_query::LockType;
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, HighlightId};
use values::kind::AnchorState;
use values::scope::Scope;

use super::create;
use super::field_types::{ColorName, HighlightNote, MAX_HIGHLIGHT_CHARS, TextOffset, VersionNumber};
use super::view::AnchoredHighlight;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use jobs::Priority;
use library::bookmarks::{self, NewBookmark};
use library::highlights::cut_quotation;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{DisplayName, Integer, Text, request};

/// Highlights words of a document. A feed entry that is not saved is saved first.
#[derive(Debug)]
pub struct MarkDocument {
    document: DocumentId,
    range: Range<i32>,
    version: i32,
    note: Option<String>,
    color: Option<String>,
}

request! {
    /// Words of a document to highlight.
    pub struct MarkDocumentRequest {
        /// Offset of the first character in the document's text, in Unicode scalar values.
        pub start_offset: TextOffset,
        /// Offset after the last character, at most 10,000 behind the first.
        pub end_offset: TextOffset,
        /// The version of the text in which the words were selected.
        pub version: VersionNumber,
        /// A note on the highlight, at most 100,000 characters.
        pub note?: HighlightNote,
        /// Name of a colour, which the server does not interpret.
        pub color?: ColorName,
    }
}

impl FromRequest for MarkDocument {
    type Request = MarkDocumentRequest;

    fn from_request(target: &Target, request: MarkDocumentRequest) -> Result<Self, Error> {
        // The bounds of the fields are those of the columns, so no conversion fails.
        let offset = |offset: TextOffset| offset.convert().unwrap_or(0);
        Ok(Self {
            document: target.id(0)?,
            range: offset(request.start_offset)..offset(request.end_offset),
            version: Integer::convert(request.version).unwrap_or(0),
            note: request.note.map(Text::into_inner).filter(|note| !note.trim().is_empty()),
            color: request.color.map(DisplayName::into_inner),
        })
    }
}

/// The new highlight, and whether the document was saved to the library for it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarkDocumentResponse {
    /// The new highlight.
    pub highlight: AnchoredHighlight,
    /// The bookmark of the document.
    pub bookmark_id: BookmarkId,
    /// Whether the document was a feed entry that is saved now.
    pub was_saved: bool,
}

impl Operation for MarkDocument {
    type Reply = MarkDocumentResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<MarkDocumentResponse, Error> {
        let max_chars = i32::try_from(MAX_HIGHLIGHT_CHARS).unwrap_or(i32::MAX);
        let found =
            document::Entity::one_visible_to(caller.user, self.document).one(ctx.core.db.read()).await?;
        let document = found.ok_or(Error::not_found())?;
        // Checked before an entry is saved for it.
        cut_quotation(ctx.core.db.read(), &document, self.version, self.range.clone(), max_chars).await?;
        let (bookmark, was_saved) = bookmark_of(&document, caller, ctx).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let locked = bookmark::Entity::one_visible_to(caller.user, bookmark).lock(LockType::NoKeyUpdate);
        let bookmark = locked.one(&txn).await?.ok_or(Error::not_found())?;
        let found = document::Entity::one_visible_to(caller.user, self.document).one(&txn).await?;
        let document = found.ok_or(Error::not_found())?;
        let text = cut_quotation(&txn, &document, self.version, self.range.clone(), max_chars).await?;
        let row = highlight::Model {
            id: HighlightId::new(now),
            user_id: caller.user,
            bookmark_id: bookmark.id,
            text,
            note: self.note,
            color: self.color,
            start_offset: self.range.start,
            end_offset: self.range.end,
            anchor_state: AnchorState::Exact,
            created_at: now,
        };
        let bookmark_id = bookmark.id;
        create::insert(&txn, bookmark, row.clone()).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(MarkDocumentResponse { highlight: row.into(), bookmark_id, was_saved })
    }
}

/// Returns the bookmark whose text a document is, and whether a feed entry was saved for it.
///
/// # Errors
/// [`Error::Conflict`] when the document is a note, or an entry that cannot be told from another one; those of saving.
async fn bookmark_of(
    document: &document::Model,
    caller: &Caller,
    ctx: &OperationContext,
) -> Result<(BookmarkId, bool), Error> {
    let db = ctx.core.db.read();
    if let Some(id) = document.bookmark_id {
        let found =
            bookmark::Entity::one_visible_to(caller.user, id).one(db).await?.ok_or(Error::not_found())?;
        // A note refers to the bookmark on which it was written.
        return if found.document_id == document.id { Ok((id, false)) } else { Err(no_highlights()) };
    }
    let Some(entry) = document.entry_id else { return Err(no_highlights()) };
    let entry = entry::Entity::one_of(caller.user, entry).one(db).await?.ok_or(Error::not_found())?;
    let new = NewBookmark { url: entry.url, ..NewBookmark::default() };
    let saved = bookmarks::save(&ctx.core, &caller.owner(), new, Priority::Now).await?;
    ctx.job_signal.notify();
    if saved.row.document_id == document.id {
        return Ok((saved.row.id, true));
    }
    Err(Error::conflict(
        "the page of this entry is saved with another text; open it in the library and select the words there",
    ))
}

fn no_highlights() -> Error {
    Error::conflict(
        "the words of notes cannot be highlighted; only saved pages, uploads and feed entries have highlights",
    )
}
