//! The web app's JSON routes: the same operations as those of REST, called with a session in place of a key (contract.md,
//! section 9).

pub mod assistants;
mod documents;
mod exports;
mod handler;
mod imports;
mod password_resets;
mod routes;
mod session;

use actix_web::web::{self, ServiceConfig};

pub use handler::WebApp;
pub use imports::begin as receive_import;
pub use routes::{OPERATOR_ROUTES, ROUTES};

use crate::http::cache;
use crate::rest::{V1Routes, V2Routes};
use crate::routing::{self, undescribed};

/// Pages of other sites can embed nothing from here, such as a picture of a page of a PDF: browsers send the session's cookie with requests
/// of sites of the same domain.
const OWN_ORIGIN_ONLY: (&str, &str) = ("cross-origin-resource-policy", "same-origin");

/// Mounts /app/api. The routes of REST are under /library.
pub fn mount(config: &mut ServiceConfig) {
    let unknown = || routing::refuse::<WebApp>(Vec::new());
    let library = web::scope("/library")
        .configure(|scope| routing::mount::<WebApp>(scope, undescribed(V1Routes::<WebApp>::ROUTES)))
        .configure(|scope| routing::mount::<WebApp>(scope, undescribed(V2Routes::<WebApp>::ROUTES)))
        .default_service(unknown());
    config.service(
        web::scope("/app/api")
            .configure(session::mount)
            .configure(password_resets::mount)
            .configure(imports::mount)
            .configure(exports::mount)
            .configure(documents::mount)
            .service(library)
            .configure(|scope| routing::mount::<WebApp>(scope, ROUTES))
            .configure(|scope| routing::mount::<WebApp>(scope, OPERATOR_ROUTES))
            .default_service(unknown())
            .wrap(cache::no_store(cache::BY_SESSION).add(OWN_ORIGIN_ONLY)),
    );
}
