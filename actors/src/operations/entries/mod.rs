//! Entries of followed feeds: lists, read marks, stars and transcripts (contract.md, section 6).

mod filter;
mod list;
mod mark;
#[cfg(test)]
mod test_feeds;
mod transcribe;
mod view;

pub use list::{ListEntries, ShowEntry};
pub use mark::{ChangeEntry, MarkEntries};
pub use transcribe::TranscribeEntry;
pub use view::{EntryResponse, EntryView};
