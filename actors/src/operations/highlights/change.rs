//! Changing a highlight, and taking it away. A highlight of a deleted bookmark is out of reach until that is restored.

use entity::id::{HighlightId, UserId};
use entity::scope::Scope;
use entity::{bookmark, highlight};
use schemars::JsonSchema;
use sea_orm::sea_query::LockType;
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel,
    QueryFilter, QuerySelect,
};
use serde::Serialize;

use super::kinds;
use super::view::{HighlightResponse, Marked, must_stand};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use library::library_quota::LibraryRoom;
use library::bookmarks::save;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// What is to be different; `Some(None)` empties.
#[derive(Debug)]
pub struct ChangeHighlight {
    id: HighlightId,
    text: Option<String>,
    start: Option<i32>,
    end: Option<i32>,
    note: Option<Option<String>>,
    color: Option<Option<String>>,
}

impl ChangeHighlight {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional("note", kinds::NOTE, "The new note. `null` removes it."),
        Field::optional("color", kinds::COLOR, "Name of the new colour. `null` removes it."),
        Field::optional("text", kinds::TEXT, "The new text of the highlight, exactly as in the document."),
        Field::optional(
            "startOffset",
            kinds::PLACE,
            "Offset of the first character in the document's text, in Unicode scalar values.",
        ),
        Field::optional("endOffset", kinds::PLACE, "Offset after the last character."),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            text: values.text("text"),
            start: values.integer("startOffset"),
            end: values.integer("endOffset"),
            note: values.change("note"),
            color: values.change("color"),
        })
    }

    fn moves(&self) -> bool {
        self.text.is_some() || self.start.is_some() || self.end.is_some()
    }
}

impl Operation for ChangeHighlight {
    type Reply = HighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<HighlightResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let (saved, mut row) = own(&txn, caller.user, self.id).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let moves = self.moves();
        row.text = self.text.unwrap_or(row.text);
        row.start_offset = self.start.unwrap_or(row.start_offset);
        row.end_offset = self.end.unwrap_or(row.end_offset);
        row.note = self.note.unwrap_or(row.note);
        row.color = self.color.unwrap_or(row.color);
        if moves {
            let marked = Marked { text: &row.text, start: row.start_offset, end: row.end_offset };
            must_stand(&txn, caller.user, &saved, marked).await?;
        }
        let mut changed = row.clone().into_active_model();
        changed.text = Set(row.text.clone());
        changed.start_offset = Set(row.start_offset);
        changed.end_offset = Set(row.end_offset);
        changed.note = Set(row.note.clone());
        changed.color = Set(row.color.clone());
        changed.update(&txn).await?;
        save::touch(&txn, saved, ctx.core.clock.now()).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(HighlightResponse { highlight: row.into() })
    }
}

/// Which is taken away.
#[derive(Debug)]
pub struct DeleteHighlight(HighlightId);

impl DeleteHighlight {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The highlight was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteHighlightResponse {}

impl Operation for DeleteHighlight {
    type Reply = DeleteHighlightResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteHighlightResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let (saved, row) = own(&txn, caller.user, self.0).await?;
        highlight::Entity::delete_many()
            .filter(highlight::Column::UserId.eq(caller.user))
            .filter(highlight::Column::Id.eq(row.id))
            .exec(&txn)
            .await?;
        save::touch(&txn, saved, ctx.core.clock.now()).await?;
        txn.commit().await?;
        Ok(DeleteHighlightResponse {})
    }
}

/// The highlight and its living bookmark, which is locked: two changes of it wait for each other.
async fn own(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: HighlightId,
) -> Result<(bookmark::Model, highlight::Model), Error> {
    let found = highlight::Entity::one_of(user, id).one(txn).await?.ok_or(Error::not_found())?;
    let saved = bookmark::Entity::one_of(user, found.bookmark_id).lock(LockType::NoKeyUpdate);
    let saved = saved.one(txn).await?.ok_or(Error::not_found())?;
    // What was read before the lock may be another's change ago.
    let found = highlight::Entity::one_of(user, id).one(txn).await?.ok_or(Error::not_found())?;
    Ok((saved, found))
}
