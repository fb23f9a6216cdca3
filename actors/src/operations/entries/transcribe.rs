//! Transcribes the recording of an entry. The transcript becomes the entry's text; the feed's description of the episode stays
//! in the entry's summary.

use entity::entry;
use errors::Error;
use jobs::{JobKind, Priority};
use library::owned_transaction::begin_request;
use validation::NoFields;
use values::id::EntryId;
use values::scope::Scope;

use super::view::{self, EntryResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::ingest::media;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Requests the transcript of an entry's recording.
#[derive(Debug)]
pub struct TranscribeEntry(EntryId);

impl FromRequest for TranscribeEntry {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for TranscribeEntry {
    type Reply = EntryResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<EntryResponse, Error> {
        let (user, now) = (caller.user, ctx.core.clock.now());
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = entry::Entity::one_of(user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        if row.enclosure_url.is_none() {
            return Err(Error::conflict(
                "the entry has no recording; only entries with an audio or video file can be transcribed",
            ));
        }
        if media::has_transcript(&txn, user, row.document_id).await? {
            // Nothing was written, so the transaction ends without a commit.
            return Ok(EntryResponse { entry: view::load_one(&txn, row).await? });
        }
        jobs::enqueue(&txn, user, JobKind::Transcribe, row.document_id.0, Priority::Now, now).await?;
        let entry = view::load_one(&txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(EntryResponse { entry })
    }
}
