//! Highlights words of a bookmark's text.

use entity::id::{BookmarkId, HighlightId};
use entity::scope::Scope;
use entity::{bookmark, highlight};
use sea_orm::sea_query::LockType;
use sea_orm::{EntityTrait, IntoActiveModel, QuerySelect};

use super::kinds;
use super::view::HighlightResponse;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::target::Target;
use errors::Error;
use library::bookmarks;
use library::highlights::{Quotation, require_quotation};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{Field, Values};

/// A new highlight.
#[derive(Debug)]
pub struct CreateHighlight {
    bookmark: BookmarkId,
    text: String,
    note: Option<String>,
    color: Option<String>,
    start: i32,
    end: i32,
}

impl CreateHighlight {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("text", kinds::TEXT, "The text to highlight, exactly as in the document."),
        Field::required(
            "startOffset",
            kinds::OFFSET,
            "Offset of the first character in the document's text, in Unicode scalar values.",
        ),
        Field::required("endOffset", kinds::OFFSET, "Offset after the last character."),
        Field::optional("note", kinds::NOTE, "A note on the highlight."),
        Field::optional("color", kinds::COLOR, "Name of a colour."),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            bookmark: target.id(0)?,
            text: values.text("text").unwrap_or_default(),
            note: values.text("note"),
            color: values.text("color"),
            start: values.integer("startOffset").unwrap_or(0),
            end: values.integer("endOffset").unwrap_or(0),
        })
    }
}

impl Operation for CreateHighlight {
    type Reply = HighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<HighlightResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let found = bookmark::Entity::one_of(caller.user, self.bookmark).lock(LockType::NoKeyUpdate);
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
            created_at: now,
        };
        highlight::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
        bookmarks::touch(&txn, bookmark, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(HighlightResponse { highlight: row.into() })
    }
}
