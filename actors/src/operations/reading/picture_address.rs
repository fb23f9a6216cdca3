//! The addresses under which this server shows pictures of documents.

use sha2::{Digest, Sha256};
use values::id::{DocumentId, UserId};

/// Bytes of the hash of a picture.
const HASH_BYTES: usize = 16;

/// Returns the hash by which a user asks for the picture with a URL. The hash of another user differs, so that no cache tells what others
/// read.
pub fn picture_hash(user: UserId, url: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(user.0.as_bytes());
    hash.update(url.as_bytes());
    hash.finalize().iter().take(HASH_BYTES).copied().collect()
}

/// Returns the path under which a user sees the picture of a document with this URL: one of its HTML, or the picture of its page.
pub fn picture_address(user: UserId, document: DocumentId, url: &str) -> String {
    let hash: String = picture_hash(user, url).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("/img/{hash}?d={document}")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn address_tells_neither_url_nor_what_others_see() {
        let document = DocumentId(Uuid::nil());
        let address =
            |user| picture_address(UserId(Uuid::from_u128(user)), document, "https://birds.example/a.png");

        assert!(!address(1).contains("birds"), "{}", address(1));
        assert_ne!(address(1), address(2));
        assert_eq!(address(1), address(1));
        assert_eq!(address(1).split(['/', '?']).nth(2).map(str::len), Some(2 * HASH_BYTES));
    }
}
