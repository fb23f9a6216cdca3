//! Limits: how often a caller may ask (spec.md: Limits; contract.md, sections 2, 3 and 11).
//!
//! A call looks at the day first, without counting; then the hour takes one; then the day counts the call's weight. So a
//! call that either refuses counts in neither.

mod actor;
mod addresses;
mod day;
mod failures;
mod hour;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use entity::id::UserId;
use entity::kind::Surface;
use runtime::{Flush, Port, SupervisorConfig, supervise};

use crate::auth::caller::Principal;
use library::clock::Clock;
use errors::{Error, Wait};
use actor::{Admit, LimitActor, Remaining, Today};

pub use addresses::{Addresses, network};
pub use failures::Failures;

/// The limit that is nearest to its end, after a call: what the X-RateLimit headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its number.
    pub limit: u32,
    /// What is left of it.
    pub remaining: u32,
    /// How long until it is whole again.
    pub reset: Duration,
}

/// What a call is admitted by.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Whose hour it is: a key's or a connection's.
    pub bucket: Principal,
    /// Requests an hour of that bucket.
    pub hourly: u32,
    /// Whose day it is.
    pub user: UserId,
    /// Which of the day's two counts.
    pub surface: Surface,
    /// The day's number.
    pub daily: u32,
    /// What the call counts of the day.
    pub weight: u32,
}

/// What a user asked for today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// REST requests.
    pub rest: u32,
    /// MCP tool calls, by weight.
    pub mcp: u32,
}

/// The limits of everybody.
#[derive(Clone)]
pub struct Limits {
    port: Port<LimitActor>,
}

impl Limits {
    /// Starts the actor.
    pub fn start(on: &ArbiterHandle, db: Db, clock: Arc<dyn Clock>) -> Self {
        let config = SupervisorConfig { name: "limits", permits: 1024, timeout: Duration::from_secs(8) };
        Self { port: supervise(on, config, move || LimitActor::new(db.clone(), clock.clone())) }
    }

    /// Lets a call in and counts it, or says how long to wait.
    pub async fn admit(&self, ask: Ask) -> Result<Quota, Error> {
        self.port.ask(Admit(ask)).await?.map_err(|wait: Wait| Error::RateLimited(wait))
    }

    /// Today's counts of a user.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time; [`Error::Internal`] when the counts of a new day cannot be read.
    pub async fn today(&self, user: UserId) -> Result<Counts, Error> {
        self.port.ask(Today(user)).await?
    }

    /// What is left of a bucket's hour, without taking any of it.
    pub async fn remaining(&self, bucket: Principal, hourly: u32) -> Result<u32, Error> {
        Ok(self.port.ask(Remaining { bucket, hourly }).await?)
    }

    /// Writes what was counted.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush::default()).await?
    }

    /// The actor's port, for health and for draining.
    pub fn port(&self) -> &Port<LimitActor> {
        &self.port
    }
}
