//! The conditions of a query in the language of the library, with ids in place of names.

use library::bookmarks::BookmarkSet;
use values::id::FeedId;
use values::kind::{ContentType, DocumentStatus};
use values::time::Timestamp;

/// The conditions of a query that are no other filters of the list.
#[derive(Clone, Debug, Default)]
pub(super) struct QueryConditions {
    /// Further sets in which the bookmark must be.
    pub sets: Vec<BookmarkSet>,
    /// The hosts of groups of one term, which the URL contains as a text.
    pub hosts: Vec<String>,
    /// The groups that are tested.
    pub groups: Vec<ResolvedGroup>,
    /// Whether no bookmark can match, because a feed or a collection does not exist.
    pub is_impossible: bool,
}

/// Terms of which a bookmark must match one; at least one.
#[derive(Clone, Debug)]
pub(super) struct ResolvedGroup {
    pub terms: Vec<ResolvedTerm>,
}

/// A condition, or its opposite.
#[derive(Clone, Debug)]
pub(super) struct ResolvedTerm {
    pub is_excluded: bool,
    pub condition: ResolvedCondition,
}

/// A condition whose names are ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ResolvedCondition {
    Text(String),
    /// In one of these sets.
    Sets(Vec<BookmarkSet>),
    Flag(BookmarkFlag, bool),
    Started,
    Status(DocumentStatus),
    Type(ContentType),
    Host(String),
    Feeds(Vec<FeedId>),
    SavedBefore(Timestamp),
    /// Saved at this time or later.
    SavedFrom(Timestamp),
    MaxWords(i64),
    /// A feed or a collection that does not exist.
    Nothing,
}

/// A flag by which lists of bookmarks are filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BookmarkFlag {
    Archived,
    Favorite,
    Unread,
}
