//! Signatures of upload URLs, for stores that receive files through this server. A signature is valid for one upload until one
//! time. The media type and the length need no signature: they do not change once the upload is announced.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use values::id::UploadId;
use values::time::Timestamp;

/// Separates these signatures from others made with the same key.
const PURPOSE: &[u8] = b"carrel upload put 1";

/// Signs upload URLs and verifies the signatures.
#[derive(Clone)]
pub struct UrlSigner {
    mac: Hmac<Sha256>,
}

impl std::fmt::Debug for UrlSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UrlSigner(..)")
    }
}

impl UrlSigner {
    /// Returns a signer. URLs stay valid as long as the key is the same.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    pub fn new(key: [u8; 32]) -> Self {
        Self { mac: Hmac::new_from_slice(&key).expect("HMAC takes any key") }
    }

    /// Returns the signature of an upload's URL.
    pub fn sign(&self, upload: UploadId, expires_at: Timestamp) -> String {
        URL_SAFE_NO_PAD.encode(self.mac_of(upload, expires_at).finalize().into_bytes())
    }

    /// Returns whether a signature was made by this signer for this upload and time. It is compared in constant time.
    pub fn verify(&self, upload: UploadId, expires_at: Timestamp, signature: &str) -> bool {
        // This engine refuses padding, and spare bits in the last character.
        let Ok(tag) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        self.mac_of(upload, expires_at).verify_slice(&tag).is_ok()
    }

    fn mac_of(&self, upload: UploadId, expires_at: Timestamp) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        // All three parts have a fixed length, so no other upload and time give the same bytes.
        mac.update(PURPOSE);
        mac.update(upload.0.as_bytes());
        mac.update(&expires_at.millis().to_be_bytes());
        mac
    }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn expires_at() -> Timestamp {
        Timestamp::parse("2030-01-02T03:04:05.678Z").unwrap()
    }

    /// Covers the threat table (row U2).
    #[test]
    fn signature_is_valid_only_for_its_upload_time_and_key() {
        let (signer, upload) = (UrlSigner::new([5; 32]), UploadId::new(expires_at()));

        let signature = signer.sign(upload, expires_at());

        assert!(signer.verify(upload, expires_at(), &signature));
        assert!(!signer.verify(UploadId::new(expires_at()), expires_at(), &signature));
        assert!(!signer.verify(upload, expires_at() + Duration::from_millis(1), &signature));
        assert!(!UrlSigner::new([6; 32]).verify(upload, expires_at(), &signature));
        assert_eq!(format!("{signer:?}"), "UrlSigner(..)");
    }

    proptest! {
        /// Covers the threat table (row U2).
        #[test]
        fn altered_or_shortened_signature_is_refused(at in any::<prop::sample::Index>(), c in "[ -~]") {
            let (signer, upload) = (UrlSigner::new([5; 32]), UploadId::new(expires_at()));
            let signature = signer.sign(upload, expires_at());
            let at = at.index(signature.len());
            let changed = format!("{}{c}{}", &signature[..at], &signature[at + 1..]);
            prop_assert!(changed == signature || !signer.verify(upload, expires_at(), &changed));
            prop_assert!(!signer.verify(upload, expires_at(), &signature[..at]));
        }
    }
}
