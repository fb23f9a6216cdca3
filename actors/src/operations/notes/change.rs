//! Changes and deletes a note in the web app, of a project or on a bookmark (contract.md, section 9).

use entity::note;
use schemars::JsonSchema;
use sea_orm::{ActiveValue::Set, IntoActiveModel};
use serde::Serialize;
use values::id::NoteId;
use values::scope::Scope;

use super::{NoteBody, NoteResponse, NoteTitle};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use jobs::Priority;
use library::library_quota::LibraryRoom;
use library::notes::{self, LockedNote};
use library::owned_transaction::begin_request;
use validation::{Flag, NoFields, PageTitle, Words, request};

/// Changes the given fields of a note; `None` keeps a field.
#[derive(Debug)]
pub struct ChangeNote {
    id: NoteId,
    title: Option<String>,
    body: Option<String>,
    pinned: Option<bool>,
}

request! {
    /// The changes of a note.
    pub struct ChangeNoteRequest {
        /// The new title of the note.
        pub title?: NoteTitle,
        /// The new text, as Markdown.
        pub body_md?: NoteBody,
        /// Whether the note is listed first and given to assistants.
        pub pinned?: Flag,
    }
}

impl FromRequest for ChangeNote {
    type Request = ChangeNoteRequest;

    fn from_request(target: &Target, request: ChangeNoteRequest) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            title: request.title.map(PageTitle::into_inner),
            body: request.body_md.map(Words::into_inner),
            pinned: request.pinned.map(Flag::into_inner),
        })
    }
}

impl Operation for ChangeNote {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteNotes];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        // Before the transaction, which makes other writes of the user wait, and on a worker thread: a note may be long.
        let new_text = match self.body {
            Some(body) => Some((body.clone(), notes::chunk_body_in_worker(&ctx.core, body).await?)),
            None => None,
        };
        let now = ctx.core.clock.now();
        let owner = caller.owner();
        let txn = begin_request(&ctx.core.db, &owner).await?;
        let LockedNote { note: before, owner: note_owner } =
            notes::lock_for_change(&txn, caller.user, self.id).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &owner).await?;
        let room = room.rewriting(&txn, Some(before.document_id)).await?;
        let mut row = before.clone();
        // Unchanged values are not written: the same text would become a new version and be indexed again.
        if let Some(title) = self.title.filter(|title| *title != row.title) {
            row = notes::retitle(&txn, row, title, now).await?;
        }
        if let Some(pinned) = self.pinned.filter(|pinned| *pinned != row.pinned) {
            let mut changed = row.into_active_model();
            changed.pinned = Set(pinned);
            changed.updated_at = Set(now);
            row = note::Entity::update_owned_row(&txn, caller.user, changed).await?;
        }
        if let Some((body, text)) = new_text.filter(|(body, _)| *body != row.body) {
            row = notes::rewrite(&txn, row, body, text, Priority::Now, now).await?;
        }
        if row != before {
            note_owner.touch(&txn, now).await?;
            room.must_hold(&txn).await?;
        }
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(NoteResponse { note: row.into() })
    }
}

/// Deletes a note of a project or on a bookmark, with its document.
#[derive(Debug)]
pub struct DeleteNote(NoteId);

impl FromRequest for DeleteNote {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The note was deleted, with its document and its places in projects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteNoteResponse {}

impl Operation for DeleteNote {
    type Reply = DeleteNoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteNotes];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteNoteResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let note = notes::lock_for_change(&txn, caller.user, self.0).await?;
        note.delete(&txn, Priority::Now, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(DeleteNoteResponse {})
    }
}
