//! The highlights of all documents, with filters in the address, and their export.

mod export;
mod filter;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::highlights::{
    CountLostHighlights, CountLostHighlightsResponse, HighlightFilter, HighlightOfDocument, ListAllHighlights,
};
use actors::operations::reading::drawn_color;
use actors::operations::text_positions::TextPosition;
use askama::Template;
use errors::Error;
use values::kind::AnchorState;
use values::time::Timestamp;

use self::filter::{COLORS, filter_of};
use super::page::fields::Fields;
use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters::{self, visible_text};
use crate::web::locale::Locale;
use crate::web::places::{PlaceView, highlight_path, kind_icon};

/// Highlights of a page.
const PAGE_HIGHLIGHTS: u64 = 50;

/// The page of all highlights.
#[derive(Template)]
#[template(path = "highlights/highlights.html", blocks = ["list"])]
struct HighlightsPage {
    shell: Shell,
    total: i64,
    colors: Vec<HighlightColorChip>,
    note_chip: HighlightChip,
    chosen: Vec<HighlightChip>,
    groups: Vec<HighlightGroup>,
    next: String,
    lost: usize,
    /// How many highlights are lost, as it is written: `12`, `100+`.
    lost_number: String,
    is_filtered: bool,
    is_of_document: bool,
    is_lost_list: bool,
    export_query: String,
}

parts!(HighlightsPage { "list" => as_list });

/// A filter as a link that turns it on or off.
struct HighlightChip {
    label: String,
    href: String,
    is_on: bool,
}

/// The filter by a colour.
struct HighlightColorChip {
    color: &'static str,
    href: String,
    is_on: bool,
}

/// The highlights of a document that follow one another in the list.
struct HighlightGroup {
    id: String,
    title: String,
    author: String,
    icon: &'static str,
    /// The tags of the bookmark, each with the address of the list of its highlights.
    tags: Vec<(String, String)>,
    passages: Vec<HighlightPassage>,
}

/// A highlight in the list.
struct HighlightPassage {
    id: String,
    document: String,
    color: &'static str,
    place: PlaceView,
    words: String,
    note: String,
    is_lost: bool,
    is_moved: bool,
    time: Timestamp,
}

/// Mounts the page and its exports.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/highlights").get(show).mount(config);
    PageRoute::new("/highlights.md").get(export::markdown).mount(config);
    PageRoute::new("/highlights.csv").get(export::csv).mount(config);
    PageRoute::new("/highlights.json").get(export::json).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let filter = filter_of(&request.query);
    let cursor = request.query.get("cursor").map(str::to_owned);
    let listed = request.run(ListAllHighlights::filtered(filter.clone(), PAGE_HIGHLIGHTS, cursor)).await?;
    let lost = request.run(CountLostHighlights).await?;
    let query = &request.query;
    let color = |color: &'static str| HighlightColorChip {
        color,
        href: toggled(query, "color", color),
        is_on: query.all("color").any(|chosen| chosen == color),
    };
    let next = listed.next_cursor.map(|cursor| with_cursor(query, &cursor)).unwrap_or_default();
    let page = HighlightsPage {
        shell: request.shell(NavigationEntry::Highlights).await?,
        total: listed.total,
        colors: COLORS.into_iter().map(color).collect(),
        note_chip: HighlightChip {
            label: request.locale().t("highlights-with-note"),
            href: toggled(query, "note", "true"),
            is_on: filter.has_note == Some(true),
        },
        chosen: chosen_chips(&request, &filter, &listed.highlights),
        groups: groups(&request, &listed.highlights),
        next,
        lost_number: lost_number(&lost, request.locale()),
        lost: lost.count,
        is_filtered: !query.query_without(&["cursor", "done"]).is_empty(),
        is_of_document: filter.document.is_some(),
        is_lost_list: filter.is_lost,
        export_query: query.query_without(&["cursor", "done"]),
    };
    request.show(&page)
}

/// Returns how many highlights are lost, with a sign if there are more than were counted.
fn lost_number(lost: &CountLostHighlightsResponse, locale: &Locale) -> String {
    let number = locale.number(i64::try_from(lost.count).unwrap_or(i64::MAX));
    if lost.has_more { format!("{number}+") } else { number }
}

/// Returns the address of the list with a value of a filter turned on or off.
fn toggled(query: &Fields, name: &str, value: &str) -> String {
    let mut kept = url::form_urlencoded::Serializer::new(query.query_without(&["cursor", "done", name]));
    let is_on = query.all(name).any(|chosen| chosen == value);
    kept.extend_pairs(query.all(name).filter(|chosen| *chosen != value).map(|chosen| (name, chosen)));
    if !is_on {
        kept.append_pair(name, value);
    }
    path_with(&kept.finish())
}

fn with_cursor(query: &Fields, cursor: &str) -> String {
    let mut kept = url::form_urlencoded::Serializer::new(query.query_without(&["cursor", "done"]));
    path_with(&kept.append_pair("cursor", cursor).finish())
}

fn tag_path(tag: &str) -> String {
    path_with(&url::form_urlencoded::Serializer::new(String::new()).append_pair("tag", tag).finish())
}

fn path_with(query: &str) -> String {
    if query.is_empty() { "/highlights".to_owned() } else { format!("/highlights?{query}") }
}

/// Returns the filters that only the address offers, each with the link that removes it.
fn chosen_chips(
    request: &PageRequest,
    filter: &HighlightFilter,
    found: &[HighlightOfDocument],
) -> Vec<HighlightChip> {
    let without = |name: &str| path_with(&request.query.query_without(&["cursor", "done", name]));
    let mut chips = Vec::new();
    if let Some(tag) = &filter.tag {
        chips.push(HighlightChip {
            label: format!("#{}", visible_text(tag)),
            href: without("tag"),
            is_on: true,
        });
    }
    if filter.document.is_some() {
        let title = found.first().map(|highlight| visible_text(&highlight.title));
        let label = title.unwrap_or_else(|| request.locale().t("highlights-one-document"));
        chips.push(HighlightChip { label, href: without("document"), is_on: true });
    }
    if filter.is_lost {
        chips.push(HighlightChip {
            label: request.locale().t("highlights-lost-chip"),
            href: without("lost"),
            is_on: true,
        });
    }
    chips
}

/// Puts highlights of the same document together, in the order of the list.
fn groups(request: &PageRequest, highlights: &[HighlightOfDocument]) -> Vec<HighlightGroup> {
    let mut groups: Vec<HighlightGroup> = Vec::new();
    for highlight in highlights {
        let id = highlight.document_id.to_string();
        let passage = passage(request, highlight);
        match groups.iter_mut().find(|group| group.id == id) {
            Some(group) => group.passages.push(passage),
            None => groups.push(HighlightGroup {
                id,
                title: visible_text(&highlight.title),
                author: visible_text(highlight.author.as_deref().unwrap_or_default()),
                icon: kind_icon(highlight.content_type),
                tags: highlight.tags.iter().map(|tag| (visible_text(tag), tag_path(tag))).collect(),
                passages: vec![passage],
            }),
        }
    }
    groups
}

fn passage(request: &PageRequest, of: &HighlightOfDocument) -> HighlightPassage {
    let highlight = &of.highlight;
    let is_lost = highlight.anchor_state == AnchorState::Lost;
    HighlightPassage {
        id: highlight.highlight_id.to_string(),
        document: of.document_id.to_string(),
        color: drawn_color(highlight.color.as_deref()),
        place: place(request, of),
        words: highlight.text.clone(),
        note: highlight.note.clone().unwrap_or_default(),
        is_lost,
        is_moved: highlight.anchor_state == AnchorState::Moved,
        time: highlight.created_at,
    }
}

/// Returns the place of a highlight. Its link marks the words, also those of a recording.
fn place(request: &PageRequest, of: &HighlightOfDocument) -> PlaceView {
    let position = TextPosition {
        page: of.page,
        start_seconds: of.seconds,
        paragraph: of.paragraph,
        ..TextPosition::default()
    };
    let href = highlight_path(of.document_id, of.highlight.start_offset, of.highlight.end_offset);
    PlaceView { href, ..PlaceView::new(of.document_id, Some(&position), request.locale()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_is_turned_on_and_off_by_its_address() {
        let query = Fields::parse(b"color=green&color=blue&tag=a&cursor=x");

        assert_eq!(toggled(&query, "color", "green"), "/highlights?tag=a&color=blue");
        assert_eq!(toggled(&query, "note", "true"), "/highlights?color=green&color=blue&tag=a&note=true");
        assert_eq!(toggled(&Fields::parse(b"lost=1"), "lost", "1"), "/highlights");
    }
}
