//! What the AI may cost: answers of a month ([`answers`]), tokens of a month and of a day ([`budget`]), and the pause,
//! by an operator's word or because the service's daily allowance is spent (contract.md, section 4).
//!
//! The pause stands in the database, so that the command line and every node mean the same. Search believes what it read
//! for half a second; a question looks itself.

pub mod answers;
pub mod budget;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use database::Db;
use entity::time::Timestamp;
use sea_orm::ConnectionTrait;

use errors::Error;
use crate::service_state::{self, ServiceStateKey};

/// Whether the AI pauses, as it was last read.
#[derive(Clone, Default)]
pub struct Pause {
    until: Arc<AtomicI64>,
}

impl Pause {
    /// Whether it pauses now.
    pub fn holds(&self, now: Timestamp) -> bool {
        now.millis() < self.until.load(Ordering::Relaxed)
    }

    /// Reads the fact anew.
    pub async fn look(&self, db: &Db) -> Result<(), Error> {
        let until = paused_until(db.read()).await?;
        self.until.store(until.map_or(0, Timestamp::millis), Ordering::Relaxed);
        Ok(())
    }
}

/// Until when the AI pauses, where it does.
pub async fn paused_until(db: &impl ConnectionTrait) -> Result<Option<Timestamp>, Error> {
    let fact = service_state::read(db, ServiceStateKey::AiPausedUntil).await?;
    Ok(fact.and_then(|millis| millis.parse().ok()).map(Timestamp::from_millis))
}

/// Whether questions may be asked now.
///
/// # Errors
/// [`Error::AiPaused`] with the time that is left; [`Error::Internal`] when the database fails.
pub async fn must_not_pause(db: &Db, now: Timestamp) -> Result<(), Error> {
    match paused_until(db.read()).await? {
        Some(until) if now < until => Err(Error::AiPaused(until.since(now))),
        Some(_) | None => Ok(()),
    }
}

/// Pauses the AI for the rest of the UTC day.
pub async fn pause(db: &Db, now: Timestamp) -> Result<Timestamp, Error> {
    pause_within(db.write(), now).await
}

/// The same, within a transaction.
async fn pause_within(db: &impl ConnectionTrait, now: Timestamp) -> Result<Timestamp, Error> {
    let until = now.day().end();
    service_state::write(db, ServiceStateKey::AiPausedUntil, until.millis().to_string()).await?;
    Ok(until)
}

/// Ends the pause.
pub async fn resume(db: &Db) -> Result<(), Error> {
    Ok(service_state::forget(db.write(), ServiceStateKey::AiPausedUntil).await?)
}
