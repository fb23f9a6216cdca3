//! The web app's JSON routes: the same operations with a session in place of a key (contract.md, section 9).

mod door;
mod routes;
mod session;

use actix_web::web::{self, ServiceConfig};

/// Mounts everything under /app/api.
pub fn mount(config: &mut ServiceConfig) {
    config.service(
        web::scope("/app/api")
            .configure(session::mount)
            .configure(|scope| door::mount(scope, routes::ROUTES))
            .default_service(door::unknown()),
    );
}
