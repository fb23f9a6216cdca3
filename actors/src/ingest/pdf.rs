//! The text of a PDF, with the places of its pages.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use parse::html::Heading;
use parse::pdf::{OutlineEntry, PdfMetadata};
use runtime::Lane;
use sandbox::PdfText;

use super::attempt::JobError;
use super::page::LONGEST_TITLE;
use super::places::{PageSpan, Places};
use super::store::Text;
use super::unread;
use crate::ingest::context::IngestContext;
use errors::Error;

/// Stands between two pages; it belongs to the former.
const BETWEEN: &str = "\n\n";
/// Shorter titles and lines, in bytes of their letters, begin many others.
const SURE: usize = 8;
/// Lines of a page that a title is looked for on.
const MOST_LINES: usize = 1_000;

/// Reads a PDF in the sandbox: the text of its pages one after the other, and what it says about itself.
///
/// # Errors
/// `Permanent` with the reason for the person where the file has no text for anyone: a password, pictures alone, damage.
pub async fn text(ctx: &IngestContext, file: &Path) -> Result<Text, JobError> {
    let mut file = tokio::fs::File::open(file).await.map_err(Error::internal)?;
    let read = ctx.sandbox.read_pdf(&mut file).await.map_err(unread)?;
    Ok(ctx.core.workers.run(Lane::Background, move || put_together(read)).await?)
}

fn put_together(read: PdfText) -> Text {
    let (text, pages) = join(read.pages.iter().map(String::as_str));
    let lacks = lacks(&read.metadata, pages.len());
    let outline = headings(read.metadata.outline, &text, &pages);
    let short = |line: String| text::cut(&line, LONGEST_TITLE);
    Text {
        text,
        lacks,
        outline,
        places: Places::Pages(pages),
        title: read.metadata.title.map(short),
        author: read.metadata.author.map(short),
        description: read.metadata.subject,
        published_at: read.metadata.created_on,
        language: read.metadata.language,
        ..Text::default()
    }
}

/// What a person has to know of pages that are not in the text.
fn lacks(metadata: &PdfMetadata, pages: usize) -> Option<String> {
    let of = |count: usize, are: &str| (count > 0).then(|| format!("{count} of {pages} pages {are}"));
    let cut_off = metadata.is_truncated.then(|| "the file is incomplete: words are missing".to_owned());
    let told = [
        of(metadata.image_only_pages, "are images without text"),
        of(metadata.unreadable_pages, "could not be read"),
        cut_off,
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The parts of the document, each where its name stands on its page; else where the part before it stands there, or the page
/// begins.
fn headings(parts: Vec<OutlineEntry>, text: &str, pages: &[PageSpan]) -> Vec<Heading> {
    let wanted: HashSet<u32> = parts.iter().filter_map(|part| part.page).collect();
    let mut lines: HashMap<u32, Vec<Line>> = HashMap::new();
    let mut rest = text;
    for (span, number) in pages.iter().zip(1u32..) {
        let (page, behind) = split_at_char(rest, span.end - span.start);
        rest = behind;
        if wanted.contains(&number) {
            lines.insert(number, lines_of(page, span.start));
        }
    }
    let mut headings: Vec<Heading> = Vec::with_capacity(parts.len());
    for part in parts {
        let Some((page, lines)) = part.page.and_then(|page| Some((page, lines.get(&page)?))) else {
            continue;
        };
        let before = headings.last().filter(|last| last.page == Some(page)).map(|last| last.offset);
        let begins = || before.or(lines.first().map(|line| line.offset));
        let Some(offset) = named_in(&part.title, lines).or_else(begins) else { continue };
        headings.push(Heading { title: part.title, level: part.level, offset, page: Some(page) });
    }
    headings
}

/// A line of a page: where it stands in the text, and its letters and digits.
struct Line {
    offset: usize,
    key: String,
}

fn lines_of(page: &str, start: usize) -> Vec<Line> {
    let mut offset = start;
    let lines = page.split_inclusive('\n').take(MOST_LINES).map(|line| {
        let found = Line { offset, key: key(line) };
        offset += text::char_count(line);
        found
    });
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() { vec![Line { offset: start, key: String::new() }] } else { lines }
}

/// Where the line that a title stands on begins: titles may go on in the next line, and lines behind a title.
fn named_in(title: &str, lines: &[Line]) -> Option<usize> {
    let title = key(title);
    let is_part = |line: &&Line| {
        line.key.len() >= SURE && title.starts_with(&line.key)
            || title.len() >= SURE && line.key.starts_with(&title)
    };
    let whole = lines.iter().find(|line| !title.is_empty() && line.key == title);
    whole.or_else(|| lines.iter().find(is_part)).map(|line| line.offset)
}

fn key(line: &str) -> String {
    line.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn split_at_char(text: &str, chars: usize) -> (&str, &str) {
    let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// The pages as one text, each cleaned for itself, and where each stands in it.
fn join<'a>(pages: impl Iterator<Item = &'a str>) -> (String, Vec<PageSpan>) {
    let (mut whole, mut spans, mut chars) = (String::new(), Vec::new(), 0);
    let mut pages = pages.map(|page| text::clean(page.trim())).peekable();
    while let Some(page) = pages.next() {
        let start = chars;
        chars += text::char_count(&page);
        whole.push_str(&page);
        if !page.is_empty() && pages.peek().is_some() {
            whole.push_str(BETWEEN);
            chars += BETWEEN.len();
        }
        spans.push(PageSpan { start, end: chars });
    }
    (whole, spans)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use text::chunk::{Sizing, split_pages};

    use super::*;

    #[test]
    fn pages_stand_one_after_the_other_with_their_places() {
        let (text, spans) = join(["One é.", "", "Three."].into_iter());

        assert_eq!(text, "One é.\n\nThree.");
        let spans: Vec<_> = spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(spans, [(0, 8), (8, 8), (8, 14)]);
    }

    #[test]
    fn parts_are_found_on_their_pages() {
        let pages = ["1 Herons\nThey wait.", "They strike.\n2 Fish and\nwater\nWe saw 2 Fish."];
        let (text, spans) = join(pages.into_iter());
        let part = |title: &str, page| OutlineEntry { title: title.to_owned(), level: 1, page };
        let parts = vec![
            part("1. Herons", Some(1)),
            part("A", Some(1)),
            part("2 Fish and water", Some(2)),
            part("Not told", Some(2)),
            part("Nowhere", None),
            part("Beyond", Some(3)),
        ];

        let found: Vec<_> =
            headings(parts, &text, &spans).into_iter().map(|part| (part.title, part.offset)).collect();

        // What is not found stands where the one before it on its page does.
        let wanted = [("1. Herons", 0), ("A", 0), ("2 Fish and water", 34), ("Not told", 34)];
        assert_eq!(found, wanted.map(|(title, offset)| (title.to_owned(), offset)));
    }

    #[test]
    fn what_the_text_lacks_is_told() {
        let metadata = |image_only_pages, unreadable_pages| PdfMetadata {
            image_only_pages,
            unreadable_pages,
            ..PdfMetadata::default()
        };

        assert_eq!(lacks(&metadata(0, 0), 9), None);
        assert_eq!(
            lacks(&metadata(3, 1), 9).as_deref(),
            Some("3 of 9 pages are images without text; 1 of 9 pages could not be read")
        );
        let cut = PdfMetadata { is_truncated: true, ..PdfMetadata::default() };
        assert_eq!(lacks(&cut, 9).as_deref(), Some("the file is incomplete: words are missing"));
    }

    #[test]
    fn thousands_of_parts_of_one_endless_page_take_no_time() {
        let page = "word\n".repeat(1_000_000);
        let (text, spans) = join([page.as_str()].into_iter());
        let parts = (0..2_000)
            .map(|n| OutlineEntry { title: format!("Part {n}"), level: 1, page: Some(1) })
            .collect();

        assert_eq!(headings(parts, &text, &spans).len(), 2_000);
    }

    proptest! {
        #[test]
        fn each_page_is_found_at_its_place_and_in_its_passages(
            pages in prop::collection::vec("([a-zé]{1,8}[ .\n]{1,3}){0,12}|\u{301}a|", 1..6),
        ) {
            let (text, spans) = join(pages.iter().map(String::as_str));
            let starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
            let pieces = split_pages(&text, &starts, &[], &Sizing::default());
            for ((page, span), number) in pages.iter().zip(&spans).zip(1..) {
                let found = text::slice_chars(&text, span.start, span.end).unwrap();
                let cleaned = text::clean(page.trim());
                prop_assert_eq!(found.trim_end(), cleaned.trim_end());
                let passages = pieces.iter().filter(|piece| piece.page == Some(number));
                let of_page: String = passages.map(|piece| piece.text_in(&text)).collect();
                prop_assert_eq!(of_page, found);
            }
            prop_assert_eq!(spans.last().map(|span| span.end), Some(text::char_count(&text)));
        }
    }
}
