//! Projects: what a user works on, and what an assistant gets of it.

mod conflict;
mod decisions;
mod edit;
mod form;
mod list;
mod meter;
mod notes;
mod rows;
mod show;
mod sources;

use actix_web::web::ServiceConfig;

use super::page::route::PageRoute;

/// The longest form: instructions, a description or a note, with what it takes to encode it.
const MAX_PROJECT_FORM_BYTES: usize = 1 << 20;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    let long = |pattern| PageRoute::new(pattern).max_form_bytes(MAX_PROJECT_FORM_BYTES);
    long("/projects").get(list::show).post(edit::create).mount(config);
    PageRoute::new("/projects/new").get(edit::show_new).mount(config);
    PageRoute::new("/projects/{id}").get(show::show).mount(config);
    long("/projects/{id}/edit").get(edit::show).post(edit::change).mount(config);
    PageRoute::new("/projects/{id}/status").post(edit::change_status).mount(config);
    PageRoute::new("/projects/{id}/delete").get(edit::show_delete).post(edit::delete).mount(config);
    long("/projects/{id}/decisions").post(decisions::create).mount(config);
    PageRoute::new("/projects/{id}/decisions/new").get(decisions::show_new).mount(config);
    long("/projects/{id}/decisions/{did}").get(decisions::show).post(decisions::change).mount(config);
    PageRoute::new("/projects/{id}/decisions/{did}/status").post(decisions::change_status).mount(config);
    PageRoute::new("/projects/{id}/decisions/{did}/delete").post(decisions::delete).mount(config);
    long("/projects/{id}/notes").post(notes::create).mount(config);
    PageRoute::new("/projects/{id}/notes/new").get(notes::show_new).mount(config);
    long("/projects/{id}/notes/{nid}").get(notes::show).post(notes::change).mount(config);
    PageRoute::new("/projects/{id}/notes/{nid}/pin").post(notes::pin).mount(config);
    PageRoute::new("/projects/{id}/notes/{nid}/delete").post(notes::delete).mount(config);
    PageRoute::new("/projects/{id}/sources").post(sources::add).mount(config);
    PageRoute::new("/projects/{id}/sources/new").get(sources::show_new).mount(config);
    PageRoute::new("/projects/{id}/sources/{iid}").post(sources::change).mount(config);
    PageRoute::new("/projects/{id}/sources/{iid}/remove").post(sources::remove).mount(config);
}
