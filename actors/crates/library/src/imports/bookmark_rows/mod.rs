//! Bookmarks of rows: new pages, additions to existing bookmarks, files of an archive as uploads, and annotations as highlights.

mod annotations;
mod batch;
pub mod fields;
mod known_bookmark;
mod known_highlights;
mod merge;
mod paragraphs;
pub mod save;
pub mod upload;

pub use batch::PageRow;
