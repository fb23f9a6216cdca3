//! The rows of the home page, made of what the operation returns.

use actors::operations::bookmarks::BookmarkView;
use actors::operations::entries::StreamEntry;
use actors::operations::home::ContinuedView;
use actors::operations::reading::picture_address;
use jiff::civil::Weekday;
use url::Url;
use values::kind::{ContentType, DocumentStatus, PictureMode};
use values::time::Timestamp;

use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::places::kind_icon;
use crate::web::reading_time::{minutes_left, reading_minutes};
use crate::web::strings::MessageValue::Text;

/// A visit longer ago than this is named by its date.
const MAX_WEEKDAY_SECONDS: i64 = 6 * 86_400;

/// A text that is continued.
pub(super) struct ContinuedRow {
    pub href: String,
    pub title: String,
    pub source: String,
    pub author: Option<String>,
    pub icon: &'static str,
    pub last_sentence: Option<String>,
    pub minutes_left: Option<i64>,
    pub progress: f64,
    pub progress_text: String,
    /// The address of the picture of its page, led through this server.
    pub picture: Option<String>,
}

impl ContinuedRow {
    pub(super) fn new(view: ContinuedView, request: &PageRequest) -> Self {
        let (bookmark, locale) = (view.bookmark, request.locale());
        let shows_pictures = request.viewer.settings.pictures == PictureMode::Shown;
        let user = request.viewer.caller.user;
        let picture = bookmark.image_url.as_ref().filter(|_| shows_pictures);
        let picture = picture.map(|url| picture_address(user, bookmark.document_id, url));
        let percent = locale.percent(bookmark.progress);
        let is_heard = matches!(bookmark.content_type, ContentType::Audio | ContentType::Video);
        let key = if is_heard { "home-heard" } else { "home-read" };
        let words = bookmark.word_count.filter(|_| !is_heard);
        let minutes =
            words.map(|words| reading_minutes(words, request.viewer.settings.reading.words_per_minute));
        Self {
            href: format!("/read/{}", bookmark.document_id),
            source: source_of(&bookmark),
            title: bookmark.title,
            author: bookmark.author,
            icon: kind_icon(bookmark.content_type),
            last_sentence: view.last_sentence,
            minutes_left: minutes.map(|minutes| minutes_left(minutes, bookmark.progress).max(1)),
            progress: bookmark.progress,
            progress_text: locale.t_with(key, &[("percent", Text(percent))]),
            picture,
        }
    }
}

/// A new entry of a feed.
pub(super) struct EntryLine {
    pub href: String,
    pub title: String,
    pub feed: String,
    pub at: Timestamp,
}

impl From<StreamEntry> for EntryLine {
    fn from(entry: StreamEntry) -> Self {
        Self {
            href: format!("/feeds?entry={}#entry", entry.entry.entry_id),
            title: entry.entry.title,
            feed: entry.feed_title,
            at: entry.listed_at,
        }
    }
}

/// What was saved last.
pub(super) struct SavedRow {
    pub href: String,
    pub document: String,
    pub title: String,
    pub source: String,
    pub icon: &'static str,
    pub tags: Vec<String>,
    pub saved: Timestamp,
    pub is_processing: bool,
    pub is_recording: bool,
    pub error: Option<String>,
}

impl From<BookmarkView> for SavedRow {
    fn from(bookmark: BookmarkView) -> Self {
        let is_failed = bookmark.status == DocumentStatus::Failed;
        Self {
            href: format!("/read/{}", bookmark.document_id),
            document: bookmark.document_id.to_string(),
            source: source_of(&bookmark),
            title: bookmark.title,
            icon: kind_icon(bookmark.content_type),
            tags: bookmark.tags,
            saved: bookmark.saved_at,
            is_processing: bookmark.status == DocumentStatus::Processing,
            is_recording: matches!(bookmark.content_type, ContentType::Audio | ContentType::Video),
            error: bookmark.error.filter(|_| is_failed),
        }
    }
}

/// Returns the name of the site, or else its host; empty for uploads.
fn source_of(bookmark: &BookmarkView) -> String {
    let host = || Url::parse(&bookmark.url).ok().and_then(|url| url.host_str().map(str::to_owned));
    bookmark.site_name.clone().or_else(host).unwrap_or_default()
}

/// Returns the class of a colour; that of the first one for names that the app does not have.
pub(super) fn highlight_color(name: Option<&str>) -> &'static str {
    match name {
        Some("green") => "c-green",
        Some("blue") => "c-blue",
        Some("pink") => "c-pink",
        Some("violet") => "c-violet",
        Some(_) | None => "c-yellow",
    }
}

/// Returns when a visit ended, in words: `Thursday evening`; by its date if it is longer ago than a week.
pub(in crate::web) fn visit_words(locale: &Locale, at: Timestamp) -> String {
    let seconds = (locale.now.millis() - at.millis()) / 1_000;
    if seconds > MAX_WEEKDAY_SECONDS {
        return locale.date_time(at);
    }
    let time = locale.zoned(at);
    if time.date() == locale.zoned(locale.now).date() {
        return locale.t_with("visit-today", &[("time", Text(locale.time(at)))]);
    }
    let weekday = locale.t(weekday_key(time.weekday()));
    let key = match time.hour() {
        ..5 => "visit-night",
        5..12 => "visit-morning",
        12..18 => "visit-afternoon",
        _ => "visit-evening",
    };
    locale.t_with(key, &[("weekday", Text(weekday))])
}

fn weekday_key(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "weekday-1",
        Weekday::Tuesday => "weekday-2",
        Weekday::Wednesday => "weekday-3",
        Weekday::Thursday => "weekday-4",
        Weekday::Friday => "weekday-5",
        Weekday::Saturday => "weekday-6",
        Weekday::Sunday => "weekday-7",
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use values::kind::AppLanguage;

    use super::*;

    #[test]
    fn visit_is_named_by_day_and_time_of_day() {
        let now = Timestamp::parse("2025-11-22T09:30:00Z").unwrap();
        let locale = Locale { language: AppLanguage::English, is_pseudo: false, zone: TimeZone::UTC, now };
        let words = |at: &str| visit_words(&locale, Timestamp::parse(at).unwrap());

        assert_eq!(words("2025-11-20T19:00:00Z"), "Thursday evening");
        assert_eq!(words("2025-11-22T07:05:00Z"), "today, 07:05");
        assert_eq!(words("2025-11-01T07:05:00Z"), "1 Nov, 07:05");
    }
}
