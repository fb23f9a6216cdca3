//! Uploads, and the work on texts: what is being sent, waits, runs, failed, and is done.

mod receive;
mod show;

use actix_web::web::ServiceConfig;

use super::page::route::PageRoute;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/uploads").get(show::show).post_body(receive::receive).mount(config);
    PageRoute::new("/uploads/retry").post(show::retry_all).mount(config);
    PageRoute::new("/uploads/{id}/retry").post(show::retry).mount(config);
}
