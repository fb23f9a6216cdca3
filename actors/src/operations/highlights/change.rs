//! Changes and deletes a highlight. A highlight of a deleted bookmark is not found until the bookmark is restored.

use entity::{bookmark, highlight};
use schemars::JsonSchema;
use sea_orm::sea_query::LockType;
use sea_orm::{ActiveValue::Set, ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{HighlightId, UserId};
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
use validation::{DisplayName, Integer, NoFields, Text, Words, request};

/// Changes the given fields of a highlight; `None` keeps a field, `Some(None)` removes its value.
#[derive(Debug)]
pub struct ChangeHighlight {
    id: HighlightId,
    text: Option<String>,
    start: Option<i32>,
    end: Option<i32>,
    note: Option<Option<String>>,
    color: Option<Option<String>>,
}

request! {
    /// The changes of a highlight.
    pub struct ChangeHighlightRequest {
        /// The new note. `null` removes it.
        pub note~: HighlightNote,
        /// Name of the new colour. `null` removes it.
        pub color~: ColorName,
        /// The new text of the highlight, exactly as in the document.
        pub text?: HighlightText,
        /// Offset of the first character in the document's text, in Unicode scalar values.
        pub start_offset?: TextOffset,
        /// Offset after the last character, in Unicode scalar values.
        pub end_offset?: TextOffset,
    }
}

impl FromRequest for ChangeHighlight {
    type Request = ChangeHighlightRequest;

    fn from_request(target: &Target, request: ChangeHighlightRequest) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            text: request.text.map(Words::into_inner),
            start: request.start_offset.and_then(Integer::convert),
            end: request.end_offset.and_then(Integer::convert),
            note: request.note.map(Text::into_inner).into_change(),
            color: request.color.map(DisplayName::into_inner).into_change(),
        })
    }
}

impl ChangeHighlight {
    fn changes_text(&self) -> bool {
        self.text.is_some() || self.start.is_some() || self.end.is_some()
    }
}

impl Operation for ChangeHighlight {
    type Reply = HighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<HighlightResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let (bookmark, mut row) = lock(&txn, caller.user, self.id).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let changes_text = self.changes_text();
        row.text = self.text.unwrap_or(row.text);
        row.start_offset = self.start.unwrap_or(row.start_offset);
        row.end_offset = self.end.unwrap_or(row.end_offset);
        row.note = self.note.unwrap_or(row.note);
        row.color = self.color.unwrap_or(row.color);
        // Only then: the text of the document may have changed since, and a note on the highlight can still be written.
        if changes_text {
            let quotation = Quotation { text: &row.text, start: row.start_offset, end: row.end_offset };
            require_quotation(&txn, caller.user, &bookmark, quotation).await?;
            row.anchor_state = AnchorState::Exact;
        }
        let mut changed = row.clone().into_active_model();
        changed.text = Set(row.text.clone());
        changed.start_offset = Set(row.start_offset);
        changed.end_offset = Set(row.end_offset);
        changed.anchor_state = Set(row.anchor_state);
        changed.note = Set(row.note.clone());
        changed.color = Set(row.color.clone());
        highlight::Entity::update_owned_row(&txn, caller.user, changed).await?;
        let now = ctx.core.clock.now();
        mark_bookmarks_unindexed(&txn, caller.user, &[bookmark.id], now).await?;
        bookmarks::touch(&txn, bookmark, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(HighlightResponse { highlight: row.into() })
    }
}

/// Deletes a highlight of a bookmark, with the note on it.
#[derive(Debug)]
pub struct DeleteHighlight(HighlightId);

impl FromRequest for DeleteHighlight {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The highlight was deleted, with the note on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteHighlightResponse {}

impl Operation for DeleteHighlight {
    type Reply = DeleteHighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteHighlightResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let (bookmark, row) = lock(&txn, caller.user, self.0).await?;
        highlight::Entity::delete_owned(caller.user)
            .filter(highlight::Column::Id.eq(row.id))
            .exec(&txn)
            .await?;
        let now = ctx.core.clock.now();
        mark_bookmarks_unindexed(&txn, caller.user, &[bookmark.id], now).await?;
        bookmarks::touch(&txn, bookmark, now).await?;
        txn.commit().await?;
        Ok(DeleteHighlightResponse {})
    }
}

/// Locks the bookmark of a highlight until the transaction ends and returns both.
///
/// # Errors
/// [`Error::NotFound`] when one of them does not exist, is deleted, or belongs to another user; the database fails.
pub(super) async fn lock(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: HighlightId,
) -> Result<(bookmark::Model, highlight::Model), Error> {
    let found = highlight::Entity::one_of(user, id).one(txn).await?.ok_or(Error::not_found())?;
    // The bookmark, not the highlight: its lock orders all changes of what belongs to it (`library::bookmarks::lock`).
    let bookmark = bookmark::Entity::one_visible_to(user, found.bookmark_id).lock(LockType::NoKeyUpdate);
    let bookmark = bookmark.one(txn).await?.ok_or(Error::not_found())?;
    // Read again: another transaction may have changed it before the lock was acquired.
    let found = highlight::Entity::one_of(user, id).one(txn).await?.ok_or(Error::not_found())?;
    Ok((bookmark, found))
}
