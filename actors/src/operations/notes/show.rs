//! Shows one note, of a project or on a bookmark.

use entity::{document, note};
use errors::Error;
use validation::NoFields;
use values::id::NoteId;
use values::scope::Scope;

use super::{NoteResponse, NoteView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Shows a note.
#[derive(Debug)]
pub struct ShowNote(NoteId);

impl FromRequest for ShowNote {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowNote {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        let db = ctx.core.db.read();
        let row = note::Entity::one_of(caller.user, self.0).one(db).await?.ok_or(Error::not_found())?;
        // The note on a deleted bookmark is hidden with it.
        let document = document::Entity::one_visible_to(caller.user, row.document_id).one(db).await?;
        document.ok_or(Error::not_found())?;
        Ok(NoteResponse { note: NoteView::from(row) })
    }
}
