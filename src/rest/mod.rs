//! REST v1 and v2: two tables of routes over one handler.

mod envelope;
mod error;
mod handler;
mod routes;
mod v1;

use actix_web::web::{self, ServiceConfig};

pub use envelope::{failure, success};
pub use error::{code, describe, status};
pub use handler::{takes_body, target, values, whole_body};
use handler::unknown;

/// Mounts everything under /rest.
pub fn mount(config: &mut ServiceConfig) {
    config.service(
        web::scope("/rest")
            .service(web::scope("/v2").configure(|scope| handler::mount(scope, routes::ROUTES)).default_service(unknown()))
            .service(web::scope("/v1").configure(|scope| handler::mount(scope, v1::ROUTES)).default_service(unknown()))
            .default_service(unknown()),
    );
}
