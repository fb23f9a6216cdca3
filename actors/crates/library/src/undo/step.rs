//! The steps by which changes are undone.

use entity::collection;
use serde::{Deserialize, Serialize};
use values::id::{BookmarkId, CollectionId};
use values::time::Timestamp;

/// What undoes a change of some bookmarks. It is stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum UndoStep {
    /// Archives bookmarks, or takes them out of the archive.
    SetArchived {
        /// Whether they were archived.
        archived: bool,
        /// The bookmarks that were changed.
        ids: Vec<BookmarkId>,
    },
    /// Makes bookmarks favourites, or not.
    SetFavorite {
        /// Whether they were favourites.
        favorite: bool,
        /// The bookmarks that were changed.
        ids: Vec<BookmarkId>,
    },
    /// Adds a tag that was removed.
    AddTag {
        /// The tag.
        name: String,
        /// The bookmarks that had it.
        ids: Vec<BookmarkId>,
    },
    /// Removes a tag that was added.
    RemoveTag {
        /// The tag.
        name: String,
        /// The bookmarks that had it not.
        ids: Vec<BookmarkId>,
    },
    /// Adds bookmarks to a collection again.
    PutIntoCollection {
        /// The collection; if it was deleted meanwhile, nothing is changed.
        collection: CollectionId,
        /// The bookmarks that were in it, with the times when they were added.
        members: Vec<(BookmarkId, Timestamp)>,
    },
    /// Removes bookmarks from a collection.
    TakeFromCollection {
        /// The collection; if it was deleted meanwhile, nothing is changed.
        collection: CollectionId,
        /// The bookmarks that were not in it.
        ids: Vec<BookmarkId>,
    },
    /// Restores deleted bookmarks.
    Restore {
        /// The bookmarks that were deleted.
        ids: Vec<BookmarkId>,
    },
    /// Creates a deleted collection again, without bookmarks.
    RestoreCollection {
        /// The collection.
        collection: DeletedCollection,
        /// The collections that were directly in it.
        nested: Vec<CollectionId>,
    },
}

/// A collection as it was when it was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedCollection {
    /// Its id.
    pub id: CollectionId,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The collection that contained it.
    pub parent: Option<CollectionId>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl From<collection::Model> for DeletedCollection {
    fn from(row: collection::Model) -> Self {
        Self {
            id: row.id,
            name: row.name,
            description: row.description,
            parent: row.parent_id,
            created_at: row.created_at,
        }
    }
}

/// How many bookmarks an undo has changed back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UndoCount {
    /// The bookmarks that are as they were.
    pub undone: usize,
    /// The bookmarks that could not be changed back: they are gone for good, or their URL was saved again.
    pub failed: usize,
}

impl UndoStep {
    /// Returns the number of bookmarks of the step.
    #[must_use]
    pub fn bookmarks(&self) -> usize {
        match self {
            Self::SetArchived { ids, .. }
            | Self::SetFavorite { ids, .. }
            | Self::AddTag { ids, .. }
            | Self::RemoveTag { ids, .. }
            | Self::TakeFromCollection { ids, .. }
            | Self::Restore { ids } => ids.len(),
            Self::PutIntoCollection { members, .. } => members.len(),
            Self::RestoreCollection { .. } => 0,
        }
    }
}
