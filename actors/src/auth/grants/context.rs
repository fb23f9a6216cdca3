//! The operator's settings of grants, and what every step of a grant works with.

use std::sync::Arc;
use std::time::Duration;

use database::Db;
use library::clock::Clock;

use super::redirect::RedirectRules;
use crate::auth::keys::cache_epoch::CacheEpoch;

/// The operator's settings of grants.
#[derive(Clone, Debug)]
pub struct GrantSettings {
    /// Whether clients may register themselves.
    pub is_registration_open: bool,
    /// Whether a client may be identified by the URL of its client metadata document.
    pub client_documents: bool,
    /// Registrations from one IP address within an hour.
    pub registrations_per_hour: u32,
    /// Lifetime of an authorization code.
    pub code_lifetime: Duration,
    /// Lifetime of an access token.
    pub access_lifetime: Duration,
    /// A client without a grant is removed after this time without use.
    pub unused_client_lifetime: Duration,
    /// The redirect URIs that may be registered.
    pub redirects: RedirectRules,
}

/// The components that every step of a grant uses. Clones share them.
#[derive(Clone)]
pub(crate) struct GrantContext {
    pub(super) db: Db,
    pub(super) clock: Arc<dyn Clock>,
    /// Advanced by each step that ends a token, before the step is answered.
    pub(super) cache_epoch: Arc<CacheEpoch>,
    /// The audience of tokens: the URL of `/mcp` (RFC 8707).
    pub(super) resource: Arc<str>,
    pub(super) code_lifetime: Duration,
    pub(super) access_lifetime: Duration,
    pub(super) unused_client_lifetime: Duration,
    pub(super) redirects: Arc<RedirectRules>,
}
