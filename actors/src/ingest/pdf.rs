//! The text of a PDF, with the places of its pages.

use std::path::Path;

use entity::job;

use super::attempt::Failure;
use super::page::{LONGEST_TITLE, unread};
use super::places::{PageSpan, Places};
use super::store::Text;
use crate::adapters::sandbox::PdfText;
use crate::app::App;
use crate::error::Error;
use crate::kit::Lane;
use crate::text;

/// Stands between two pages; it belongs to the former.
const BETWEEN: &str = "\n\n";

/// Reads a PDF in the sandbox: the text of its pages one after the other, and what it says about itself.
///
/// # Errors
/// `Permanent` with the reason for the person where the file has no text for anyone: a password, pictures alone, damage.
pub async fn text(app: &App, job: &job::Model, file: &Path) -> Result<Text, Failure> {
    let mut file = tokio::fs::File::open(file).await.map_err(Error::internal)?;
    let read = app.sandbox.pdf(&mut file).await.map_err(|error| unread(error, job))?;
    Ok(app.workers.run(Lane::Background, move || put_together(read)).await?)
}

fn put_together(read: PdfText) -> Text {
    let (text, pages) = join(read.pages.iter().map(String::as_str));
    let short = |line: String| text::cut(&line, LONGEST_TITLE);
    Text {
        text,
        places: Places::Pages(pages),
        title: read.facts.title.map(short),
        author: read.facts.author.map(short),
        description: read.facts.subject,
        language: read.facts.language,
        ..Text::default()
    }
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

    use super::*;
    use crate::text::chunk::{Sizing, split_pages};

    #[test]
    fn pages_stand_one_after_the_other_with_their_places() {
        let (text, spans) = join(["One é.", "", "Three."].into_iter());

        assert_eq!(text, "One é.\n\nThree.");
        let spans: Vec<_> = spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(spans, [(0, 8), (8, 8), (8, 14)]);
    }

    proptest! {
        #[test]
        fn each_page_is_found_at_its_place_and_in_its_passages(
            pages in prop::collection::vec("([a-zé]{1,8}[ .\n]{1,3}){0,12}|\u{301}a|", 1..6),
        ) {
            let (text, spans) = join(pages.iter().map(String::as_str));
            let starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
            let pieces = split_pages(&text, &starts, &Sizing::default());
            for ((page, span), number) in pages.iter().zip(&spans).zip(1..) {
                let found = text::slice_chars(&text, span.start, span.end).unwrap();
                let cleaned = text::clean(page.trim());
                prop_assert_eq!(found.trim_end(), cleaned.trim_end());
                let passages = pieces.iter().filter(|piece| piece.page == Some(number));
                let of_page: String = passages.map(|piece| piece.of(&text)).collect();
                prop_assert_eq!(of_page, found);
            }
            prop_assert_eq!(spans.last().map(|span| span.end), Some(text::char_count(&text)));
        }
    }
}
