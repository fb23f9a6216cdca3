//! Proof Key for Code Exchange with S256, the only supported method (RFC 7636; spec.md: OAuth endpoints).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The name of the method.
pub const METHOD: &str = "S256";
/// Characters of SHA-256 in base64url without padding.
const CHALLENGE_CHARS: usize = 43;

/// Returns whether a text has the form of a challenge (RFC 7636, section 4.2).
pub fn is_challenge(text: &str) -> bool {
    text.len() == CHALLENGE_CHARS
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// The form of a code verifier, in the words of an error.
pub const VERIFIER_RULE: &str = "code_verifier must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~";

/// A code verifier: 43 to 128 unreserved characters (RFC 7636, section 4.1). Without `Debug`, which would show it.
pub struct CodeVerifier(String);

impl CodeVerifier {
    /// Returns the verifier, or `None` if the text does not have the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_unreserved = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
        let is_valid = (43..=128).contains(&text.len()) && text.bytes().all(is_unreserved);
        is_valid.then(|| Self(text.to_owned()))
    }
}

/// Returns the challenge of a verifier.
pub fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Returns whether the challenge is that of the verifier, in constant time.
pub fn is_match(challenge: &str, CodeVerifier(verifier): &CodeVerifier) -> bool {
    challenge_of(verifier).as_bytes().ct_eq(challenge.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the challenge is that of this text, which must be a verifier.
    fn is_match_of(challenge: &str, verifier: &str) -> bool {
        CodeVerifier::parse(verifier).is_some_and(|verifier| is_match(challenge, &verifier))
    }

    /// Covers the threat table (row O2).
    #[test]
    fn rfc_challenge_matches_no_verifier_but_its_own() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

        assert!(is_challenge(challenge) && is_match_of(challenge, verifier));
        assert!(!is_match_of(challenge, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"));
        assert!(!is_match_of(verifier, verifier), "the method plain is accepted");
        // SHA-256 of "short", which is not a valid verifier.
        assert!(!is_match_of("-bAHi131ltLqGQEMABu9AJ5lHeLFfo-341XzHrnT9zk", "short"));
    }

    /// Covers the threat table (row O2).
    #[test]
    fn forms_are_those_of_the_rfc() {
        for wrong in [String::new(), "a".repeat(42), "a".repeat(129), format!("{}+", "a".repeat(43))] {
            assert!(CodeVerifier::parse(&wrong).is_none(), "{wrong}");
        }
        for wrong in
            ["a".repeat(42), "a".repeat(44), format!("{}=", "a".repeat(42)), format!("{}.", "a".repeat(42))]
        {
            assert!(!is_challenge(&wrong), "{wrong}");
        }
    }
}
