//! Writing behind: small things that an actor gathers are written together, one write after another.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Message, ResponseActFuture, WrapFuture};
use futures_util::future::LocalBoxFuture;
use tokio::sync::Mutex;
use tracing::warn;

use crate::error_chain;

/// One write at a time: whoever waits for the turn sees all earlier ones done.
pub type Turn = Arc<Mutex<()>>;

/// A write in progress: it gives back what it was given, and what it tells.
pub type Write<Gathered, Told, Error> = LocalBoxFuture<'static, (Gathered, Result<Told, Error>)>;

/// The error of a write.
pub trait WriteError: std::error::Error + 'static {
    /// Whether the log has the reason already, so that a failed write is not logged again.
    fn is_reported(&self) -> bool;
}

/// An actor that gathers what is written together.
pub trait Gathers: Actor<Context = Context<Self>> {
    /// What is gathered between two writes.
    type Gathered: 'static;
    /// What a write tells.
    type Told: 'static;
    /// Why a write failed.
    type Error: WriteError;
    /// What is gathered, for the log, behind "could not write".
    const WHAT: &'static str;

    /// The turn of its writes.
    fn turn(&self) -> Turn;

    /// What has been gathered, leaving nothing.
    fn take(&mut self) -> Self::Gathered;

    /// Writes it, all or nothing, and gives it back.
    fn write(&self, gathered: Self::Gathered) -> Write<Self::Gathered, Self::Told, Self::Error>;

    /// It was written.
    fn written(&mut self, told: Self::Told);

    /// It could not be written, and waits for the next write with what came since.
    fn put_back(&mut self, gathered: Self::Gathered);

    /// Writes what has been gathered when the writes before are done; what cannot be written is put back.
    fn flush(&mut self) -> ResponseActFuture<Self, Result<(), Self::Error>> {
        let turn = self.turn().lock_owned();
        Box::pin(turn.into_actor(self).then(|turn, actor, _| {
            let gathered = actor.take();
            actor.write(gathered).into_actor(actor).map(move |(gathered, written), actor, _| {
                let _turn = turn;
                match written {
                    Ok(told) => actor.written(told),
                    Err(error) => {
                        actor.put_back(gathered);
                        return Err(error);
                    }
                }
                Ok(())
            })
        }))
    }

    /// Writes what has been gathered, for nobody who waits.
    fn flush_behind(&mut self, context: &mut Context<Self>) {
        context.spawn(self.flush().map(|written, _, _| {
            if let Err(error) = written
                && !error.is_reported()
            {
                warn!(cause = error_chain(&error), "could not write {}", Self::WHAT);
            }
        }));
    }

    /// From now on what has been gathered is written so often.
    fn flush_every(context: &mut Context<Self>, every: Duration) {
        context.run_interval(every, Self::flush_behind);
    }
}

/// Has an actor that [`Gathers`] write what it has gathered; it answers once writes in progress are done too. `E` is the actor's
/// [`Gathers::Error`].
pub struct Flush<E>(PhantomData<fn() -> E>);

impl<E> Default for Flush<E> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<E: 'static> Message for Flush<E> {
    type Result = Result<(), E>;
}
