//! The OAuth 2.1 server for assistants that sign in (design: mcp-oauth.md, section 5).
//!
//! Machines find it by [`metadata`], register ([`register`]), and get tokens ([`token`], [`revoke`]); any page may ask
//! those ([`open`]). People are sent to [`authorize`], sign in ([`sign_in`]) and decide ([`consent`]); those pages belong
//! to nobody else: never framed, never cached, never shared with another origin.

mod authorize;
mod client;
mod consent;
mod document;
mod error;
mod metadata;
mod open;
mod page;
mod params;
mod register;
mod request;
mod resource;
mod revoke;
mod sign_in;
mod token;
mod views;

use actix_web::web::ServiceConfig;

use crate::http::disk_floor::{self, BelowFloor};

/// Mounts /oauth and the well-known documents.
pub fn mount(config: &mut ServiceConfig) {
    config
        .configure(metadata::mount)
        .service(
            disk_floor::resource("/oauth/register", BelowFloor::Refuses, open::refused).to(register::serve),
        )
        .service(disk_floor::resource("/oauth/token", BelowFloor::ServesAll, open::refused).to(token::serve))
        .service(
            disk_floor::resource("/oauth/revoke", BelowFloor::ServesAll, open::refused).to(revoke::serve),
        )
        .configure(page::mount)
        .configure(authorize::mount);
}
