//! Passwords: Argon2id at OWASP's minimum (19 MiB, two passes), and what may be one.

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

const SHORTEST: usize = 10;
const LONGEST_BYTES: usize = 1024;
/// Guesses that an attacker would need; the passwords on lists of common ones need fewer.
const COMMON: f64 = 1e6;

/// Whether a text may be a password; the reason where not.
pub fn acceptable(password: &str) -> Result<(), &'static str> {
    if password.chars().count() < SHORTEST {
        return Err("must have at least 10 characters");
    }
    if password.len() > LONGEST_BYTES {
        return Err("must have at most 1024 bytes");
    }
    if zxcvbn::zxcvbn(password, &[]).guesses_log10() < COMMON.log10() {
        return Err("is one of the common passwords");
    }
    Ok(())
}

/// The hash of a password with a salt of its own, as a PHC string. Blocks for tens of milliseconds.
pub fn hash(password: &str) -> Result<String, argon2::password_hash::Error> {
    Ok(hasher()?.hash_password(password.as_bytes())?.to_string())
}

/// Whether this is the password of that hash. Blocks for tens of milliseconds.
pub fn verify(password: &str, hash: &str) -> bool {
    let checked = hasher().map(|hasher| hasher.verify_password(password.as_bytes(), hash));
    matches!(checked, Ok(Ok(())))
}

fn hasher() -> Result<Argon2<'static>, argon2::password_hash::Error> {
    let params = Params::new(19 * 1024, 2, 1, None).map_err(|_| argon2::password_hash::Error::Internal)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash_alone() {
        let stored = hash("correct horse battery 7!").unwrap();

        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(verify("correct horse battery 7!", &stored));
        assert!(!verify("correct horse battery 8!", &stored));
        assert!(!verify("correct horse battery 7!", "no hash"));
    }

    #[test]
    fn short_common_and_endless_texts_are_no_passwords() {
        assert!(acceptable("correct horse battery 7!").is_ok());
        assert!(acceptable("another long pass 9!").is_ok());
        for bad in ["short", "password123", "1234567890", "qwertyuiop", "aaaaaaaaaaaa", &"x".repeat(1025)] {
            assert!(acceptable(bad).is_err(), "{bad}");
        }
    }
}
