//! The origins of the bookmarks to which a batch of an import adds something.

use std::collections::HashMap;

use values::id::{BookmarkId, ImportRowId};

/// The bookmarks to which a batch adds something and that it did not create itself, each with its origin.
#[derive(Debug, Default)]
pub struct Extensions(pub(super) HashMap<BookmarkId, Origin>);

/// Where a bookmark comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// This import did not create it.
    Foreign,
    /// An earlier batch of this import created it, and it was changed since.
    Changed,
    /// The row of an earlier batch of this import created it, and it is as that batch left it.
    Unchanged(ImportRowId),
}
