//! Entries of followed feeds: lists, read marks, stars, muted words and transcripts (contract.md, section 6).

mod filter;
mod list;
mod mark;
mod mark_above;
mod mute;
mod save;
mod stream;
#[cfg(test)]
mod test_feeds;
mod transcribe;
mod view;

pub use list::{ListEntries, ShowEntry};
pub use mark::{ChangeEntry, MarkEntries};
pub use mark_above::{MarkAbove, MarkAboveResponse, UndoMark};
pub use mute::{AddMute, AddMuteResponse, ListMutes, MuteView, RemoveMute};
pub use save::SaveEntry;
pub use stream::{
    ListStream, ListStreamRequest, NewEntries, StreamEntry, StreamResponse, StreamShow, new_entries,
};
pub use transcribe::TranscribeEntry;
pub use view::{EntryResponse, EntryView};
