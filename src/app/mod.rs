//! The web app's JSON routes: the same operations with a session in place of a key (contract.md, section 9).

mod assistants;
mod door;
mod exports;
mod imports;
mod routes;
mod session;

use actix_web::web::{self, ServiceConfig};

pub use door::{cookie, operation, own_origin, refuse, session_secret, signed_in};
pub use routes::ROUTES;

use crate::http::cache;
use crate::http::table::{self, Door};
use crate::rest;

/// Mounts everything under /app/api; under /library stands all that REST has.
pub fn mount(config: &mut ServiceConfig) {
    let unknown = || table::refuse(Door::Session, Vec::new());
    let library = web::scope("/library")
        .configure(|scope| table::mount(scope, Door::Session, rest::V1))
        .configure(|scope| table::mount(scope, Door::Session, rest::V2))
        .default_service(unknown());
    config.service(
        web::scope("/app/api")
            .configure(session::mount)
            .configure(imports::mount)
            .configure(exports::mount)
            .service(library)
            .configure(|scope| table::mount(scope, Door::Session, ROUTES))
            .default_service(unknown())
            .wrap(cache::no_store(cache::BY_SESSION)),
    );
}
