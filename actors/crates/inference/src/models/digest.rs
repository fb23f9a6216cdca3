//! SHA-256 digests, and copying with a digest.

use std::{
    fmt,
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

const BUFFER_BYTES: usize = 256 * 1024;

/// A SHA-256 digest, read from and shown as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

/// A string that is not 64 hexadecimal digits.
#[derive(Debug, thiserror::Error)]
#[error("not a SHA-256: expected 64 hexadecimal digits")]
pub struct InvalidDigest;

impl Digest {
    /// Computes the digest of a file.
    ///
    /// # Errors
    /// [`io::Error`] when the file cannot be read.
    pub fn of_file(file: &Path) -> io::Result<Self> {
        let (_, digest) = copy(&mut File::open(file)?, &mut io::sink())?;
        Ok(digest)
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        let mut digest = [0; 32];
        match base16ct::mixed::decode(text, &mut digest) {
            // Fewer digits are decoded too, into the first bytes.
            Ok(decoded) if decoded.len() == 32 => Ok(Self(digest)),
            Ok(_) | Err(_) => Err(InvalidDigest),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}", base16ct::HexDisplay(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({self})")
    }
}

/// Copies all bytes and returns their number and digest.
pub(super) fn copy(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<(u64, Digest)> {
    let (mut length, mut hash) = (0, Sha256::new());
    let mut bytes = vec![0; BUFFER_BYTES];
    loop {
        let read = match from.read(&mut bytes) {
            Ok(0) => return Ok((length, Digest(hash.finalize().into()))),
            Ok(read) => bytes.get(..read).unwrap_or_default(),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(cause),
        };
        hash.update(read);
        to.write_all(read)?;
        length += read.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digest of "abc" (FIPS 180-4).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn copy_returns_the_digest_of_its_bytes() {
        let mut to = Vec::new();

        let (length, digest) = copy(&mut b"abc".as_slice(), &mut to).unwrap();

        assert_eq!((length, to.as_slice(), digest.to_string().as_str()), (3, b"abc".as_slice(), ABC));
        assert_eq!(Digest::try_from(ABC.to_owned()).unwrap(), digest);
    }

    #[test]
    fn invalid_digests_are_rejected() {
        let short = "0".repeat(63);
        for text in ["", &short, &"0".repeat(65), &format!("{short}g"), &format!("{short}é"), &"é".repeat(32)]
        {
            assert!(Digest::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
