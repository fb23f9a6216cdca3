//! The types of the fields of feeds (contract.md, section 11: v1).

use validation::DisplayName;

/// A title or a folder, at most 300 characters, without control characters; white space alone counts as none.
pub type FeedName = DisplayName<0, 300>;

/// Removes the white space around a name; returns `None` if nothing is left.
pub fn trim_name(name: FeedName) -> Option<String> {
    let name = name.into_inner();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
