//! An import in progress: its row, and what its rows so far became.

mod extended_bookmarks;
mod extensions;
pub mod folders;
mod import_session;
mod lookups;

pub use import_session::ImportSession;
