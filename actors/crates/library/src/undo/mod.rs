//! Changes of many bookmarks, deletions of collections, and how they are undone.
//!
//! A change is carried out in batches of at most [`BATCH_ROWS`](crate::BATCH_ROWS) bookmarks, with one transaction for each
//! ([`BookmarkChange::apply`]). A batch returns the step that undoes what it has changed: a bookmark that had the tag before keeps it
//! when the change is undone. [`record_step`] stores the step in the same transaction, so the change can be undone even if the process
//! dies between two batches.
//!
//! An undo is possible for [`UNDO_PERIOD`]. It carries the steps out from the last to the first, each in a transaction that also removes
//! the step, so an undo that was interrupted can be repeated.

mod apply;
mod change;
mod collection;
mod record;
mod step;

pub use change::BookmarkChange;
pub use collection::record_collection_deletion;
pub use record::{MAX_UNDOS, UNDO_PERIOD, begin_undo, delete_expired, record_step, take_last_step};
pub use step::{DeletedCollection, UndoCount, UndoStep};
