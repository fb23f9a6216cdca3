//! Ask: questions about the library, with answers whose citations open beside them.

mod actions;
mod answer_language;
mod answer_text;
mod index;
mod options;
mod panel;
mod thread;
mod view;

use actix_web::web::ServiceConfig;

use super::page::route::PageRoute;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/ask").get(index::show).post(actions::ask).mount(config);
    PageRoute::new("/ask/{id}").get(thread::show).post(actions::follow_up).mount(config);
    PageRoute::new("/ask/{id}/retry").post(actions::retry).mount(config);
    PageRoute::new("/ask/{id}/save").post(actions::save).mount(config);
    PageRoute::new("/ask/{id}/delete").post(actions::delete).mount(config);
    PageRoute::new("/ask/{id}/answer.md").get(thread::markdown).mount(config);
}
