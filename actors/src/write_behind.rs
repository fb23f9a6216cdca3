//! Write-behind: an actor gathers small changes and writes them together, one batch after another.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Message, ResponseActFuture, WrapFuture};
use errors::Error;
use futures_util::future::LocalBoxFuture;
use tokio::sync::Mutex;
use tracing::warn;

/// Held during a write, so that one write follows another: a caller that gets it sees all earlier ones done.
pub type WriteLock = Arc<Mutex<()>>;

/// A write in progress. It returns the batch, and its output or why it failed. After a failure the batch may be written all the same.
pub type WriteFuture<Batch, Output> = LocalBoxFuture<'static, (Batch, Result<Output, Error>)>;

/// An actor that gathers changes and writes them together.
///
/// A failed write does not say that nothing was written: the connection may break after the database has committed, before the answer
/// arrives. The batch is then written again, with the changes since, so a second write of the same changes must have no effect. Rows
/// are written with absolute values, or inserted unless their id is there already; nothing is added to a value.
pub trait WriteBehind: Actor<Context = Context<Self>> {
    /// The changes that are gathered between two writes.
    type Batch: 'static;
    /// What a successful write returns to the actor.
    type Output: 'static;
    /// Name of the changes in the log.
    const BATCH_NAME: &'static str;

    /// Returns the lock that is held during each write of this actor.
    fn write_lock(&self) -> WriteLock;

    /// Removes the gathered changes from the actor and returns them.
    fn take_batch(&mut self) -> Self::Batch;

    /// Writes a batch, all or nothing, and returns it. Changes of it that were written before are skipped.
    fn write(&self, batch: Self::Batch) -> WriteFuture<Self::Batch, Self::Output>;

    /// Handles a batch that was written, with the output of its write.
    fn on_written(&mut self, batch: Self::Batch, output: Self::Output);

    /// Keeps a batch for the next write, with the changes since: it could not be written, as far as is known.
    fn put_back(&mut self, batch: Self::Batch);

    /// Writes the gathered changes once earlier writes are done. A batch that cannot be written is put back.
    fn flush(&mut self) -> ResponseActFuture<Self, Result<(), Error>> {
        let lock = self.write_lock().lock_owned();
        Box::pin(lock.into_actor(self).then(|guard, actor, _| {
            // Taken only once the lock is held, so that changes which arrive during an earlier write are part of this batch.
            let batch = actor.take_batch();
            actor.write(batch).into_actor(actor).map(move |(batch, written), actor, _| {
                // Held until the batch is done with, so that a flush that waits finds it written or put back.
                let _guard = guard;
                match written {
                    Ok(output) => actor.on_written(batch, output),
                    Err(error) => {
                        actor.put_back(batch);
                        return Err(error);
                    }
                }
                Ok(())
            })
        }))
    }

    /// Begins a [`Self::flush`] without waiting for it. A failure is logged, unless it is reported already.
    fn flush_detached(&mut self, context: &mut Context<Self>) {
        context.spawn(self.flush().map(|written, _, _| {
            if let Err(error) = written
                && !error.is_reported()
            {
                warn!(data = Self::BATCH_NAME, cause = error.chain(), "could not write buffered data");
            }
        }));
    }

    /// Writes the gathered changes in this interval from now on.
    fn flush_every(context: &mut Context<Self>, interval: Duration) {
        context.run_interval(interval, Self::flush_detached);
    }
}

/// Makes an actor write what it has in memory; it answers once writes in progress are done too.
#[derive(Message)]
#[rtype(result = "Result<(), Error>")]
pub struct Flush;
