//! The pause of the AI: an operator's word, or the service's daily allowance being spent (contract.md, section 4).
//!
//! The fact stands in the database, so that the command line and every node mean the same; a process believes what it
//! read for half a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use entity::time::Timestamp;
use sea_orm::ConnectionTrait;

use crate::db::Db;
use crate::error::Error;
use crate::state::{self, Fact};

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
    let fact = state::read(db, Fact::AiPausedUntil).await?;
    Ok(fact.and_then(|millis| millis.parse().ok()).map(Timestamp::from_millis))
}

/// Pauses the AI for the rest of the UTC day.
pub async fn pause(db: &Db, now: Timestamp) -> Result<Timestamp, Error> {
    let until = now.day().end();
    state::write(db.write(), Fact::AiPausedUntil, until.millis().to_string()).await?;
    Ok(until)
}

/// Ends the pause.
pub async fn resume(db: &Db) -> Result<(), Error> {
    Ok(state::forget(db.write(), Fact::AiPausedUntil).await?)
}
