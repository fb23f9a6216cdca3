//! Passwords: hashes by Argon2id at OWASP's minimum (19 MiB, two passes), and the strength that is required.

use std::sync::{Mutex, PoisonError};

use argon2::password_hash::phc::{Ident, Output, ParamsString, PasswordHash, Salt};
use argon2::password_hash::{Error, PasswordVerifier};
use argon2::{Algorithm, Argon2, Block, Params, RECOMMENDED_SALT_LEN, Version};

const ALGORITHM: Algorithm = Algorithm::Argon2id;
const VERSION: Version = Version::V0x13;
const MIN_CHARS: usize = 10;
const MAX_BYTES: usize = 1024;
/// Guesses that an attacker must need at least. Passwords on lists of common ones need fewer.
const MIN_GUESSES: f64 = 1e6;

/// Checks whether a text is strong enough for a password.
///
/// # Errors
/// The rule that it breaks, as a [`str`] that follows the name of the field: `must have at least 10 characters`.
pub fn check_strength(password: &str) -> Result<(), &'static str> {
    if password.chars().count() < MIN_CHARS {
        return Err("must have at least 10 characters");
    }
    if password.len() > MAX_BYTES {
        return Err("must have at most 1024 bytes");
    }
    if zxcvbn::zxcvbn(password, &[]).guesses_log10() < MIN_GUESSES.log10() {
        return Err("is too easy to guess; choose a longer one");
    }
    Ok(())
}

/// Hashes a password with a new salt, and returns a PHC string. Blocks for tens of milliseconds.
///
/// # Errors
/// [`Error::Crypto`] when the system has no random bytes.
pub fn hash(password: &str) -> Result<String, Error> {
    let argon2 = hasher()?;
    let mut salt = [0; RECOMMENDED_SALT_LEN];
    getrandom::fill(&mut salt).map_err(|_| Error::Crypto)?;
    let hash = PasswordHash {
        algorithm: ALGORITHM.into(),
        version: Some(VERSION.into()),
        params: ParamsString::try_from(argon2.params())?,
        salt: Some(Salt::new(&salt)?),
        hash: Some(Output::new(&digest(&argon2, password, &salt)?)?),
    };
    Ok(hash.to_string())
}

/// Returns whether a password has this hash. Blocks for tens of milliseconds.
pub fn verify(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|stored| matches(password, &stored).unwrap_or(false))
}

fn matches(password: &str, stored: &PasswordHash) -> Result<bool, Error> {
    let argon2 = hasher()?;
    let is_ours = stored.algorithm == Ident::from(ALGORITHM)
        && stored.version == Some(VERSION.into())
        && stored.params == ParamsString::try_from(argon2.params())?;
    match (&stored.salt, &stored.hash) {
        (Some(salt), Some(expected)) if is_ours => {
            // Equality of outputs takes the same time wherever they differ.
            Ok(Output::new(&digest(&argon2, password, salt)?)? == *expected)
        }
        // A hash with other parameters needs memory of another size.
        (Some(_) | None, Some(_) | None) => Ok(argon2.verify_password(password.as_bytes(), stored).is_ok()),
    }
}

fn digest(argon2: &Argon2, password: &str, salt: &[u8]) -> Result<[u8; Params::DEFAULT_OUTPUT_LEN], Error> {
    let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
    HASH_MEMORY.with(argon2.params().block_count(), |memory| {
        argon2.hash_password_into_with_memory(password.as_bytes(), salt, &mut output, memory)
    })?;
    Ok(output)
}

fn hasher() -> Result<Argon2<'static>, Error> {
    let params = Params::new(19 * 1024, 2, 1, None).map_err(|_| Error::Internal)?;
    Ok(Argon2::new(ALGORITHM, VERSION, params))
}

/// The memory of the last hash, for the next one. Memory that is allocated for each hash (19 MiB) would remain in several arenas of the
/// allocator, because each hash runs on a separate thread.
static HASH_MEMORY: HashMemory = HashMemory(Mutex::new(None));

struct HashMemory(Mutex<Option<Vec<Block>>>);

impl HashMemory {
    /// Runs `work` on this number of blocks, whose content does not matter. At most two hashes are made at the same time
    /// ([`concurrency::Workers`]); the second one allocates, and afterwards the memory of one of them is kept.
    fn with<T>(&self, blocks: usize, work: impl FnOnce(&mut [Block]) -> T) -> T {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut memory = spare.unwrap_or_default();
        memory.resize(blocks, Block::new());
        let result = work(&mut memory);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
        result
    }
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::PasswordHasher;

    use super::*;

    #[test]
    fn wrong_password_does_not_verify() {
        let stored = hash("correct horse battery 7!").unwrap();

        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(verify("correct horse battery 7!", &stored));
        assert!(!verify("correct horse battery 8!", &stored));
        assert!(!verify("correct horse battery 7!", "no hash"));
    }

    #[test]
    fn hash_of_other_parameters_is_verified() {
        let params = Params::new(64, 1, 1, None).unwrap();
        let other = Argon2::new(ALGORITHM, VERSION, params).hash_password(b"correct horse battery 7!");
        let stored = other.unwrap().to_string();

        assert!(verify("correct horse battery 7!", &stored));
        assert!(!verify("correct horse battery 8!", &stored));
    }

    /// Covers the threat table (row A6).
    #[test]
    fn argon2_crate_verifies_own_hashes() {
        let stored = hash("correct horse battery 7!").unwrap();

        assert!(hasher().unwrap().verify_password(b"correct horse battery 7!", stored.as_str()).is_ok());
    }

    #[test]
    fn memory_of_a_hash_is_used_for_the_next() {
        let spare = HashMemory(Mutex::new(None));

        let first = spare.with(8, |memory| memory.as_ptr());
        let second = spare.with(8, |memory| memory.as_ptr());

        assert_eq!(first, second);
    }

    /// Keeps blank memory for the next hash, and returns its address.
    fn keep_blank_memory() -> *const Block {
        let blank = vec![Block::new(); hasher().unwrap().params().block_count()];
        let address = blank.as_ptr();
        *HASH_MEMORY.0.lock().unwrap() = Some(blank);
        address
    }

    /// Returns whether the memory at this address is kept for the next hash, and a hash has written to it.
    fn is_kept_and_used(address: *const Block) -> bool {
        let kept = HASH_MEMORY.0.lock().unwrap();
        let blocks = kept.as_deref().unwrap();
        let words: &[u64] = blocks[0].as_ref();
        blocks.as_ptr() == address && words.iter().any(|word| *word != 0)
    }

    /// nextest runs each test in a separate process, so no other test takes the memory meanwhile.
    #[test]
    fn hash_and_verify_take_memory_that_is_kept() {
        let blank = keep_blank_memory();
        let stored = hash("correct horse battery 7!").unwrap();
        assert!(is_kept_and_used(blank), "hash has allocated memory of its own");

        let blank = keep_blank_memory();
        assert!(verify("correct horse battery 7!", &stored));
        assert!(is_kept_and_used(blank), "verify has allocated memory of its own");
    }

    #[test]
    fn short_common_and_too_long_passwords_are_refused() {
        assert!(check_strength("correct horse battery 7!").is_ok());
        assert!(check_strength("another long pass 9!").is_ok());
        for bad in ["short", "password123", "1234567890", "qwertyuiop", "aaaaaaaaaaaa", &"x".repeat(1025)] {
            assert!(check_strength(bad).is_err(), "{bad}");
        }
    }
}
