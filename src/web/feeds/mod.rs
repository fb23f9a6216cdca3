//! Feeds: entries in three panes, all feeds with their health, following one, OPML.
//!
//! | Module | Addresses |
//! |---|---|
//! | [`panes`] | `/feeds`: the tree of feeds, a list of entries, the open entry |
//! | [`entry_actions`] | forms of entries: read, star, save, transcribe, mark above |
//! | [`manage`] | `/feeds/manage`: titles, folders, health, muted words |
//! | [`follow`] | `/feeds/add`: feeds of an address, and following one |
//! | [`opml`] | `/feeds/opml`: import and export |

mod entry_actions;
mod follow;
mod manage;
mod manage_actions;
mod open_entry;
mod opml;
mod panes;
mod selection;

use actix_web::web::ServiceConfig;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    panes::mount(config);
    entry_actions::mount(config);
    manage::mount(config);
    manage_actions::mount(config);
    follow::mount(config);
    opml::mount(config);
}
