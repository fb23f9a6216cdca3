//! The rows of feeds: sources, which all their followers share; the feeds that a user follows; and entries that are bookmarked.
//!
//! This module uses nothing of bookmarks, imports or exports. They use it.

mod follow;
mod full_text;
pub mod health;
mod hub;
mod mute;
mod opml;
pub mod saved;
mod schedule;
pub mod source;
mod unfollow;

pub use follow::{
    NewFeed, display_title, find_followed, follow_found, follow_listed, followable_url, parse_url,
};
pub use full_text::enqueue_missing_pages;
pub use mute::{MAX_MUTES, MuteRules, MutedWords, list as list_mutes};
pub use opml::write_opml;
pub use unfollow::unfollow;
