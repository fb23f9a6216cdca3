//! The callback URLs and secrets of WebSub subscriptions. They are derived from the server's key and stored nowhere.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use values::id::FeedSourceId;

/// Shortest time between two fetches of a source that its hub causes.
pub(super) const MIN_PUSH_INTERVAL: Duration = Duration::from_secs(60);
// The purposes separate these values from each other and from everything else that is derived from the same key. Subscriptions
// that exist depend on them.
const SECRET_PURPOSE: &[u8] = b"carrel feed push 1";
const CALLBACK_PURPOSE: &[u8] = b"carrel feed push address 1";

/// Derives the callback URL and the secret of each subscription.
#[derive(Clone)]
pub struct WebSubSecrets {
    base_url: String,
    keyed: Hmac<Sha256>,
}

impl std::fmt::Debug for WebSubSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebSubSecrets(..)")
    }
}

impl WebSubSecrets {
    /// Uses the server's own key: subscriptions stay valid as long as it does.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    pub fn new(base_url: &str, key: [u8; 32]) -> Self {
        let keyed = Hmac::new_from_slice(&key).expect("HMAC takes any key");
        Self { base_url: base_url.to_owned(), keyed }
    }

    /// Returns the URL to which the hub of a source sends new entries. Only the hub knows its last part.
    pub(super) fn callback_url(&self, source: FeedSourceId, hub: &str) -> String {
        format!("{}/feeds/push/{source}/{}", self.base_url, self.derive(CALLBACK_PURPOSE, source, hub))
    }

    /// Returns whether this is the last part of the callback URL. Takes the same time for every token.
    pub(super) fn is_callback_token(&self, source: FeedSourceId, hub: &str, token: &str) -> bool {
        self.derive(CALLBACK_PURPOSE, source, hub).as_bytes().ct_eq(token.as_bytes()).into()
    }

    /// Returns the secret with which a hub signs. Each source and hub has its own, so that no hub can sign for another.
    pub(super) fn secret(&self, source: FeedSourceId, hub: &str) -> String {
        self.derive(SECRET_PURPOSE, source, hub)
    }

    fn derive(&self, purpose: &[u8], source: FeedSourceId, hub: &str) -> String {
        let mut mac = self.keyed.clone();
        mac.update(purpose);
        mac.update(source.0.as_bytes());
        mac.update(hub.as_bytes());
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }
}
