//! Cursors of lists: opaque, signed, and bound to the caller and the list (contract.md, section 5).
//!
//! A cursor is base64url of sixteen bytes of HMAC-SHA256 and the position as JSON. It carries no trust: whoever
//! may use it is checked again with every call. It cannot be read on another's behalf, in another list, or
//! altered in any character; one position has one spelling.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;
use uuid::Uuid;

/// How many bytes of the signature a cursor carries.
const TAG_BYTES: usize = 16;
/// No cursor of ours is longer; what is longer is not looked at.
pub const MAX_CHARS: usize = 16_384;
/// Keeps signatures of cursors apart from any others made with the same key.
const PURPOSE: &[u8] = b"carrel list cursor 1";

/// A cursor that was not made by this service for this caller and this list, or not in this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list")]
pub struct BadCursor;

/// Makes and opens cursors.
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
    /// Cursors stay valid as long as the key is the same.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    pub fn new(key: [u8; 32]) -> Self {
        Self { keyed: Hmac::new_from_slice(&key).expect("HMAC takes any key") }
    }

    /// The cursor that stands for a position. `list` names the list with all that chooses its rows: a document's
    /// id, filters, order.
    ///
    /// A position is a plain struct or tuple of ids, times, numbers and texts.
    #[expect(
        clippy::expect_used,
        reason = "JSON refuses only maps whose keys are not strings; no position has one"
    )]
    pub fn seal(&self, user: Uuid, list: &str, position: &impl Serialize) -> String {
        let position = serde_json::to_vec(position).expect("positions are plain structs");
        let tag = self.signed(user, list, &position).finalize().into_bytes();
        let mut sealed = tag.get(..TAG_BYTES).unwrap_or_default().to_vec();
        sealed.extend_from_slice(&position);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// The position that a cursor stands for.
    pub fn open<T: DeserializeOwned>(&self, user: Uuid, list: &str, cursor: &str) -> Result<T, BadCursor> {
        if cursor.len() > MAX_CHARS {
            return Err(BadCursor);
        }
        // This engine refuses padding, and spare bits in the last character.
        let sealed = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| BadCursor)?;
        let (tag, position) = sealed.split_at_checked(TAG_BYTES).ok_or(BadCursor)?;
        self.signed(user, list, position).verify_truncated_left(tag).map_err(|_| BadCursor)?;
        serde_json::from_slice(position).map_err(|_| BadCursor)
    }

    /// What is signed. Each part has a fixed or a written length, so that no two lists look alike.
    fn signed(&self, user: Uuid, list: &str, position: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(PURPOSE);
        mac.update(user.as_bytes());
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

    fn open(cursor: &str) -> Result<(String, u64), BadCursor> {
        cursors().open(USER, "chunks", cursor)
    }

    fn sealed(position: &(String, u64)) -> String {
        cursors().seal(USER, "chunks", position)
    }

    /// Of the threat table (row T3).
    #[test]
    fn a_cursor_serves_its_caller_in_its_list_under_its_key_alone() {
        let cursor = sealed(&("a".into(), 1));
        let other = Uuid::from_u128(8);
        assert_eq!(cursors().open::<(String, u64)>(other, "chunks", &cursor), Err(BadCursor));
        assert_eq!(cursors().open::<(String, u64)>(USER, "projects", &cursor), Err(BadCursor));
        assert_eq!(cursors().open::<(String, u64)>(USER, "", &cursor), Err(BadCursor));
        assert_eq!(Cursors::new([6; 32]).open::<(String, u64)>(USER, "chunks", &cursor), Err(BadCursor));
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in ["", "nonsense", "e30=", "e30", "A", "é", "=", &"A".repeat(22), &"A".repeat(10_000)] {
            assert_eq!(open(text), Err(BadCursor));
        }
    }

    #[test]
    fn a_position_of_another_shape_is_refused() {
        assert_eq!(open(&cursors().seal(USER, "chunks", &[1, 2, 3])), Err(BadCursor));
    }

    #[test]
    fn it_shows_no_key() {
        assert_eq!(format!("{:?}", cursors()), "Cursors(..)");
    }

    proptest! {
        #[test]
        fn what_is_sealed_is_opened(word in any::<String>(), number in any::<u64>(), list in any::<String>(), user in any::<u128>()) {
            let position = (word, number);
            let cursor = cursors().seal(Uuid::from_u128(user), &list, &position);
            prop_assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(cursors().open(Uuid::from_u128(user), &list, &cursor), Ok(position));
        }

        /// Of the threat table (row T3).
        #[test]
        fn any_other_character_anywhere_is_refused(number in any::<u64>(), at in any::<prop::sample::Index>(), c in "[ -~]") {
            let cursor = sealed(&("page".into(), number));
            let at = at.index(cursor.len());
            let changed = format!("{}{c}{}", &cursor[..at], &cursor[at + 1..]);
            prop_assert!(changed == cursor || open(&changed) == Err(BadCursor));
        }

        /// Of the threat table (row T3).
        #[test]
        fn any_longer_or_shorter_cursor_is_refused(number in any::<u64>(), at in any::<prop::sample::Index>(), more in "[A-Za-z0-9_=-]{1,4}") {
            let cursor = sealed(&("page".into(), number));
            let at = at.index(cursor.len());
            prop_assert_eq!(open(&cursor[..at]), Err(BadCursor));
            prop_assert_eq!(open(&cursor[at + 1..]), Err(BadCursor));
            prop_assert_eq!(open(&format!("{cursor}{more}")), Err(BadCursor));
            prop_assert_eq!(open(&format!("{}{more}{}", &cursor[..at], &cursor[at..])), Err(BadCursor));
        }
    }
}
