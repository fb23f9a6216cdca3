//! Hearing the recording that comes with an entry: its transcript becomes the entry's text. What the feed says of the episode
//! stays in the entry's summary.

use entity::entry;
use entity::id::EntryId;
use entity::scope::Scope;

use super::view::{self, EntryResponse};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use crate::ingest::media;
use jobs::{Priority, JobKind};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Which.
#[derive(Debug)]
pub struct TranscribeEntry(EntryId);

impl TranscribeEntry {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for TranscribeEntry {
    type Reply = EntryResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<EntryResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = entry::Entity::one_of(caller.user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        if row.enclosure_url.is_none() {
            return Err(Error::Conflict("the entry has no recording"));
        }
        let document = row.document_id.0;
        if media::is_heard(&txn, caller.user, row.document_id).await? {
            return Ok(EntryResponse { entry: view::one(&txn, row).await? });
        }
        jobs::enqueue(&txn, caller.user, JobKind::Transcribe, document, Priority::Now, ctx.core.clock.now()).await?;
        let entry = view::one(&txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(EntryResponse { entry })
    }
}
