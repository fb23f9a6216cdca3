//! Cursors of lists: opaque, signed, and bound to the user and the list (contract.md, section 5).
//!
//! A cursor is base64url of sixteen bytes of HMAC-SHA256 and the position as JSON. It grants nothing: every call checks its caller
//! again. A cursor is invalid for another user, for another list, and after any change of a character. Each position has exactly one
//! cursor.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;
use uuid::Uuid;

/// Bytes of the signature in a cursor.
const TAG_BYTES: usize = 16;
/// Characters of the longest cursor. A longer text is refused without decoding it.
pub const MAX_CHARS: usize = 16_384;
/// Separates signatures of cursors from others that are made with the same key.
const DOMAIN_TAG: &[u8] = b"carrel list cursor 1";

/// The text is not a cursor that this server made for this user and this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list")]
pub struct InvalidCursor;

/// Creates and opens cursors. Clones share the key.
#[derive(Clone)]
pub struct Cursors {
    keyed: Hmac<Sha256>,
}

impl std::fmt::Debug for Cursors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cursors(..)")
    }
}

impl Cursors {
    /// Returns what signs cursors with this key. They stay valid as long as the key is the same.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    pub fn new(key: [u8; 32]) -> Self {
        Self { keyed: Hmac::new_from_slice(&key).expect("HMAC takes any key") }
    }

    /// Returns the cursor of a position: a plain struct or tuple of ids, times, numbers and texts. `list` identifies the list with
    /// everything that selects its rows: the id of a document, filters, the order.
    #[expect(
        clippy::expect_used,
        reason = "JSON refuses only maps whose keys are not strings; no position has one"
    )]
    pub fn seal(&self, user: Uuid, list: &str, position: &impl Serialize) -> String {
        let position = serde_json::to_vec(position).expect("positions are plain structs");
        let tag = self.sign(user, list, &position).finalize().into_bytes();
        let mut sealed = tag.get(..TAG_BYTES).unwrap_or_default().to_vec();
        sealed.extend_from_slice(&position);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Returns the position of a cursor that [`Self::seal`] made for the same user and list.
    ///
    /// # Errors
    /// [`InvalidCursor`] when it was made for another user or list, or with another key, or was changed.
    pub fn open<T: DeserializeOwned>(
        &self,
        user: Uuid,
        list: &str,
        cursor: &str,
    ) -> Result<T, InvalidCursor> {
        if cursor.len() > MAX_CHARS {
            return Err(InvalidCursor);
        }
        // This engine refuses padding and unused bits in the last character, so each position has one cursor.
        let sealed = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
        let (tag, position) = sealed.split_at_checked(TAG_BYTES).ok_or(InvalidCursor)?;
        // Compares in constant time, and before the position is parsed: no unsigned byte reaches the parser.
        self.sign(user, list, position).verify_truncated_left(tag).map_err(|_| InvalidCursor)?;
        serde_json::from_slice(position).map_err(|_| InvalidCursor)
    }

    /// Returns the signature. Each signed part has a fixed length or is preceded by its length, so
    /// different lists never sign the same bytes.
    fn sign(&self, user: Uuid, list: &str, position: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(DOMAIN_TAG);
        mac.update(user.as_bytes());
        // The length tells where the name ends: otherwise the end of a name could be taken for the start of a position.
        mac.update(&(list.len() as u64).to_be_bytes());
        mac.update(list.as_bytes());
        mac.update(position);
        mac
    }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const USER: Uuid = Uuid::from_u128(7);

    fn cursors() -> Cursors {
        Cursors::new([5; 32])
    }

    fn open(cursor: &str) -> Result<(String, u64), InvalidCursor> {
        cursors().open(USER, "chunks", cursor)
    }

    fn sealed(position: &(String, u64)) -> String {
        cursors().seal(USER, "chunks", position)
    }

    /// Covers the threat table (row T3).
    #[test]
    fn cursor_is_bound_to_its_user_list_and_key() {
        let cursor = sealed(&("a".into(), 1));
        let other = Uuid::from_u128(8);
        assert_eq!(cursors().open::<(String, u64)>(other, "chunks", &cursor), Err(InvalidCursor));
        assert_eq!(cursors().open::<(String, u64)>(USER, "projects", &cursor), Err(InvalidCursor));
        assert_eq!(cursors().open::<(String, u64)>(USER, "", &cursor), Err(InvalidCursor));
        assert_eq!(Cursors::new([6; 32]).open::<(String, u64)>(USER, "chunks", &cursor), Err(InvalidCursor));
    }

    #[test]
    fn text_that_is_no_cursor_is_refused() {
        for text in ["", "nonsense", "e30=", "e30", "A", "é", "=", &"A".repeat(22), &"A".repeat(10_000)] {
            assert_eq!(open(text), Err(InvalidCursor));
        }
    }

    #[test]
    fn position_of_another_shape_is_refused() {
        assert_eq!(open(&cursors().seal(USER, "chunks", &[1, 2, 3])), Err(InvalidCursor));
    }

    #[test]
    fn debug_output_hides_the_key() {
        assert_eq!(format!("{:?}", cursors()), "Cursors(..)");
    }

    proptest! {
        #[test]
        fn sealed_position_is_opened(word in any::<String>(), number in any::<u64>(), list in any::<String>(), user in any::<u128>()) {
            let position = (word, number);
            let cursor = cursors().seal(Uuid::from_u128(user), &list, &position);
            prop_assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(cursors().open(Uuid::from_u128(user), &list, &cursor), Ok(position));
        }

        /// Covers the threat table (row T3).
        #[test]
        fn changed_cursor_is_refused(number in any::<u64>(), at in any::<prop::sample::Index>(), c in "[ -~]") {
            let cursor = sealed(&("page".into(), number));
            let at = at.index(cursor.len());
            let changed = format!("{}{c}{}", &cursor[..at], &cursor[at + 1..]);
            prop_assert!(changed == cursor || open(&changed) == Err(InvalidCursor));
        }

        /// Covers the threat table (row T3).
        #[test]
        fn longer_or_shorter_cursor_is_refused(number in any::<u64>(), at in any::<prop::sample::Index>(), more in "[A-Za-z0-9_=-]{1,4}") {
            let cursor = sealed(&("page".into(), number));
            let at = at.index(cursor.len());
            prop_assert_eq!(open(&cursor[..at]), Err(InvalidCursor));
            prop_assert_eq!(open(&cursor[at + 1..]), Err(InvalidCursor));
            prop_assert_eq!(open(&format!("{cursor}{more}")), Err(InvalidCursor));
            prop_assert_eq!(open(&format!("{}{more}{}", &cursor[..at], &cursor[at..])), Err(InvalidCursor));
        }
    }
}
