//! Secrets that are shown once: API keys, session cookies, OAuth codes and tokens. Only their hashes are stored.
//!
//! A key is `pk_`, 43 base62 characters from the system's random source (256 bits) and six of checksum over
//! them, so that a mistyped or foreign key is refused without a look-up and secret scanners can tell one
//! (contract.md, section 3). A token is a prefix of its kind and 43 such characters.

use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

const KEY_PREFIX: &str = "pk_";
// The digits of base 62 that hold 256 bits.
const RANDOM_CHARS: usize = 43;
// The digits of base 62 that hold the 32 bits of the checksum.
const CHECKSUM_CHARS: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The system returned no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("could not read the random source of the system")]
pub struct RandomSourceError(#[source] getrandom::Error);

/// A secret in plain text: never logged, never stored, wiped when dropped.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Creates an API key, in the form that the module documentation describes.
    ///
    /// # Errors
    /// [`RandomSourceError`] when the system has no random bytes.
    pub fn new_key() -> Result<Self, RandomSourceError> {
        let random = random_base62()?;
        let checksum = checksum(&random);
        Ok(Self::joined(&[KEY_PREFIX, &random, checksum.as_str()]))
    }

    /// Creates a token: the prefix of its kind and 256 random bits.
    ///
    /// # Errors
    /// [`RandomSourceError`] when the system has no random bytes.
    pub fn new_token(prefix: &str) -> Result<Self, RandomSourceError> {
        Ok(Self::joined(&[prefix, &random_base62()?]))
    }

    /// Returns the API key that a caller sent, if it has the form and the checksum of one.
    pub fn parse_key(sent: &str) -> Option<Self> {
        let body = sent.strip_prefix(KEY_PREFIX)?;
        let (random, sum) = body.split_at_checked(RANDOM_CHARS)?;
        let is_key = is_base62(body, RANDOM_CHARS + CHECKSUM_CHARS)
            && bool::from(checksum(random).as_bytes().ct_eq(sum.as_bytes()));
        is_key.then(|| Self::joined(&[sent]))
    }

    /// Returns the token of this kind that a caller sent, if it has the form of one.
    pub fn parse_token(prefix: &str, sent: &str) -> Option<Self> {
        let random = sent.strip_prefix(prefix)?;
        is_base62(random, RANDOM_CHARS).then(|| Self::joined(&[sent]))
    }

    /// Returns the hash that is stored: SHA-256 of the whole secret. A secret of 256 random bits needs no slow hash.
    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// Returns the form of a key in lists: `pk_`, four characters, `...`, four characters. Over 200 bits stay hidden.
    pub fn display(&self) -> String {
        let body = self.0.strip_prefix(KEY_PREFIX).unwrap_or(&self.0);
        let first = body.get(..4).unwrap_or_default();
        let last = body.len().checked_sub(4).and_then(|at| body.get(at..)).unwrap_or_default();
        format!("{KEY_PREFIX}{first}...{last}")
    }

    /// Returns the secret itself, for the one response that shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn joined(parts: &[&str]) -> Self {
        // With its final capacity: a string that grows leaves copies behind that are not wiped.
        let mut secret = Zeroizing::new(String::with_capacity(parts.iter().map(|part| part.len()).sum()));
        parts.iter().for_each(|part| secret.push_str(part));
        Self(secret)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// SHA-256 of a secret. Compared in constant time.
#[derive(Clone, Copy, Eq)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Returns the hash with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the hash.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns 64 hexadecimal digits in lower case.
    pub fn hex(&self) -> String {
        base16ct::lower::encode_string(&self.0)
    }

    /// Parses the output of [`hex`](Self::hex). Returns `None` for anything else.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        // Fewer digits are decoded too, into the first bytes.
        let decoded = base16ct::lower::decode(hex, &mut bytes).ok()?;
        (decoded.len() == 32).then_some(Self(bytes))
    }
}

impl ConstantTimeEq for SecretHash {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Hash for SecretHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

/// Returns 43 characters, each of the 62 equally likely.
fn random_base62() -> Result<Zeroizing<String>, RandomSourceError> {
    let mut text = Zeroizing::new(String::with_capacity(RANDOM_CHARS));
    let mut bytes = Zeroizing::new([0; 64]);
    while text.len() < RANDOM_CHARS {
        getrandom::fill(bytes.as_mut_slice()).map_err(RandomSourceError)?;
        // Six bits of each byte. The two values beyond the alphabet are skipped, so that no character is likelier.
        let chars = bytes.iter().filter_map(|byte| BASE62.get(usize::from(byte & 0x3f)).copied());
        let missing = RANDOM_CHARS - text.len();
        text.extend(chars.map(char::from).take(missing));
    }
    Ok(text)
}

/// Returns the CRC-32 of the random characters as six base62 digits, the most significant first.
fn checksum(random: &str) -> Zeroizing<String> {
    let mut rest = u64::from(crc32fast::hash(random.as_bytes()));
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62.get((rest % 62) as usize).copied().unwrap_or(b'0');
        rest /= 62;
    }
    Zeroizing::new(digits.map(char::from).iter().collect())
}

fn is_base62(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use proptest::prelude::*;

    use super::*;

    fn key() -> Secret {
        Secret::new_key().unwrap()
    }

    /// The same key in every run.
    fn fixed_key() -> String {
        let random = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg";
        format!("pk_{random}{}", checksum(random).as_str())
    }

    #[test]
    fn key_is_pk_and_49_base62_characters() {
        let key = key();
        let body = key.expose().strip_prefix("pk_").unwrap();
        assert!(is_base62(body, 49));
        assert_eq!(Secret::parse_key(key.expose()).unwrap().hash(), key.hash());
    }

    /// Covers the threat table (row A5).
    #[test]
    fn checksum_is_crc32_in_base62() {
        // As Python's zlib.crc32 gives it.
        assert_eq!(checksum("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg").as_str(), "37cCQ0");
        assert_eq!(checksum("").as_str(), "000000");
    }

    #[test]
    fn malformed_keys_are_refused() {
        for sent in [
            "",
            "pk_",
            "pk_0",
            &"a".repeat(52),
            &format!("pk_{}", "a".repeat(49)),
            &format!("pk_{}", "é".repeat(49)),
        ] {
            assert!(Secret::parse_key(sent).is_none(), "{sent}");
        }
        let key = fixed_key();
        for sent in [
            format!(" {key}"),
            format!("{key} "),
            format!("{key}0"),
            key.replace("pk_", "PK_"),
            key[..51].to_owned(),
        ] {
            assert!(Secret::parse_key(&sent).is_none(), "{sent}");
        }
    }

    #[test]
    fn display_shows_only_the_ends_of_a_key() {
        let key = fixed_key();
        assert_eq!(Secret::parse_key(&key).unwrap().display(), format!("pk_0123...{}", &key[48..]));
    }

    /// Covers the threat table (row L2).
    #[test]
    fn debug_output_hides_secrets() {
        assert_eq!(format!("{:?} {:?}", key(), key().hash()), "Secret(..) SecretHash(..)");
    }

    #[test]
    fn tokens_have_their_prefix_and_256_bits() {
        let token = Secret::new_token("cs_").unwrap();
        assert_eq!(token.expose().len(), 3 + 43);
        assert_eq!(Secret::parse_token("cs_", token.expose()).unwrap().hash(), token.hash());
        assert!(Secret::parse_token("ca_", token.expose()).is_none());
        assert!(Secret::parse_token("cs_", &token.expose()[..45]).is_none());
        assert!(Secret::parse_key(token.expose()).is_none());
    }

    #[test]
    fn secrets_differ_and_use_every_character_equally() {
        let keys: HashSet<String> = (0..2_000).map(|_| key().expose().to_owned()).collect();
        assert_eq!(keys.len(), 2_000);
        let mut counts = BTreeMap::new();
        keys.iter().flat_map(|key| key[3..46].chars()).for_each(|c| *counts.entry(c).or_insert(0) += 1);
        assert_eq!(counts.len(), 62);
        // 1,387 each are expected, with a deviation of 37: ten of those away is not due to chance.
        assert!(counts.values().all(|count| (1_017..=1_757).contains(count)), "{counts:?}");
    }

    /// Covers the threat table (row A4).
    #[test]
    fn hash_is_sha256_of_the_whole_secret() {
        let hash = Secret::joined(&["abc"]).hash();
        assert_eq!(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(SecretHash::from_hex(&hash.hex()), Some(hash));
        for hex in ["", "ba", &"+f".repeat(32), &hash.hex().to_uppercase(), &"é".repeat(32)] {
            assert_eq!(SecretHash::from_hex(hex), None);
        }
    }

    proptest! {
        /// Covers the threat table (row A5).
        #[test]
        fn key_with_one_changed_character_is_refused(at in 0usize..52, c in "[0-9A-Za-z_-]") {
            let key = fixed_key();
            let changed = format!("{}{c}{}", &key[..at], &key[at + 1..]);
            prop_assert_eq!(Secret::parse_key(&changed).is_some(), changed == key);
        }

        #[test]
        fn arbitrary_text_is_refused(sent in any::<String>()) {
            prop_assert!(Secret::parse_key(&sent).is_none());
            let prefixed = format!("pk_{sent}");
            prop_assert!(Secret::parse_key(&prefixed).is_none());
        }
    }
}
