//! The page of a PDF.

use std::ops::Range;

use actix_web::HttpResponse;
use actors::operations::pdf::{LocateOnPdfPage, PdfPage, ReadPdfPage, ReadPdfPages};
use actors::operations::reading::ReadPageResponse;
use askama::Template;
use errors::Error;
use values::id::DocumentId;

use super::figure::PdfFigure;
use crate::parts;
use crate::web::filters;
use crate::web::page::render::render_with;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::ToastView;
use crate::web::reader::article::target_of;
use crate::web::reader::find_words::{FindView, find};
use crate::web::reader::page_view::ReaderView;
use crate::web::reader::reader_page::ReaderPage;
use crate::web::reader::side_notes::{ColorChoice, SideNote, color_choices};
use crate::web::reader::waiting;

/// Pages before and behind the current one that the page lists.
const LISTED_BEFORE: usize = 40;
const LISTED_AFTER: usize = 80;
/// Highlights that the thumbnail of a page shows.
const MAX_DOTS: usize = 5;
/// Highlights of a page that are drawn.
const MAX_DRAWN_HIGHLIGHTS: usize = 200;

/// The page of a PDF.
#[derive(Template)]
#[template(path = "reader/pdf/pdf.html", blocks = ["notes", "spine", "actions"])]
struct PdfReader {
    toast: Option<ToastView>,
    view: ReaderView,
    pages: Vec<PageBox>,
    current: usize,
    total: usize,
    /// The pages before and behind those that are listed; 0 if there are none.
    earlier: usize,
    later: usize,
    find: FindView,
    outline: Vec<OutlineLink>,
    /// The numbers of pages without text, in words; empty if all have text.
    textless: String,
    textless_count: usize,
    /// Why there are no pages; empty if there are.
    fault: String,
    target: Option<Range<usize>>,
    colors: Vec<ColorChoice>,
    on_page: usize,
    is_inverted: bool,
}

parts!(PdfReader { "notes" => as_notes, "spine" => as_spine, "actions" => as_actions });

/// A page in the list.
struct PageBox {
    number: usize,
    width: f32,
    height: f32,
    /// The colours of its highlights.
    dots: Vec<&'static str>,
    /// The page with its words, if it is the current one.
    figure: Option<String>,
}

/// A heading of the outline.
struct OutlineLink {
    title: String,
    page: u32,
    is_inner: bool,
}

/// Shows the page that the address names, or the one where the user stopped.
///
/// # Errors
/// Those of the operations.
pub async fn show(request: &PageRequest, page: ReaderPage) -> Result<HttpResponse, Error> {
    let ReaderPage { document, view } = page;
    let id = document.document_id;
    let first = ReadPdfPages { document: id, from: 1, limit: MAX_LISTED };
    let (pages, total, fault) = match request.run(first).await {
        Ok(listed) => (listed.pages, listed.total_pages, String::new()),
        Err(Error::Conflict(reason)) => (Vec::new(), 0, filters::visible_text(&reason)),
        Err(error) => return Err(error),
    };
    if !fault.is_empty() && document.total_chars == 0 {
        return waiting::show(request, ReaderPage { document, view }).await;
    }
    let target = target_of(&request.query, document.total_chars);
    let current = current_page(request, &document, &pages, target.as_ref());
    // The pages and the found places are in no part.
    let is_whole = request.wants_whole::<PdfReader>();
    let find = if is_whole { find(request, id).await? } else { FindView::default() };
    let figure = match pages.get(current.saturating_sub(1)) {
        Some(page) if is_whole => {
            let marks = FigureMarks {
                language: view.language.clone(),
                version: view.version,
                notes: &view.notes,
                target: target.clone(),
                found: find.hits.iter().map(|hit| hit.start..hit.end).collect(),
            };
            Some(figure(request, page, marks).await?)
        }
        Some(_) | None => None,
    };
    let (start, end) = listed(current, total);
    let textless = textless(request, &pages);
    let boxes = page_boxes(&pages, start..end, current, &view.notes, figure);
    let span = pages.get(current.saturating_sub(1)).and_then(span_of);
    let on_page = span.map_or(0, |span| notes_within(&view.notes, &span).count());
    let top = document.outline.iter().map(|heading| heading.level).min().unwrap_or(1);
    let outline = document.outline.iter().filter_map(|heading| {
        let title = filters::visible_text(&heading.title);
        heading.page.map(|page| OutlineLink { title, page, is_inner: heading.level > top })
    });
    let reader = PdfReader {
        toast: request.toast(),
        pages: boxes,
        current,
        total,
        earlier: start,
        later: if end < total { end + 1 } else { 0 },
        outline: outline.collect(),
        find,
        textless,
        textless_count: pages.iter().filter(|page| page.start_offset.is_none()).count(),
        fault,
        target,
        colors: color_choices("yellow"),
        on_page,
        is_inverted: request.viewer.settings.reading.inverts_pages,
        view,
    };
    request.show(&reader)
}

/// Pages of a document whose sizes are read: all that a document may have.
const MAX_LISTED: usize = 20_000;

fn listed(current: usize, total: usize) -> (usize, usize) {
    (current.saturating_sub(LISTED_BEFORE + 1), total.min(current + LISTED_AFTER))
}

/// Returns the number of the page that is shown: that of `page`, of the place that the address names, or where the user stopped.
fn current_page(
    request: &PageRequest,
    document: &ReadPageResponse,
    pages: &[PdfPage],
    target: Option<&Range<usize>>,
) -> usize {
    let named = request.query.get("page").and_then(|page| page.parse::<usize>().ok());
    let stopped = document.position.as_ref().filter(|at| at.version == document.version);
    let stopped = stopped.and_then(|at| usize::try_from(at.offset).ok());
    let offset = target.map(|target| target.start).or(stopped);
    let of_offset = offset.and_then(|offset| page_of_offset(pages, offset));
    named.or(of_offset).unwrap_or(1).clamp(1, pages.len().max(1))
}

fn page_of_offset(pages: &[PdfPage], offset: usize) -> Option<usize> {
    let has = |page: &&PdfPage| span_of(page).is_some_and(|span| span.contains(&offset));
    pages.iter().find(has).map(|page| page.number)
}

/// What is drawn over the picture of a page. Of the ranges only those with words on the page are.
pub struct FigureMarks<'a> {
    /// The value of `lang`; empty if the language is not known.
    pub language: String,
    /// The version of the text.
    pub version: i32,
    /// The highlights.
    pub notes: &'a [SideNote],
    /// The place that the address names.
    pub target: Option<Range<usize>>,
    /// The places of the words that are looked for.
    pub found: Vec<Range<usize>>,
}

/// Returns the figure of a page with its marks.
///
/// # Errors
/// Those of the operations, except the reasons why the words of the page cannot be placed.
pub async fn figure(request: &PageRequest, page: &PdfPage, marks: FigureMarks<'_>) -> Result<String, Error> {
    let document: DocumentId = request.target().id(0)?;
    let number = u32::try_from(page.number).unwrap_or(u32::MAX);
    let mut figure = match request.run(ReadPdfPage { document, number }).await {
        Ok(layer) => PdfFigure::new(layer, &marks.language),
        Err(Error::Conflict(_)) => PdfFigure::without_words(&document.to_string(), marks.version, page),
        Err(error) => return Err(error),
    };
    if let Some(span) = span_of(page).filter(|_| !figure.words.is_empty()) {
        add_marks(request, &mut figure, &span, marks).await?;
    }
    render_with(&figure, &request.context).map_err(Error::internal)
}

/// Draws the highlights, the found words and the place that the address names.
async fn add_marks(
    request: &PageRequest,
    figure: &mut PdfFigure,
    span: &Range<usize>,
    marks: FigureMarks<'_>,
) -> Result<(), Error> {
    let (notes, mut ranges): (Vec<&SideNote>, Vec<Range<usize>>) =
        notes_within(marks.notes, span).take(MAX_DRAWN_HIGHLIGHTS).unzip();
    let found = marks.found.into_iter().filter(|found| span.contains(&found.start));
    ranges.extend(found.take(MAX_DRAWN_HIGHLIGHTS));
    let has_target = marks.target.is_some();
    ranges.extend(marks.target);
    let page = u32::try_from(figure.number).unwrap_or(u32::MAX);
    let located = request.run(LocateOnPdfPage { document: request.target().id(0)?, page, ranges }).await?;
    let mut rects = located.ranges.into_iter();
    for note in notes {
        figure.add_highlight(note, &rects.next().unwrap_or_default());
    }
    if let Some(arrival) = if has_target { rects.next_back() } else { None } {
        figure.add_arrival(&arrival);
    }
    for found in rects {
        figure.add_found(&found);
    }
    Ok(())
}

/// Returns the characters of a page; `None` for a page without text.
pub fn span_of(page: &PdfPage) -> Option<Range<usize>> {
    page.start_offset.zip(page.end_offset).map(|(start, end)| start..end)
}

/// Returns the highlights with words on a page.
fn notes_within<'a>(
    notes: &'a [SideNote],
    span: &'a Range<usize>,
) -> impl Iterator<Item = (&'a SideNote, Range<usize>)> {
    notes.iter().filter(|note| !note.is_lost).filter_map(move |note| {
        let (start, end) = (usize::try_from(note.start).ok()?, usize::try_from(note.end).ok()?);
        (start < span.end && span.start < end && start < end).then_some((note, start..end))
    })
}

fn page_boxes(
    pages: &[PdfPage],
    listed: Range<usize>,
    current: usize,
    notes: &[SideNote],
    mut figure: Option<String>,
) -> Vec<PageBox> {
    let page_box = |page: &PdfPage| {
        let span = span_of(page);
        let dots = span.iter().flat_map(|span| notes_within(notes, span)).map(|(note, _)| note.color);
        PageBox {
            number: page.number,
            width: page.width,
            height: page.height,
            dots: dots.take(MAX_DOTS).collect(),
            figure: if page.number == current { figure.take() } else { None },
        }
    };
    pages.get(listed).unwrap_or_default().iter().map(page_box).collect()
}

/// Returns the numbers of the pages without text as ranges; empty if all have text or none has.
fn textless(request: &PageRequest, pages: &[PdfPage]) -> String {
    let textless: Vec<usize> =
        pages.iter().filter(|page| page.start_offset.is_none()).map(|page| page.number).collect();
    let ranges: Vec<String> = textless
        .chunk_by(|one, next| one + 1 == *next)
        .filter_map(|run| Some((run.first()?, run.last()?)))
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}–{last}") })
        .collect();
    let shown = ranges.iter().take(MAX_PAGE_RANGES).cloned().collect::<Vec<_>>().join(", ");
    if ranges.len() > MAX_PAGE_RANGES {
        format!("{shown}, {}", request.locale().t("pdf-textless-more"))
    } else {
        shown
    }
}

/// Ranges of pages without text that are named.
const MAX_PAGE_RANGES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize, span: Option<(usize, usize)>) -> PdfPage {
        PdfPage {
            number,
            width: 600.0,
            height: 800.0,
            start_offset: span.map(|span| span.0),
            end_offset: span.map(|span| span.1),
        }
    }

    #[test]
    fn page_of_an_offset_is_the_one_that_has_it() {
        let pages = [page(1, Some((0, 10))), page(2, None), page(3, Some((10, 25)))];

        assert_eq!(
            [0, 9, 10, 24, 25].map(|offset| page_of_offset(&pages, offset)),
            [Some(1), Some(1), Some(3), Some(3), None]
        );
    }

    #[test]
    fn long_documents_list_the_pages_around_the_current_one() {
        assert_eq!(listed(1, 34), (0, 34));
        assert_eq!(listed(200, 900), (159, 280));
        assert_eq!(listed(900, 900), (859, 900));
    }
}
