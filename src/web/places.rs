//! Where words stand in a document, as every page names it and links to it: `p. 12`, `14:32`, `¶ 5`.

use actors::operations::text_positions::TextPosition;
use values::id::DocumentId;
use values::kind::ContentType;

use super::locale::Locale;
use super::strings::ToMessageValue;

/// A position in a document, as a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceView {
    /// The short name in the column of places.
    pub label: String,
    /// The name for screen readers.
    pub name: String,
    /// The address that opens the document there.
    pub href: String,
}

impl PlaceView {
    /// Returns the view of a position; without one, of the document as a whole.
    pub fn new(document: DocumentId, position: Option<&TextPosition>, locale: &Locale) -> Self {
        let Some(position) = position else {
            return Self::whole(document, locale);
        };
        let href = position.reader_path(document);
        if let Some(page) = position.page {
            let page = [("page", page.to_message_value())];
            let (label, name) =
                (locale.t_with("places-page", &page), locale.t_with("places-page-name", &page));
            return Self { label, name, href };
        }
        if let Some(seconds) = position.start_seconds {
            let label = locale.clock(whole_seconds(seconds));
            let name = locale.t_with("places-time-name", &[("time", label.to_message_value())]);
            return Self { label, name, href };
        }
        match position.paragraph {
            Some(number) => {
                let number = [("number", number.to_message_value())];
                let label = locale.t_with("places-paragraph", &number);
                Self { label, name: locale.t_with("places-paragraph-name", &number), href }
            }
            None => Self { href, ..Self::whole(document, locale) },
        }
    }

    fn whole(document: DocumentId, locale: &Locale) -> Self {
        let label = locale.t("places-open");
        Self { name: label.clone(), label, href: format!("/read/{document}") }
    }
}

/// Returns a time of a recording in whole seconds, rounded down; 0 for a negative one.
#[expect(clippy::cast_possible_truncation, reason = "a recording has fewer seconds than an `i64` holds")]
pub fn whole_seconds(seconds: f64) -> i64 {
    seconds.max(0.0).floor() as i64
}

/// Returns the address that opens a document at a highlight, whose offsets are in Unicode scalar values.
pub fn highlight_path(document: DocumentId, start_offset: i32, end_offset: i32) -> String {
    format!("/read/{document}?at={start_offset}-{end_offset}#at")
}

/// Returns the name of the icon of a kind of document.
pub fn kind_icon(content_type: ContentType) -> &'static str {
    match content_type {
        ContentType::Article => "article",
        ContentType::Pdf => "pdf",
        ContentType::Audio => "audio",
        ContentType::Video => "video",
        ContentType::Note => "note",
    }
}

/// Returns the key of the name of a kind of document.
pub fn kind_key(content_type: ContentType) -> &'static str {
    match content_type {
        ContentType::Article => "places-kind-article",
        ContentType::Pdf => "places-kind-pdf",
        ContentType::Audio => "places-kind-audio",
        ContentType::Video => "places-kind-video",
        ContentType::Note => "places-kind-note",
    }
}
