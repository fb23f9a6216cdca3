//! Feeds that announce new entries: WebSub (W3C Recommendation of 23 January 2018).
//!
//! A feed, or a `Link` header of its response, names its hub. A job asks the hub for a subscription ([`subscribe`]), the hub
//! verifies it, and from then on notifies this server ([`callback`]). The content of a notification is not used: it makes the
//! next fetch due, so that entries only ever come from the feed's own URL. The regular schedule continues, because hubs may
//! stop without notice.
//!
//! Subscriptions are made only if hubs can reach the server ([`super::context::FeedContext::websub_secrets`]).

pub mod callback;
pub(super) mod link_header;
pub mod subscribe;

use std::time::Duration;

/// Delay before a hub that refused a subscription is asked again.
const REFUSED_RETRY_DELAY: Duration = Duration::from_secs(7 * 24 * 3600);
