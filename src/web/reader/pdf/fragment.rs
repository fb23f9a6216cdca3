//! One page: its picture as WebP, or its figure for a script that loads pages as they come into view.

use actix_web::HttpResponse;
use actors::operations::highlights::ListHighlightsInRange;
use actors::operations::pdf::ReadPdfPages;
use actors::pdf_pages::PictureWidth;
use askama::Template;
use errors::Error;
use values::id::DocumentId;

use super::show::{FigureMarks, figure, span_of};
use crate::http::originals;
use crate::web::page::render::{PageView, RenderContext};
use crate::web::page::request::PageRequest;
use crate::web::reader::find_words::find_in_range;
use crate::web::reader::side_notes::SideNote;

/// A figure that is rendered already, as a part.
#[derive(Template)]
#[template(source = "{{ figure|safe }}", ext = "html")]
struct FigurePart {
    id: String,
    figure: String,
}

impl PageView for FigurePart {
    // Its id has the number of the page.
    const PART_IDS: &'static [&'static str] = &[];

    fn render_part(&self, id: &str, _: &RenderContext) -> Option<askama::Result<String>> {
        (id == self.id).then(|| Ok(self.figure.clone()))
    }
}

/// Shows the picture of a page (`12.webp`), or its figure (`12`).
///
/// # Errors
/// [`Error::NotFound`] when there is no such page; those of the operations.
pub async fn show_page(request: PageRequest) -> Result<HttpResponse, Error> {
    let target = request.target();
    let (document, name): (DocumentId, String) = (target.id(0)?, target.text(1)?);
    if let Some(number) = name.strip_suffix(".webp") {
        let number = number.parse().map_err(|_| Error::not_found())?;
        let width =
            request.query.get("w").and_then(|width| width.parse().ok()).unwrap_or(PictureWidth::W1200);
        let caller = &request.viewer.caller;
        return originals::page_picture(&request.http, &request.ctx, caller, document, number, width).await;
    }
    let number: usize = name.parse().map_err(|_| Error::not_found())?;
    if !request.wants_parts() {
        return Ok(request.redirect(&format!("/read/{document}?page={number}#p{number}")));
    }
    let listed = request.run(ReadPdfPages { document, from: number.max(1), limit: 1 }).await?;
    let page = listed.pages.first().filter(|page| page.number == number).ok_or(Error::not_found())?;
    let span = span_of(page).unwrap_or_default();
    let placed = request.run(ListHighlightsInRange { document, range: span.clone() }).await?;
    let notes = SideNote::list(&placed.highlights, request.locale());
    let marks = FigureMarks {
        language: placed.language.unwrap_or_default(),
        version: placed.version,
        notes: &notes,
        target: None,
        found: find_in_range(&request, document, span).await?,
    };
    let figure = figure(&request, page, marks).await?;
    request.show(&FigurePart { id: format!("p{number}"), figure })
}
