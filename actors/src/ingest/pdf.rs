//! The text of a PDF, with the spans of its pages.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use concurrency::Lane;
use errors::Error;
use jobs::JobError;
use library::documents::{ExtractedDocument, PageSpan, SourceMap, parser_job_error};
use parse::html::Heading;
use parse::pdf::{OutlineEntry, PdfMetadata};
use sandbox::PdfText;
use values::time::Timestamp;

use super::document_row::MAX_TITLE_CHARS;
use super::extraction_context::ExtractionContext;

/// Separates two pages; it belongs to the span of the former.
const PAGE_SEPARATOR: &str = "\n\n";
/// A title and a line match by their beginnings only from this length on, in bytes of their keys: shorter ones are the
/// beginning of too many others.
const MIN_PREFIX_BYTES: usize = 8;
const ONE_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Lines of a page on which a title is looked for. It bounds the work for thousands of headings on one long page.
const MAX_PAGE_LINES: usize = 1_000;

/// Extracts the text of a PDF in the sandbox, page after page, with the metadata of the file.
///
/// # Errors
/// [`JobError::Permanent`] when no text can be extracted: the file needs a password, has only images, or is damaged.
pub async fn extract_text(ctx: &ExtractionContext, file: &Path) -> Result<ExtractedDocument, JobError> {
    let mut file = tokio::fs::File::open(file).await.map_err(Error::internal)?;
    let pdf = ctx.sandbox.read_pdf(&mut file).await.map_err(parser_job_error)?;
    let now = ctx.core.clock.now();
    // Joining the pages of a long book blocks for a noticeable time.
    Ok(ctx.core.workers.run(Lane::Background, move || convert(pdf, now)).await?)
}

fn convert(pdf: PdfText, now: Timestamp) -> ExtractedDocument {
    let (text, pages) = join_pages(pdf.pages.iter().map(String::as_str));
    let missing_reason = missing_reason(&pdf.metadata, pages.len());
    let outline = locate_headings(pdf.metadata.outline, &text, &pages);
    let cut_title = |line: String| text::cut(&line, MAX_TITLE_CHARS);
    ExtractedDocument {
        text,
        missing_reason,
        outline,
        source_map: SourceMap::Pages(pages),
        title: pdf.metadata.title.map(cut_title),
        author: pdf.metadata.author.map(cut_title),
        description: pdf.metadata.subject,
        published_at: pdf.metadata.created_on.filter(|day| has_begun(day, now)),
        language: pdf.metadata.language,
        ..ExtractedDocument::default()
    }
}

/// Returns whether a day (`YYYY-MM-DD`) has begun: the clocks of some programs are wrong.
fn has_begun(day: &str, now: Timestamp) -> bool {
    // In some time zones it is tomorrow already. Times of RFC 3339 in UTC have the order of their texts.
    *day < *(now + ONE_DAY).to_string()
}

/// Says which pages are missing in the text, for the user; none if all of them are in it.
fn missing_reason(metadata: &PdfMetadata, pages: usize) -> Option<String> {
    let some_pages =
        |count: usize, fault: &str| (count > 0).then(|| format!("{count} of {pages} pages {fault}"));
    let truncated = metadata.is_truncated.then(|| "the file is incomplete: words are missing".to_owned());
    let reasons = [
        some_pages(metadata.image_only_pages, "are images without text"),
        some_pages(metadata.unreadable_pages, "could not be read"),
        truncated,
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Locates the entries of the outline in the text: each at the line of its page that has its title. An entry whose title is
/// not found is placed at the entry before it on the same page, or at the beginning of the page.
fn locate_headings(entries: Vec<OutlineEntry>, text: &str, pages: &[PageSpan]) -> Vec<Heading> {
    let pages_with_entries: HashSet<u32> = entries.iter().filter_map(|entry| entry.page).collect();
    let mut lines: HashMap<u32, Vec<PageLine>> = HashMap::new();
    // Each page is cut from the rest: finding it from the start of the text would be quadratic for a long book.
    let mut rest = text;
    for (span, number) in pages.iter().zip(1u32..) {
        let (page, following) = split_at_char(rest, span.end - span.start);
        rest = following;
        if pages_with_entries.contains(&number) {
            lines.insert(number, lines_of_page(page, span.start));
        }
    }
    let mut headings: Vec<Heading> = Vec::with_capacity(entries.len());
    for entry in entries {
        let Some((page, lines)) = entry.page.and_then(|page| Some((page, lines.get(&page)?))) else {
            continue;
        };
        let previous = headings.last().filter(|last| last.page == Some(page)).map(|last| last.offset);
        let fallback = || previous.or(lines.first().map(|line| line.offset));
        let Some(offset) = find_title(&entry.title, lines).or_else(fallback) else { continue };
        headings.push(Heading { title: entry.title, level: entry.level, offset, page: Some(page) });
    }
    headings
}

/// A line of a page.
struct PageLine {
    /// Where it begins in the text, in Unicode scalar values.
    offset: usize,
    /// Its letters and digits in lower case.
    key: String,
}

fn lines_of_page(page: &str, start: usize) -> Vec<PageLine> {
    let mut offset = start;
    let lines = page.split_inclusive('\n').take(MAX_PAGE_LINES).map(|line| {
        let found = PageLine { offset, key: matching_key(line) };
        offset += text::char_count(line);
        found
    });
    let lines: Vec<PageLine> = lines.collect();
    if lines.is_empty() { vec![PageLine { offset: start, key: String::new() }] } else { lines }
}

/// Finds the line of a title: the line that equals it, else one that is its beginning, as of a title that is broken into
/// lines, or that begins with it.
fn find_title(title: &str, lines: &[PageLine]) -> Option<usize> {
    let title = matching_key(title);
    let is_partial = |line: &&PageLine| {
        line.key.len() >= MIN_PREFIX_BYTES && title.starts_with(&line.key)
            || title.len() >= MIN_PREFIX_BYTES && line.key.starts_with(&title)
    };
    let exact = lines.iter().find(|line| !title.is_empty() && line.key == title);
    exact.or_else(|| lines.iter().find(is_partial)).map(|line| line.offset)
}

fn matching_key(line: &str) -> String {
    // Outlines and pages write the same title with other spaces, hyphens and ligatures.
    line.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn split_at_char(text: &str, chars: usize) -> (&str, &str) {
    let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// Joins the pages, each cleaned on its own, to one text; returns it with the span of each page.
fn join_pages<'a>(pages: impl Iterator<Item = &'a str>) -> (String, Vec<PageSpan>) {
    let (mut joined, mut spans, mut chars) = (String::new(), Vec::new(), 0);
    let mut pages = pages.map(|page| text::clean(page.trim())).peekable();
    while let Some(page) = pages.next() {
        let start = chars;
        chars += text::char_count(&page);
        joined.push_str(&page);
        if !page.is_empty() && pages.peek().is_some() {
            joined.push_str(PAGE_SEPARATOR);
            // The separator is ASCII, so its bytes are its characters.
            chars += PAGE_SEPARATOR.len();
        }
        spans.push(PageSpan { start, end: chars });
    }
    (joined, spans)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use text::chunk::{Sizing, split_pages};

    use super::*;

    #[test]
    fn pages_are_joined_in_order_with_their_spans() {
        let (text, spans) = join_pages(["One é.", "", "Three."].into_iter());

        assert_eq!(text, "One é.\n\nThree.");
        let spans: Vec<_> = spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(spans, [(0, 8), (8, 8), (8, 14)]);
    }

    #[test]
    fn created_date_after_tomorrow_is_dropped() {
        let now = Timestamp::parse("2026-12-31T23:59:59Z").unwrap();

        assert!(has_begun("1999-05-06", now));
        assert!(has_begun("2027-01-01", now), "begun in some time zone");
        assert!(!has_begun("2027-01-02", now));
    }

    #[test]
    fn headings_are_located_on_their_pages() {
        let pages = ["1 Herons\nThey wait.", "They strike.\n2 Fish and\nwater\nWe saw 2 Fish."];
        let (text, spans) = join_pages(pages.into_iter());
        let entry = |title: &str, page| OutlineEntry { title: title.to_owned(), level: 1, page };
        let entries = vec![
            entry("1. Herons", Some(1)),
            entry("A", Some(1)),
            entry("2 Fish and water", Some(2)),
            entry("Not told", Some(2)),
            entry("Nowhere", None),
            entry("Beyond", Some(3)),
        ];

        let found: Vec<_> = locate_headings(entries, &text, &spans)
            .into_iter()
            .map(|heading| (heading.title, heading.offset))
            .collect();

        // A title that is not found is placed at the one before it on its page.
        let expected = [("1. Herons", 0), ("A", 0), ("2 Fish and water", 34), ("Not told", 34)];
        assert_eq!(found, expected.map(|(title, offset)| (title.to_owned(), offset)));
    }

    #[test]
    fn missing_pages_are_reported() {
        let metadata = |image_only_pages, unreadable_pages| PdfMetadata {
            image_only_pages,
            unreadable_pages,
            ..PdfMetadata::default()
        };

        assert_eq!(missing_reason(&metadata(0, 0), 9), None);
        assert_eq!(
            missing_reason(&metadata(3, 1), 9).as_deref(),
            Some("3 of 9 pages are images without text; 1 of 9 pages could not be read")
        );
        let cut = PdfMetadata { is_truncated: true, ..PdfMetadata::default() };
        assert_eq!(missing_reason(&cut, 9).as_deref(), Some("the file is incomplete: words are missing"));
    }

    #[test]
    fn thousands_of_headings_on_one_long_page_are_fast() {
        let page = "word\n".repeat(1_000_000);
        let (text, spans) = join_pages([page.as_str()].into_iter());
        let entries = (0..2_000)
            .map(|n| OutlineEntry { title: format!("Part {n}"), level: 1, page: Some(1) })
            .collect();

        assert_eq!(locate_headings(entries, &text, &spans).len(), 2_000);
    }

    proptest! {
        #[test]
        fn pages_match_their_spans_and_passages(
            pages in prop::collection::vec("([a-zé]{1,8}[ .\n]{1,3}){0,12}|\u{301}a|", 1..6),
        ) {
            let (text, spans) = join_pages(pages.iter().map(String::as_str));
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
