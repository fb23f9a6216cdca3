//! The web app: pages that work without script, and better with it. A page runs the same operations as REST and MCP and never reads
//! the database.
//!
//! | Part | Holds |
//! |---|---|
//! | [`page`] | requests and responses of pages: session, forms, parts, errors, security headers |
//! | [`assets`] | stylesheets, icons and scripts, embedded and served under a hash of their contents |
//! | [`strings`], [`locale`], [`formats`] | texts, languages and time zones, dates and numbers |
//! | `reasons` | why an address is refused, and why work failed, as sentences |
//! | [`filters`], [`render_context`] | what templates call and read |
//! | [`layout`], `partials` | templates that pages extend and import |
//!
//! Every other module is a part of the app: handlers with their templates beside them.

mod account;
mod add;
mod ask;
pub mod assets;
mod browser_extension;
mod collections;
pub mod control;
mod counts;
mod exports;
mod feeds;
pub mod filters;
pub mod formats;
mod gate;
mod help;
mod highlights;
mod home;
mod imports;
mod install;
pub mod layout;
mod library;
pub mod locale;
mod notices;
mod numbers;
pub mod page;
mod palette;
mod pictures;
pub mod places;
mod projects;
mod reader;
mod reading_presets;
mod reading_time;
mod reasons;
pub mod render_context;
mod samples;
mod search;
pub mod strings;
mod tags;
mod uploads;

use actix_web::web::ServiceConfig;

pub use page::state::WebState;

/// Mounts all pages. Paths that no page has are answered by [`page::errors::not_found`].
pub fn mount(config: &mut ServiceConfig) {
    config
        .configure(account::mount)
        // After `account`, whose stylesheet has an address of the same form.
        .configure(assets::mount)
        .configure(add::mount)
        .configure(ask::mount)
        .configure(browser_extension::mount)
        .configure(collections::mount)
        .configure(control::mount)
        .configure(counts::mount)
        .configure(exports::mount)
        .configure(feeds::mount)
        .configure(gate::mount)
        .configure(help::mount)
        .configure(highlights::mount)
        .configure(home::mount)
        .configure(imports::mount)
        .configure(install::mount)
        .configure(library::mount)
        .configure(notices::mount)
        .configure(palette::mount)
        .configure(pictures::mount)
        .configure(projects::mount)
        .configure(reader::mount)
        .configure(samples::mount)
        .configure(search::mount)
        .configure(tags::mount)
        .configure(uploads::mount);
}
