//! The types of the fields of bookmarks (contract.md, section 11: v1).

use validation::{DisplayName, Id, List, PageTitle, Text};
use values::id::CollectionId;

/// The title of a bookmark: at most 300 characters. A request with a longer one is refused; an import cuts it.
pub type BookmarkTitle = PageTitle<0, 300>;
/// A tag: 1 to 100 characters, not only white space, without control characters.
pub type TagName = DisplayName<1, 100>;
/// The tags that a request sets or adds: at most 200.
pub type TagNames = List<TagName, 0, 200>;
/// The notes on a bookmark: at most 100,000 characters.
pub type BookmarkNotes = Text<100_000>;
/// Ids of the user's own collections: at most 200.
pub type CollectionIds = List<Id<CollectionId>, 0, 200>;
