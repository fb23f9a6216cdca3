//! The OAuth 2.1 server for assistants that sign in.
//!
//! Clients find it by [`metadata`], register ([`register`]), and get tokens ([`token`], [`revoke`]); pages of every origin may use
//! these endpoints ([`open`]). Users are sent to [`authorize`], sign in ([`sign_in`]) and decide ([`consent`]); these pages are never
//! framed, cached or shared with another origin.

mod authorize;
mod browser;
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

use actix_web::http::StatusCode;
use actix_web::web::{self, ServiceConfig};

use crate::http::disk_floor::{self, BelowFloor};

/// Mounts /oauth and the well-known documents.
pub fn mount(config: &mut ServiceConfig) {
    config
        .configure(metadata::mount)
        .service(
            // Each registration adds a row for a client without an account.
            disk_floor::resource("/oauth/register", BelowFloor::Refuses, open::refused).to(register::serve),
        )
        // Tokens use the space that is reserved for sign-in and revocation, so that apps stay connected on a full disk.
        .service(disk_floor::resource("/oauth/token", BelowFloor::ServesAll, open::refused).to(token::serve))
        .service(
            disk_floor::resource("/oauth/revoke", BelowFloor::ServesAll, open::refused).to(revoke::serve),
        )
        .configure(mount_pages);
}

fn mount_pages(config: &mut ServiceConfig) {
    // The caller is a browser, so the refusal is a page too.
    let other = || {
        web::to(|| async {
            let text = "Start in the app that you want to connect.";
            page::stop(StatusCode::METHOD_NOT_ALLOWED, "This page is only for apps that connect", text)
        })
    };
    config
        // A request without a session adds a row for its sign-in page, and one for a client that is new here.
        .service(
            disk_floor::resource("/oauth/authorize", BelowFloor::ServesSignedIn, page::refused)
                .route(web::get().to(authorize::serve))
                .default_service(other()),
        )
        .service(
            disk_floor::resource("/oauth/sign-in", BelowFloor::ServesAll, page::refused)
                .route(web::post().to(sign_in::serve))
                .default_service(other()),
        )
        .service(
            disk_floor::resource("/oauth/consent", BelowFloor::ServesAll, page::refused)
                .route(web::post().to(consent::serve))
                .default_service(other()),
        );
}
