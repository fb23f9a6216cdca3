//! Bookmarks: saved pages and what the person does with them (contract.md, section 6).

mod add;
mod batch;
mod batch_slots;
mod change;
mod create;
mod exists;
mod list;
pub mod lot;
mod refetch;
mod remove;
pub mod save;
mod show;
mod view;

pub use add::{AddBookmark, AddBookmarkResponse, ProjectMembership};
pub use batch::BatchBookmarks;
pub use batch_slots::BatchSlots;
pub use change::{ChangeBookmark, relabel};
pub use create::{CreateBookmark, CreateBookmarkResponse};
pub use exists::BookmarkExists;
pub use list::ListBookmarks;
pub use refetch::RefetchBookmark;
pub use remove::{DeleteBookmark, RestoreBookmark, delete};
pub use show::ShowBookmark;
pub use view::{BookmarkResponse, BookmarkView};

/// What fields of bookmarks may hold (contract.md, section 11: v1).
pub mod kinds {
    use validation::Kind;

    /// An address.
    pub const URL: Kind = Kind::Words { min: 1, max: 8192 };
    /// A title.
    pub const TITLE: Kind = Kind::Text { max: 300 };
    /// A tag.
    pub const TAG: Kind = Kind::Words { min: 1, max: 100 };
    /// Tags.
    pub const TAGS: Kind = Kind::List { of: &TAG, min: 0, max: 200 };
    /// Notes.
    pub const NOTES: Kind = Kind::Text { max: 100_000 };
    /// Collections.
    pub const COLLECTIONS: Kind = Kind::List { of: &Kind::Id, min: 0, max: 200 };
    /// How far something is read.
    pub const PROGRESS: Kind = Kind::Number { min: 0.0, max: 1.0 };
}
