//! What fields of bookmarks may hold (contract.md, section 11: v1).

use validation::Kind;

/// A URL.
pub const URL: Kind = Kind::Words { min: 1, max: 8192 };
/// A title.
pub const TITLE: Kind = Kind::Text { max: 300 };
/// A tag.
pub const TAG: Kind = Kind::Words { min: 1, max: 100 };
/// Tags.
pub const TAGS: Kind = Kind::List { of: &TAG, min: 0, max: 200 };
/// Notes.
pub const NOTES: Kind = Kind::Text { max: 100_000 };
/// Ids of collections.
pub const COLLECTIONS: Kind = Kind::List { of: &Kind::Id, min: 0, max: 200 };
/// Reading progress.
pub const PROGRESS: Kind = Kind::Number { min: 0.0, max: 1.0 };
