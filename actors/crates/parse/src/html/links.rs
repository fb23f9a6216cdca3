//! URLs of a page: which are safe to follow or to fetch.

use url::Url;
use values::url::MAX_URL_CHARS;

/// Schemes of URLs that can be fetched.
pub const WEB_SCHEMES: [&str; 2] = ["http", "https"];

/// Returns a URL that is safe to follow: absolute, of one of these schemes, and not too long.
pub fn resolve_url(base: Option<&Url>, stated: &str, schemes: &[&str]) -> Option<String> {
    let stated = stated.trim();
    let url = match base {
        Some(base) => base.join(stated).ok()?,
        None => Url::parse(stated).ok()?,
    };
    // Checked after parsing, which removes tabs and line breaks: ` jAva\tscript:` is a script for browsers too.
    let fits = schemes.contains(&url.scheme()) && url.as_str().len() <= MAX_URL_CHARS;
    fits.then(|| url.into())
}
