//! Bookmarks: saved pages and uploads (contract.md, section 6).

mod add;
mod batch;
mod candidates;
mod change;
mod create;
mod exists;
mod filter;
mod find_page;
mod list;
mod order;
mod refetch;
mod remove;
mod show;
mod statements;
mod title_words;
mod view;

pub use add::{AddBookmark, AddBookmarkResponse, ProjectMembership};
pub use batch::BatchBookmarks;
pub use change::ChangeBookmark;
pub use create::{CreateBookmark, CreateBookmarkResponse};
pub use exists::BookmarkExists;
pub use list::ListBookmarks;
pub use refetch::RefetchBookmark;
pub use remove::{DeleteBookmark, RestoreBookmark};
pub use show::ShowBookmark;
pub use view::{BookmarkResponse, BookmarkView};
