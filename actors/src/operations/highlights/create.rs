//! Highlights words of a bookmark's text.

use entity::{bookmark, highlight};
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, EntityTrait, IntoActiveModel, QuerySelect};
use values::id::{BookmarkId, HighlightId};
use values::kind::AnchorState;
use values::scope::Scope;

use super::field_types::{ColorName, HighlightNote, HighlightText, TextOffset};
use super::view::HighlightResponse;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::bookmarks;
use library::documents::mark_bookmarks_unindexed;
use library::highlights::{Quotation, require_quotation};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{DisplayName, Text, request};

/// Highlights words of the text of a bookmark.
#[derive(Debug)]
pub struct CreateHighlight {
    bookmark: BookmarkId,
    text: String,
    note: Option<String>,
    color: Option<String>,
    start: i32,
    end: i32,
}

request! {
    /// A new highlight in the text of a bookmark.
    pub struct CreateHighlightRequest {
        /// The text to highlight, exactly as in the document.
        pub text: HighlightText,
        /// Offset of the first character in the document's text, in Unicode scalar values.
        pub start_offset: TextOffset,
        /// Offset after the last character, in Unicode scalar values.
        pub end_offset: TextOffset,
        /// A note on the highlight, at most 100,000 characters.
        pub note?: HighlightNote,
        /// Name of a colour, which the server does not interpret.
        pub color?: ColorName,
    }
}

impl FromRequest for CreateHighlight {
    type Request = CreateHighlightRequest;

    fn from_request(target: &Target, request: CreateHighlightRequest) -> Result<Self, Error> {
        Ok(Self {
            bookmark: target.id(0)?,
            text: request.text.into_inner(),
            note: request.note.map(Text::into_inner),
            color: request.color.map(DisplayName::into_inner),
            // The bounds of `TextOffset` are those of the column, so no conversion fails.
            start: request.start_offset.convert().unwrap_or(0),
            end: request.end_offset.convert().unwrap_or(0),
        })
    }
}

impl Operation for CreateHighlight {
    type Reply = HighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<HighlightResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let found = bookmark::Entity::one_visible_to(caller.user, self.bookmark).lock(LockType::NoKeyUpdate);
        let bookmark = found.one(&txn).await?.ok_or(Error::not_found())?;
        let quotation = Quotation { text: &self.text, start: self.start, end: self.end };
        require_quotation(&txn, caller.user, &bookmark, quotation).await?;
        let row = highlight::Model {
            id: HighlightId::new(now),
            user_id: caller.user,
            bookmark_id: bookmark.id,
            text: self.text,
            note: self.note,
            color: self.color,
            start_offset: self.start,
            end_offset: self.end,
            anchor_state: AnchorState::Exact,
            created_at: now,
        };
        insert(&txn, bookmark, row.clone()).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(HighlightResponse { highlight: row.into() })
    }
}

/// Stores a new highlight of a bookmark, which is locked.
pub(super) async fn insert(
    txn: &impl ConnectionTrait,
    bookmark: bookmark::Model,
    row: highlight::Model,
) -> Result<(), Error> {
    let (user, now) = (row.user_id, row.created_at);
    highlight::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    mark_bookmarks_unindexed(txn, user, &[bookmark.id], now).await?;
    bookmarks::touch(txn, bookmark, now).await?;
    Ok(())
}
