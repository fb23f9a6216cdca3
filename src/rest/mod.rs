//! REST v1 and v2: two tables of routes, let in by an API key.

mod envelope;
mod error;
mod handler;
mod routes;
mod v1;

use actix_web::web::{self, ServiceConfig};

pub use envelope::{failure, seconds, success};
pub use error::status;
pub use handler::{operation, refuse, takes_body, target, values, whole, whole_body};
pub use routes::ROUTES as V2;
pub use v1::ROUTES as V1;

use crate::http::cache;
use crate::http::table::{self, Door};

/// Mounts everything under /rest.
pub fn mount(config: &mut ServiceConfig) {
    let unknown = || table::refuse(Door::Key, Vec::new());
    let version = |path, routes| {
        web::scope(path)
            .configure(move |scope| table::mount(scope, Door::Key, routes))
            .default_service(unknown())
    };
    config.service(
        web::scope("/rest")
            .service(version("/v2", V2))
            .service(version("/v1", V1))
            .default_service(unknown())
            .wrap(cache::no_store(cache::BY_KEY)),
    );
}
