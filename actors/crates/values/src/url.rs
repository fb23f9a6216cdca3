//! The bound on URLs.

/// Maximum length of a URL, in characters (contract.md, section 11, "v1").
pub const MAX_URL_CHARS: usize = 8_192;
