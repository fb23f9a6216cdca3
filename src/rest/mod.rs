//! REST v1 and v2: two tables of routes, called with an API key.

mod handler;
mod v1;
mod v2;

use actix_web::web::{self, ServiceConfig};

pub use handler::Rest;
pub use v1::V1Routes;
pub use v2::V2Routes;

use crate::http::cache;
use crate::routing::{self, DescribedRoute, undescribed};

/// The routes of REST v1, which the OpenAPI document lists too.
pub static V1: &[DescribedRoute] = V1Routes::<Rest>::ROUTES;
/// The routes of REST v2, which the OpenAPI document lists too.
pub static V2: &[DescribedRoute] = V2Routes::<Rest>::ROUTES;

/// Mounts /rest. Unknown paths have the envelope and need a key too (contract.md, section 2).
pub fn mount(config: &mut ServiceConfig) {
    let unknown = || routing::refuse::<Rest>(Vec::new());
    let version = |path, routes| {
        web::scope(path)
            .configure(move |scope| routing::mount::<Rest>(scope, undescribed(routes)))
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
