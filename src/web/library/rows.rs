//! A bookmark as a row or a card of a list.

use actors::operations::bookmarks::BookmarkView;
use actors::operations::collections::CollectionNode;
use actors::operations::reading::picture_address;
use url::form_urlencoded::byte_serialize;
use values::id::UserId;
use values::kind::{BookmarkKind, ContentType, DocumentStatus};
use values::time::Timestamp;

use crate::web::filters::visible_text;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::places::kind_icon;
use crate::web::reading_time::{minutes_left, reading_minutes};

/// Days for which a save counts as one of this week.
const RECENT_DAYS: i64 = 7;
const DAY_MILLIS: i64 = 86_400_000;
/// What stands before the name of a collection for each in which it is nested: an em space.
const INDENT: &str = "\u{2003}";

/// A bookmark in a list.
#[derive(Clone, Debug)]
pub struct LibraryRow {
    /// The bookmark.
    pub bookmark: BookmarkView,
    /// The heading above the row, if it begins another period than the row before.
    pub heading: Option<String>,
    /// The address of its picture on this server, for cards.
    pub picture: Option<String>,
    /// Words that the user reads in a minute.
    words_per_minute: i32,
}

impl LibraryRow {
    /// Makes the rows of a page. `is_by_saving` puts a heading before each period.
    pub fn of_page(bookmarks: Vec<BookmarkView>, is_by_saving: bool, request: &PageRequest) -> Vec<Self> {
        let mut last = None;
        let mut row = |bookmark: BookmarkView| {
            let period = is_by_saving.then(|| period(bookmark.saved_at, request.locale()));
            let heading = if period == last { None } else { period.clone() };
            last = period;
            Self { heading, ..Self::of_one(bookmark, request) }
        };
        bookmarks.into_iter().map(&mut row).collect()
    }

    /// Makes the row of one bookmark.
    pub fn of_one(bookmark: BookmarkView, request: &PageRequest) -> Self {
        let words_per_minute = request.viewer.settings.reading.words_per_minute;
        Self { bookmark, heading: None, picture: None, words_per_minute }
    }

    /// Adds the address of the picture that the page names, for its owner.
    #[must_use]
    pub fn with_picture(mut self, owner: UserId) -> Self {
        let url = self.bookmark.image_url.as_deref();
        self.picture = url.map(|url| picture_address(owner, self.bookmark.document_id, url));
        self
    }

    /// The address of the reader.
    pub fn href(&self) -> String {
        format!("/read/{}", self.bookmark.document_id)
    }

    /// The name of the icon of the type.
    pub fn icon(&self) -> &'static str {
        kind_icon(self.bookmark.content_type)
    }

    /// The host of a page without `www.`; empty for an upload.
    pub fn site(&self) -> String {
        match self.bookmark.kind {
            BookmarkKind::Page => site_of(&self.bookmark.url),
            BookmarkKind::Upload => String::new(),
        }
    }

    /// The title, or what stands for an empty one: the URL.
    pub fn shown_title(&self) -> String {
        let title = self.bookmark.title.trim();
        visible_text(if title.is_empty() { &self.bookmark.url } else { title })
    }

    /// The part that was read, as a whole percentage.
    #[expect(clippy::cast_possible_truncation, reason = "a percentage is small")]
    pub fn percent(&self) -> i64 {
        (self.bookmark.progress * 100.0).round() as i64
    }

    /// Minutes that the text takes to read; `None` for a recording, or without a text.
    pub fn minutes(&self) -> Option<i64> {
        let is_text = match self.bookmark.content_type {
            ContentType::Article | ContentType::Pdf | ContentType::Note => true,
            ContentType::Audio | ContentType::Video => false,
        };
        let words = self.bookmark.word_count.filter(|words| is_text && *words > 0)?;
        Some(reading_minutes(words, self.words_per_minute))
    }

    /// Minutes that are left to read, once it was begun.
    pub fn minutes_left(&self) -> Option<i64> {
        let minutes = self.minutes().filter(|_| self.is_started())?;
        Some(minutes_left(minutes, self.bookmark.progress))
    }

    /// Whether it was begun and not read to the end.
    pub fn is_started(&self) -> bool {
        self.bookmark.progress > 0.0 && self.bookmark.progress < 1.0
    }

    /// Whether its text is being made.
    pub fn is_processing(&self) -> bool {
        self.bookmark.status == DocumentStatus::Processing
    }

    /// Whether the last attempt to make its text failed.
    pub fn is_failed(&self) -> bool {
        self.bookmark.status == DocumentStatus::Failed
    }

    /// Whether content can be pasted: its page could not be fetched.
    pub fn can_paste(&self) -> bool {
        self.is_failed() && self.bookmark.content_type == ContentType::Article
    }

    /// The key of what is done while its text is being made.
    pub fn work_key(&self) -> &'static str {
        match self.bookmark.content_type {
            ContentType::Audio | ContentType::Video => "library-state-transcribing",
            ContentType::Pdf => "library-state-reading",
            ContentType::Article | ContentType::Note => "library-state-fetching",
        }
    }

    /// The tags with the addresses of their lists.
    pub fn tags(&self) -> Vec<(String, String)> {
        self.bookmark.tags.iter().map(|tag| (visible_text(tag), tag_href(tag))).collect()
    }

    /// What the script filters and reads: the id.
    pub fn id(&self) -> String {
        self.bookmark.bookmark_id.to_string()
    }
}

/// Returns the name of a collection as an option of a list shows it, indented by its depth.
pub fn indented_name(node: &CollectionNode) -> String {
    format!("{}{}", INDENT.repeat(node.depth), visible_text(&node.collection.name))
}

/// Returns the address of the list of a tag.
pub fn tag_href(tag: &str) -> String {
    format!("/library?tag={}", byte_serialize(tag.as_bytes()).collect::<String>())
}

/// Returns the host of a URL without `www.`; empty if it has none.
pub fn site_of(url: &str) -> String {
    let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.map(|host| host.strip_prefix("www.").map_or(host.clone(), str::to_owned)).unwrap_or_default()
}

/// Returns the key of the name of a type.
pub fn type_key(kind: ContentType) -> &'static str {
    match kind {
        ContentType::Article => "library-type-article",
        ContentType::Pdf => "library-type-pdf",
        ContentType::Audio => "library-type-audio",
        ContentType::Video => "library-type-video",
        ContentType::Note => "library-type-note",
    }
}

/// Returns the name of the period in which a bookmark was saved: this week, the rest of this month, or another month.
fn period(saved_at: Timestamp, locale: &Locale) -> String {
    let start = locale.start_of_day(locale.now).millis().saturating_sub((RECENT_DAYS - 1) * DAY_MILLIS);
    let month = locale.month(saved_at);
    if saved_at.millis() >= start {
        locale.t("library-this-week")
    } else if month == locale.month(locale.now) {
        locale.t("library-this-month")
    } else {
        month
    }
}
