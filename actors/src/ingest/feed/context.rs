//! What the stages of feeds work with.

use jobs::JobSignal;
use library::context::CoreContext;
use sandbox::Sandbox;
use values::id::UserId;
use web::{Fetcher, HostThrottle};

use super::stored_copy::PreparedCopies;
use super::websub_secrets::WebSubSecrets;

/// Everything that fetching, searching and delivering feeds needs. Clones share the state.
#[derive(Clone)]
pub struct FeedContext {
    /// The database, the clock, the plans and the lanes of blocking work.
    pub core: CoreContext,
    /// Fetches feeds, and sends subscription requests to hubs.
    pub fetcher: Fetcher,
    /// Limits background fetches to one at a time for each host.
    pub host_throttle: HostThrottle<UserId>,
    /// Parses in child processes what was fetched.
    pub sandbox: Sandbox,
    /// Derives the secrets of WebSub subscriptions; `None` if hubs cannot reach this server.
    pub websub_secrets: Option<WebSubSecrets>,
    /// The entries of copies that are being delivered.
    pub prepared_copies: PreparedCopies,
    /// Tells the worker that a job may be due.
    pub job_signal: JobSignal,
}
