//! Recordings: a player with a transcript that follows it.

mod files;
mod row;
mod show;

pub use files::{show_captions, show_file};
pub use show::show;
