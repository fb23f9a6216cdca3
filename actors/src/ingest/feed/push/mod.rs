//! Feeds that say by themselves when there is something new: WebSub (W3C Recommendation of 23 January 2018).
//!
//! A feed, or the headers that it comes with, names its hub ([`offer`]). A job asks the hub for a subscription
//! ([`subscribe`]), the hub asks back whether that was meant, and from then on sends what is new to this service's address
//! ([`callback`]). What it sends is taken as a knock: the feed is fetched at once, by the same way as ever, so nothing that
//! comes in from outside is a feed's entry. The schedule goes on beside it, for hubs fall silent.
//!
//! Only where hubs can reach the service: [`Push`] is made where the operator or the base address says so.

pub mod callback;
pub mod offer;
pub mod subscribe;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::id::FeedSourceId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// A hub does not have a feed fetched more often.
pub(super) const APART: Duration = Duration::from_secs(60);
/// Keep what is made here apart from anything else that is made with the same key.
const SECRET: &[u8] = b"carrel feed push 1";
const PLACE: &[u8] = b"carrel feed push address 1";

/// What subscriptions are made with.
#[derive(Clone)]
pub struct Push {
    base_url: String,
    keyed: Hmac<Sha256>,
}

impl std::fmt::Debug for Push {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Push(..)")
    }
}

impl Push {
    /// With the service's own key: secrets stay good as long as that does.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    pub fn new(base_url: &str, key: [u8; 32]) -> Self {
        let keyed = Hmac::new_from_slice(&key).expect("HMAC takes any key");
        Self { base_url: base_url.to_owned(), keyed }
    }

    /// Where the hub of a source sends what is new: nobody else knows it.
    fn callback(&self, source: FeedSourceId, hub: &str) -> String {
        format!("{}/feeds/push/{source}/{}", self.base_url, self.made(PLACE, source, hub))
    }

    /// Whether this is the last part of that address.
    fn is_place(&self, source: FeedSourceId, hub: &str, told: &str) -> bool {
        self.made(PLACE, source, hub).as_bytes().ct_eq(told.as_bytes()).into()
    }

    /// What a hub signs with: its own for each source and hub, so that no hub speaks for another.
    fn secret(&self, source: FeedSourceId, hub: &str) -> String {
        self.made(SECRET, source, hub)
    }

    fn made(&self, purpose: &[u8], source: FeedSourceId, hub: &str) -> String {
        let mut mac = self.keyed.clone();
        mac.update(purpose);
        mac.update(source.0.as_bytes());
        mac.update(hub.as_bytes());
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }
}
