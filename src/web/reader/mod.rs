//! The page of a document: `/read/ID`. [`reader_page`] reads what all types have beside their text, and the type of the document decides
//! which module shows it: [`article`] pages, notes and entries, and the text of everything (`?as=text`); [`pdf`] PDFs; [`media`] recordings;
//! [`waiting`] documents without a text.

mod article;
mod changes;
mod find_words;
mod marks;
mod media;
mod page_view;
mod pdf;
mod reader_page;
mod selected_words;
mod side_notes;
mod spine;
mod type_settings;
mod waiting;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use errors::Error;
use values::kind::{ContentType, DocumentStatus};

use super::page::request::PageRequest;
use super::page::route::PageRoute;

/// Bytes of the form of a highlight: a note of the most characters, as a form encodes them.
const MAX_MARK_FORM_BYTES: usize = 2 << 20;

/// Mounts the page of a document and the forms on it.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/reading/type").post(type_settings::change).mount(config);
    PageRoute::new("/read/{id}").get(show).mount(config);
    PageRoute::new("/read/{id}/pages/{page}").get(pdf::show_page).mount(config);
    PageRoute::new("/read/{id}/media").get(media::show_file).mount(config);
    PageRoute::new("/read/{id}/captions.vtt").get(media::show_captions).mount(config);
    PageRoute::new("/read/{id}/project")
        .get(selected_words::show_projects)
        .post(selected_words::add_to_project)
        .mount(config);
    PageRoute::new("/read/{id}/ask").get(selected_words::ask).mount(config);
    PageRoute::new("/read/{id}/bookmark").post(changes::change_bookmark).mount(config);
    let mark_form = |pattern| PageRoute::new(pattern).max_form_bytes(MAX_MARK_FORM_BYTES);
    mark_form("/read/{id}/highlights").post(marks::create).mount(config);
    mark_form("/read/{id}/highlights/{highlight}").post(marks::change).mount(config);
    PageRoute::new("/read/{id}/highlights/{highlight}/find")
        .get(marks::find)
        .post(marks::place)
        .mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let page = reader_page::load(&request).await?;
    let has_text = page.document.total_chars > 0;
    if page_view::asks_for_text(&request.query) && has_text {
        return article::show(&request, page).await;
    }
    match page.document.content_type {
        // Pages without text are pictures, which can be read all the same.
        ContentType::Pdf if has_text || page.document.status == DocumentStatus::Failed => {
            pdf::show(&request, page).await
        }
        ContentType::Audio | ContentType::Video => media::show(&request, page).await,
        ContentType::Pdf | ContentType::Article | ContentType::Note if has_text => {
            article::show(&request, page).await
        }
        ContentType::Pdf | ContentType::Article | ContentType::Note => waiting::show(&request, page).await,
    }
}
