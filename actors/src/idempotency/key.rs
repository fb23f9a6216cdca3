//! The identity of a request with an Idempotency-Key.

use sha2::{Digest, Sha256};
use validation::Invalid;

/// An Idempotency-Key and the request that it was sent with.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    pub(super) key_hash: Vec<u8>,
    pub(super) request_hash: Vec<u8>,
}

impl IdempotencyKey {
    /// Creates a key from the value of the header, `name`, and the request. Bodies are compared byte for byte.
    ///
    /// # Errors
    /// [`Invalid`] unless the name has 1 to 255 visible ASCII characters.
    pub fn new(name: &[u8], method: &str, path: &str, body: &[u8]) -> Result<Self, Invalid> {
        if !(1..=255).contains(&name.len()) || !name.iter().all(u8::is_ascii_graphic) {
            return Err(Invalid::new("Idempotency-Key", "must have 1 to 255 visible ASCII characters"));
        }
        let mut request = Sha256::new();
        for part in [method.as_bytes(), path.as_bytes(), body] {
            // The length separates the parts, so a path cannot pass for the start of a body.
            request.update(part.len().to_be_bytes());
            request.update(part);
        }
        // Only hashes are stored: the name is any text of the client, and the request may hold text of the library.
        Ok(Self { key_hash: Sha256::digest(name).to_vec(), request_hash: request.finalize().to_vec() })
    }
}
