//! The types of the fields of bookmarks (contract.md, section 11: v1).

use entity::id::CollectionId;
use validation::{Id, List, Text, Words};

/// A title.
pub type BookmarkTitle = Text<300>;
/// A tag.
pub type TagName = Words<1, 100>;
/// Tags.
pub type TagNames = List<TagName, 0, 200>;
/// Notes.
pub type BookmarkNotes = Text<100_000>;
/// Ids of collections.
pub type CollectionIds = List<Id<CollectionId>, 0, 200>;
