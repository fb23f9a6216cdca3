//! The address that the bytes of an upload are sent to where this service takes them in: signed, for one upload, until
//! one moment. The signature stands for an upload's type and length too: neither changes once it is announced.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::id::UploadId;
use entity::time::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Keeps these signatures apart from any others made with the same key.
const PURPOSE: &[u8] = b"carrel upload put 1";

/// Signs addresses, and knows its own.
#[derive(Clone)]
pub struct Signatures {
    keyed: Hmac<Sha256>,
}

impl std::fmt::Debug for Signatures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signatures(..)")
    }
}

impl Signatures {
    /// Addresses stay valid as long as the key is the same.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    pub fn new(key: [u8; 32]) -> Self {
        Self { keyed: Hmac::new_from_slice(&key).expect("HMAC takes any key") }
    }

    /// The signature of an upload's address.
    pub fn sign(&self, upload: UploadId, until: Timestamp) -> String {
        URL_SAFE_NO_PAD.encode(self.signed(upload, until).finalize().into_bytes())
    }

    /// Whether a signature is this service's own for this upload and moment; compared in constant time.
    pub fn is_own(&self, upload: UploadId, until: Timestamp, signature: &str) -> bool {
        // This engine refuses padding, and spare bits in the last character.
        let Ok(tag) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        self.signed(upload, until).verify_slice(&tag).is_ok()
    }

    fn signed(&self, upload: UploadId, until: Timestamp) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(PURPOSE);
        mac.update(upload.0.as_bytes());
        mac.update(&until.millis().to_be_bytes());
        mac
    }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may stop where it stands")]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn until() -> Timestamp {
        Timestamp::parse("2030-01-02T03:04:05.678Z").unwrap()
    }

    /// Of the threat table (row U2).
    #[test]
    fn a_signature_serves_its_upload_until_its_moment_under_its_key_alone() {
        let (own, upload) = (Signatures::new([5; 32]), UploadId::new(until()));
        let signature = own.sign(upload, until());

        assert!(own.is_own(upload, until(), &signature));
        assert!(!own.is_own(UploadId::new(until()), until(), &signature));
        assert!(!own.is_own(upload, until() + Duration::from_millis(1), &signature));
        assert!(!Signatures::new([6; 32]).is_own(upload, until(), &signature));
        assert_eq!(format!("{own:?}"), "Signatures(..)");
    }

    proptest! {
        /// Of the threat table (row U2).
        #[test]
        fn any_other_character_anywhere_is_refused(at in any::<prop::sample::Index>(), c in "[ -~]") {
            let (own, upload) = (Signatures::new([5; 32]), UploadId::new(until()));
            let signature = own.sign(upload, until());
            let at = at.index(signature.len());
            let changed = format!("{}{c}{}", &signature[..at], &signature[at + 1..]);
            prop_assert!(changed == signature || !own.is_own(upload, until(), &changed));
            prop_assert!(!own.is_own(upload, until(), &signature[..at]));
        }
    }
}
