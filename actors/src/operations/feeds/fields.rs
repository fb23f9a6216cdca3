//! The values of the fields of feeds (contract.md, section 11: v1).

use validation::Kind;

/// The URL of a feed or a page.
pub const URL: Kind = Kind::Words { min: 1, max: 8192 };
/// A title or a folder.
pub const NAME: Kind = Kind::Text { max: 300 };

/// Removes the white space around a name; returns `None` if nothing is left.
pub fn trim_name(name: String) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
