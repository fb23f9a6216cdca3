//! The library: the list with its filters, changes of many bookmarks, the trash, and saved searches.

mod bulk;
mod edit;
mod facet_links;
mod fault_text;
mod help;
mod list;
mod paste;
pub mod rows;
mod saved;
mod trash;
mod view_filter;

use actix_web::web::ServiceConfig;

pub use bulk::active_projects;
pub use list::show_collection;

use crate::web::page::route::PageRoute;

/// Bytes of a form that names a thousand bookmarks.
const MAX_SELECTION_BYTES: usize = 256 << 10;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/library").get(list::show).mount(config);
    PageRoute::new("/library/bulk").max_form_bytes(MAX_SELECTION_BYTES).post(bulk::change).mount(config);
    PageRoute::new("/library/undo").post(bulk::undo).mount(config);
    PageRoute::new("/library/trash").get(trash::show).post(trash::restore).mount(config);
    PageRoute::new("/library/paste/{id}")
        .max_form_bytes(paste::MAX_PASTED_BYTES)
        .get(paste::show)
        .post(paste::supply)
        .mount(config);
    PageRoute::new("/library/edit/{id}")
        .max_form_bytes(edit::MAX_EDIT_BYTES)
        .get(edit::show)
        .post(edit::change)
        .mount(config);
    PageRoute::new("/saved-searches").get(saved::show).post(saved::change).mount(config);
    PageRoute::new("/saved-searches/new").get(saved::show_new).post(saved::create).mount(config);
    PageRoute::new("/saved-searches/{id}").get(saved::show_edit).post(saved::edit).mount(config);
    PageRoute::new("/help/search").get(help::show).mount(config);
}
