//! What the stages of feeds work with.

use entity::id::UserId;
use jobs::JobSignal;
use library::context::CoreContext;
use sandbox::Sandbox;
use web::{Fetcher, HostThrottle};

use super::push::Push;

/// Everything that fetching, searching and delivering feeds needs. Clones share the state.
#[derive(Clone)]
pub struct FeedContext {
    /// The database, the clock and the plans.
    pub core: CoreContext,
    /// Fetches from the web.
    pub fetcher: Fetcher,
    /// Limits background fetches of each host.
    pub host_throttle: HostThrottle<UserId>,
    /// Parses what was fetched.
    pub sandbox: Sandbox,
    /// Derives the secrets of WebSub subscriptions; `None` if hubs cannot reach this service.
    pub push: Option<Push>,
    /// Tells the worker that a job may be due.
    pub job_signal: JobSignal,
}
