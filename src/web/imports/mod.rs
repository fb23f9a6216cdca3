//! Importing: a file is read without saving anything, shown as a preview, and imported when its user says so.

mod new;
mod show;
mod stage;

use actix_web::web::ServiceConfig;

use super::page::route::PageRoute;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/imports/new").get(new::show).post_body(new::receive).mount(config);
    PageRoute::new("/imports/{id}").get(show::show).mount(config);
    PageRoute::new("/imports/{id}/start").post(show::start).mount(config);
    PageRoute::new("/imports/{id}/pause").post(show::pause).mount(config);
    PageRoute::new("/imports/{id}/resume").post(show::resume).mount(config);
    PageRoute::new("/imports/{id}/undo").post(show::undo).mount(config);
}
