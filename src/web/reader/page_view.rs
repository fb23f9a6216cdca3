//! What templates show of a document beside its text.

use actors::operations::reading::{ReadPageResponse, ReaderBookmark};
use values::kind::{ContentType, DocumentStatus};
use values::time::Timestamp;

use super::side_notes::SideNote;
use super::spine::Spine;
use crate::web::filters::visible_text;
use crate::web::locale::Locale;
use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;
use crate::web::reading_time::{minutes_left, reading_minutes};

/// Characters of Chinese, Japanese and Korean texts that are read in a minute.
const CHARS_PER_MINUTE: i64 = 500;
/// Languages that are written without spaces, whose words are not counted.
const UNSPACED_LANGUAGES: [&str; 3] = ["ja", "zh", "th"];
/// Languages that are written from right to left.
const RIGHT_TO_LEFT_LANGUAGES: [&str; 8] = ["ar", "fa", "he", "ur", "yi", "ps", "sd", "ug"];

/// A document as templates show it.
#[derive(Clone, Debug)]
pub struct ReaderView {
    /// Id of the document.
    pub id: String,
    /// Whether the text of a PDF or a recording is shown instead of its pages or its player.
    pub is_text: bool,
    /// The URL that names a place of it, up to its first parameter, see [`place_url`].
    pub place_url: String,
    /// Its title; an address for a page without one.
    pub title: String,
    /// Where it is from: site and date, as far as they are known.
    pub from: Vec<String>,
    /// Names of the authors; empty if none are known.
    pub author: String,
    /// The address of the source; empty for uploads and notes.
    pub source_url: String,
    /// Minutes that reading takes, at least 1.
    pub minutes: i64,
    /// Minutes that are left.
    pub minutes_left: i64,
    /// The value of `lang`; empty if the language is not known.
    pub language: String,
    /// The value of `dir`.
    pub direction: &'static str,
    /// The version of the text.
    pub version: i32,
    /// Length of the text.
    pub total_chars: i32,
    /// Offset at which the user stopped reading this version; 0 at the beginning.
    pub offset: i32,
    /// The bookmark.
    pub bookmark: Option<BookmarkLabels>,
    /// Whether it is a feed entry that is not saved.
    pub is_unsaved_entry: bool,
    /// Whether its words can be highlighted.
    pub can_mark: bool,
    /// The sentence about what the text lacks, and what can be done; empty if it lacks nothing.
    pub lacks: String,
    /// The highlights in the order of the text, lost ones at the end.
    pub notes: Vec<SideNote>,
    /// The line at the edge that shows the progress and the highlights.
    pub spine: Spine,
}

/// The bookmark of a document, as templates show it.
#[derive(Clone, Debug)]
pub struct BookmarkLabels {
    /// Id of the bookmark.
    pub id: String,
    /// Whether it is a favourite.
    pub favorite: bool,
    /// Whether it is archived.
    pub archived: bool,
    /// Its tags.
    pub tags: Vec<String>,
    /// The user's notes.
    pub notes: String,
}

impl ReaderView {
    /// Makes the view in the language of the request.
    pub fn new(document: &ReadPageResponse, request: &PageRequest) -> Self {
        let locale = request.locale();
        let words_per_minute = request.viewer.settings.reading.words_per_minute;
        let minutes = document_minutes(document, words_per_minute);
        let position = document.position.as_ref();
        let progress = position.map_or(0.0, |position| position.progress);
        let is_bookmark = document.bookmark.is_some();
        let language = document.language.clone().unwrap_or_default();
        let id = document.document_id.to_string();
        let is_text = asks_for_text(&request.query);
        Self {
            place_url: place_url(&id, is_text),
            id,
            is_text,
            title: title(document, locale),
            from: from(document, locale),
            author: visible_text(&text::one_line(document.author.as_deref().unwrap_or_default())),
            source_url: document.url.clone().filter(|url| is_web(url)).unwrap_or_default(),
            minutes,
            minutes_left: minutes_left(minutes, progress),
            direction: direction(&language),
            language,
            version: document.version,
            total_chars: document.total_chars,
            offset: position.filter(|at| at.version == document.version).map_or(0, |at| at.offset),
            bookmark: document.bookmark.as_ref().map(BookmarkLabels::from),
            is_unsaved_entry: document.entry.is_some() && !is_bookmark,
            can_mark: is_bookmark || document.entry.is_some(),
            lacks: visible_text(document.lacks.as_deref().unwrap_or_default()),
            notes: SideNote::list(&document.highlights, locale),
            spine: Spine::new(document, progress),
        }
    }

    /// Returns whether the user has highlights in it.
    pub fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }
}

impl From<&ReaderBookmark> for BookmarkLabels {
    fn from(bookmark: &ReaderBookmark) -> Self {
        Self {
            id: bookmark.bookmark_id.to_string(),
            favorite: bookmark.favorite,
            archived: bookmark.archived,
            tags: bookmark.tags.clone(),
            notes: bookmark.notes.clone(),
        }
    }
}

/// Returns whether a URL leads to a page of the web; others are not links.
fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

fn title(document: &ReadPageResponse, locale: &Locale) -> String {
    let title = visible_text(&text::one_line(&document.title));
    if !title.is_empty() {
        return title;
    }
    match &document.url {
        Some(url) => visible_text(url),
        None => locale.t("reader-untitled"),
    }
}

fn from(document: &ReadPageResponse, locale: &Locale) -> Vec<String> {
    let host = document.url.as_deref().and_then(host_of);
    let site = document.site_name.as_deref().map(text::one_line).filter(|site| !site.is_empty()).or(host);
    let published = document.published_at.as_deref().and_then(|date| published_date(date, locale));
    site.map(|site| visible_text(&site)).into_iter().chain(published).collect()
}

/// Returns the host of a URL without `www.`. A host with other letters is shown in Punycode, as the URL has it.
fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?;
    Some(host.strip_prefix("www.").unwrap_or(host).to_owned())
}

/// Writes the date that a page states, which is a date or a time.
fn published_date(stated: &str, locale: &Locale) -> Option<String> {
    let day = stated.get(..10)?;
    let time = Timestamp::parse(&format!("{day}T12:00:00Z"))?;
    Some(locale.date(time))
}

fn document_minutes(document: &ReadPageResponse, words_per_minute: i32) -> i64 {
    let is_unspaced =
        document.language.as_deref().is_some_and(|language| UNSPACED_LANGUAGES.contains(&language));
    match document.word_count {
        Some(words) if !is_unspaced => reading_minutes(words, words_per_minute),
        Some(_) | None => (i64::from(document.total_chars) / CHARS_PER_MINUTE).max(1),
    }
}

fn direction(language: &str) -> &'static str {
    if RIGHT_TO_LEFT_LANGUAGES.contains(&language) { "rtl" } else { "auto" }
}

/// Returns whether a document is one that the web app reads as text although it has another form.
pub fn has_other_form(content_type: ContentType) -> bool {
    match content_type {
        ContentType::Pdf | ContentType::Video | ContentType::Audio => true,
        ContentType::Article | ContentType::Note => false,
    }
}

/// Returns whether the fields of a URL or a form ask for the text of a PDF or a recording instead of its pages or its player.
pub fn asks_for_text(fields: &Fields) -> bool {
    fields.get("as") == Some("text")
}

/// Returns the URL of the reader of a document, up to a parameter that follows: `/read/ID?`, or `/read/ID?as=text&` for its text.
pub fn place_url(id: &str, is_text: bool) -> String {
    let form = if is_text { "as=text&" } else { "" };
    format!("/read/{id}?{form}")
}

/// Returns whether a document will get a text without the user.
pub fn is_in_progress(document: &ReadPageResponse) -> bool {
    match document.status {
        DocumentStatus::Processing => true,
        DocumentStatus::Ready | DocumentStatus::Failed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_shown_without_www() {
        assert_eq!(host_of("https://www.birds.example/a").as_deref(), Some("birds.example"));
        assert_eq!(host_of("urn:isbn:1").as_deref(), None);
    }

    #[test]
    fn right_to_left_languages_have_their_direction() {
        assert_eq!((direction("ar"), direction("en"), direction("")), ("rtl", "auto", "auto"));
    }
}
