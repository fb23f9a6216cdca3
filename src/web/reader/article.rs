//! The text of a document as an article: pages, notes, entries, and whatever is read as text.

use std::ops::Range;

use actix_web::HttpResponse;
use actors::operations::reading::{FindWords, PartSelector, ReadPart, ReadPartResponse, ReaderHeading};
use askama::Template;
use errors::Error;
use values::kind::PictureMode;

use super::page_view::{ReaderView, has_other_form};
use super::reader_page::ReaderPage;
use super::side_notes::{ColorChoice, color_choices};
use super::type_settings::TypeView;
use crate::parts;
use crate::web::filters;
use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::ToastView;

/// The longest range that an address marks, in characters.
const MAX_TARGET_CHARS: usize = 10_000;

/// The page of a text.
#[derive(Template)]
#[template(path = "reader/article.html", blocks = ["notes", "spine", "text_part", "mark_form", "actions"])]
struct ArticlePage {
    toast: Option<ToastView>,
    view: ReaderView,
    part: PartView,
    outline: Vec<OutlineEntry>,
    target: Option<TargetView>,
    type_view: TypeView,
    colors: Vec<ColorChoice>,
    has_other_form: bool,
    is_entry: bool,
    /// Words that were looked for and not found; empty if none were.
    sought: String,
}

parts!(ArticlePage {
    "notes" => as_notes,
    "spine" => as_spine,
    "text-part" => as_text_part,
    "mark-form" => as_mark_form,
    "actions" => as_actions,
});

/// A part of the text.
#[derive(Debug, Default)]
struct PartView {
    html: String,
    number: usize,
    count: usize,
    previous: usize,
    next: usize,
}

/// A heading in the outline.
#[derive(Debug)]
struct OutlineEntry {
    title: String,
    href: String,
    offset: usize,
    is_inner: bool,
}

/// The words that the address names.
#[derive(Clone, Debug)]
struct TargetView {
    start: usize,
    end: usize,
    is_marked: bool,
}

/// Shows the text.
///
/// # Errors
/// Those of the operations.
pub async fn show(request: &PageRequest, page: ReaderPage) -> Result<HttpResponse, Error> {
    let ReaderPage { document, view } = page;
    let sought = request.query.get("find").unwrap_or_default().to_owned();
    if !sought.is_empty() {
        let find = FindWords { document: document.document_id, words: sought.clone() };
        if let Some((start, end)) = request.run(find).await?.range {
            return Ok(request.redirect(&format!("{}at={start}-{end}#at", view.place_url)));
        }
    }
    let target = target_of(&request.query, document.total_chars);
    let needs_text = request.wants::<ArticlePage>("text-part");
    let part = if needs_text { Some(read_part(request, &view, target.clone()).await?) } else { None };
    let starts = part.as_ref().map(|part| part.part_starts.clone()).unwrap_or_default();
    let number = part.as_ref().map_or(1, |part| part.part);
    let outline = outline(&view.place_url, document.outline, &starts, number);
    let is_marked = |target: &Range<usize>| {
        let is_same =
            |offset: i32, wanted: usize| usize::try_from(offset).is_ok_and(|offset| offset == wanted);
        view.notes.iter().any(|note| is_same(note.start, target.start) && is_same(note.end, target.end))
    };
    let target = target.map(|target| TargetView {
        is_marked: is_marked(&target),
        start: target.start,
        end: target.end,
    });
    let article = ArticlePage {
        toast: request.toast(),
        part: part.map(PartView::from).unwrap_or_default(),
        outline,
        target,
        type_view: TypeView::of(&request.viewer.settings.reading),
        colors: color_choices("yellow"),
        has_other_form: has_other_form(document.content_type),
        is_entry: document.entry.is_some(),
        sought: filters::visible_text(&sought),
        view,
    };
    request.show(&article)
}

async fn read_part(
    request: &PageRequest,
    view: &ReaderView,
    target: Option<Range<usize>>,
) -> Result<ReadPartResponse, Error> {
    let number = request.query.get("part").and_then(|part| part.parse::<usize>().ok());
    let stopped_at = usize::try_from(view.offset).unwrap_or_default();
    let part = match (&target, number) {
        (_, Some(number)) => PartSelector::Number(number),
        (Some(target), None) => PartSelector::At(target.start),
        // Back to where one stopped, without a script too.
        (None, None) => PartSelector::At(stopped_at),
    };
    let picture_link = match request.viewer.settings.pictures {
        PictureMode::Shown => None,
        PictureMode::OnClick => Some(request.locale().t("reader-picture")),
    };
    let document = request.target().id(0)?;
    request.run(ReadPart { document, part, target, picture_link }).await
}

/// Returns the characters that `?at=start-end` names, if the text can have them.
pub fn target_of(query: &Fields, total_chars: i32) -> Option<Range<usize>> {
    let (start, end) = query.get("at")?.split_once('-')?;
    let (start, end) = (start.parse::<usize>().ok()?, end.parse::<usize>().ok()?);
    let length = usize::try_from(total_chars).unwrap_or_default();
    (start < end && start < length).then(|| start..end.min(start.saturating_add(MAX_TARGET_CHARS)))
}

fn outline(
    place_url: &str,
    headings: Vec<ReaderHeading>,
    starts: &[usize],
    current: usize,
) -> Vec<OutlineEntry> {
    let top = headings.iter().map(|heading| heading.level).min().unwrap_or(1);
    let entry = |heading: ReaderHeading| {
        let part = starts.iter().rposition(|start| *start <= heading.offset).map_or(1, |index| index + 1);
        let href = if part == current || starts.is_empty() {
            format!("#o{}", heading.offset)
        } else {
            format!("{place_url}part={part}#o{}", heading.offset)
        };
        OutlineEntry {
            title: filters::visible_text(&heading.title),
            href,
            offset: heading.offset,
            is_inner: heading.level > top,
        }
    };
    headings.into_iter().map(entry).collect()
}

impl From<ReadPartResponse> for PartView {
    fn from(part: ReadPartResponse) -> Self {
        Self {
            html: part.html,
            number: part.part,
            count: part.parts,
            previous: part.part - 1,
            next: if part.part < part.parts { part.part + 1 } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(query: &str, total_chars: i32) -> Option<Range<usize>> {
        target_of(&Fields::parse(query.as_bytes()), total_chars)
    }

    #[test]
    fn address_names_a_range_within_the_text() {
        assert_eq!(target("at=3-9", 100), Some(3..9));
        assert_eq!(target("at=3-999999", 100), Some(3..3 + MAX_TARGET_CHARS));
        for other in ["", "at=9-3", "at=3", "at=x-9", "at=-1-9", "at=100-109"] {
            assert_eq!(target(other, 100), None, "{other}");
        }
    }

    #[test]
    fn heading_of_another_part_leads_to_it() {
        let heading = |level, offset| ReaderHeading { title: "A".to_owned(), level, offset, page: None };

        let entries = outline("/read/d?", vec![heading(2, 5), heading(3, 90)], &[0, 60], 1);

        assert_eq!((entries[0].href.as_str(), entries[0].is_inner), ("#o5", false));
        assert_eq!((entries[1].href.as_str(), entries[1].is_inner), ("/read/d?part=2#o90", true));
    }
}
