//! The cost of the AI: answers of a month ([`answers`]), tokens of a month and of a day ([`budget`]), and the pause, which an
//! operator sets or which begins when the daily allowance of the server is used up (contract.md, section 4).
//!
//! The pause is stored in the database, so that it is the same for the command line and every server. Search uses a value that
//! is at most half a second old ([`Pause`]), which the actor of keys reads together with the generation of the keys; a question reads
//! the database ([`check_not_paused`]).

pub mod answers;
pub mod budget;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use database::Db;
use errors::Error;
use sea_orm::ConnectionTrait;
use values::time::Timestamp;

use crate::service_state::{self, ServiceStateKey};

/// The pause of the AI, as it was last read. Clones share the value.
#[derive(Clone, Default)]
pub struct Pause {
    /// The end of the pause in milliseconds since 1970; 0 if there is none.
    until: Arc<AtomicI64>,
}

impl Pause {
    /// Returns whether the AI is paused at this time, according to the last value that was read.
    pub fn is_active(&self, now: Timestamp) -> bool {
        // Relaxed is enough: no other memory depends on this number.
        now.millis() < self.until.load(Ordering::Relaxed)
    }

    /// Reads the value from the database.
    pub async fn refresh(&self, db: &Db) -> Result<(), Error> {
        let value = service_state::read_directly(db, ServiceStateKey::AiPausedUntil).await?;
        self.observe(value.as_deref());
        Ok(())
    }

    /// Takes the value of [`ServiceStateKey::AiPausedUntil`] that was just read from the database.
    pub fn observe(&self, value: Option<&str>) {
        let until = value.and_then(parse_time).map_or(0, Timestamp::millis);
        self.until.store(until, Ordering::Relaxed);
    }
}

/// Returns the time until which the AI is paused, or `None` if it was never paused or was resumed. The time may be over.
pub async fn paused_until(db: &Db) -> Result<Option<Timestamp>, Error> {
    let value = service_state::read_directly(db, ServiceStateKey::AiPausedUntil).await?;
    Ok(value.as_deref().and_then(parse_time))
}

fn parse_time(millis: &str) -> Option<Timestamp> {
    millis.parse().ok().map(Timestamp::from_millis)
}

/// Checks that the AI is not paused, with a read of the database.
///
/// # Errors
/// [`Error::AiPaused`] with the remaining time when it is.
pub async fn check_not_paused(db: &Db, now: Timestamp) -> Result<(), Error> {
    match paused_until(db).await? {
        Some(until) if now < until => Err(Error::AiPaused(until.since(now))),
        Some(_) | None => Ok(()),
    }
}

/// Pauses the AI for the rest of the UTC day. Returns the end of the pause.
pub async fn pause(db: &Db, now: Timestamp) -> Result<Timestamp, Error> {
    pause_within(db.write(), now).await
}

/// Pauses the AI as [`pause`], within a transaction.
async fn pause_within(db: &impl ConnectionTrait, now: Timestamp) -> Result<Timestamp, Error> {
    let until = now.day().end();
    service_state::write(db, ServiceStateKey::AiPausedUntil, until.millis().to_string()).await?;
    Ok(until)
}

/// Ends the pause, also one that the daily allowance began. Without a pause nothing happens.
pub async fn resume(db: &Db) -> Result<(), Error> {
    Ok(service_state::forget(db.write(), ServiceStateKey::AiPausedUntil).await?)
}
