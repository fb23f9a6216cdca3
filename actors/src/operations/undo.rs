//! Undoes a change of many bookmarks or of tags, or the deletion of a collection.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::UndoId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::owned_transaction::begin_owned;
use library::undo::take_last_step;
use validation::NoFields;

/// Undoes the change with this token. It can be undone once, for ten minutes.
#[derive(Debug)]
pub struct UndoChange(UndoId);

impl FromRequest for UndoChange {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// What was undone.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoChangeResponse {
    /// Number of bookmarks that are as they were; one that was changed twice counts twice.
    pub undone: usize,
    /// Number of bookmarks that could not be changed back, because they are gone, or because their URL was saved again.
    pub failed: usize,
}

impl Operation for UndoChange {
    type Reply = UndoChangeResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks, Scope::WriteCollections];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<UndoChangeResponse, Error> {
        let _permit = ctx.user_slots.batches.acquire(caller.user).await?;
        let mut response = UndoChangeResponse { undone: 0, failed: 0 };
        loop {
            // Each step with its removal, so that an undo that is interrupted can be continued.
            let now = ctx.core.clock.now();
            let txn = begin_owned(&ctx.core.db, caller.user).await?;
            let step = take_last_step(&txn, caller.user, self.0, now).await?;
            let count = match &step {
                Some(step) => step.apply(&txn, caller.user, now).await?,
                None => Default::default(),
            };
            txn.commit().await?;
            response.undone = response.undone.saturating_add(count.undone);
            response.failed = response.failed.saturating_add(count.failed);
            if step.is_none() {
                break;
            }
        }
        ctx.job_signal.notify();
        Ok(response)
    }
}
