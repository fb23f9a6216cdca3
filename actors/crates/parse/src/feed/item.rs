//! One entry of a feed.

use std::collections::HashMap;

use feed_rs::model::{Entry, FeedType, Link, Person};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use super::text_construct;
use super::web_links::{is_page, resolve_url};
use crate::html::{Heading, MAX_NAME_CHARS, Rendition, clean_line, truncate};

/// Maximum length of a summary, in characters.
const MAX_SUMMARY_CHARS: usize = 500;
/// Maximum length of a title that is derived from an entry's text, in characters.
const MAX_DERIVED_TITLE_CHARS: usize = 80;
/// A longer description, in characters, is the whole content of an entry, unless it ends in dots.
const MIN_COMPLETE_CHARS: usize = 1_500;
/// The last words of a text that continues elsewhere.
const CONTINUATION_PHRASES: [&str; 6] =
    ["continue reading", "read more", "read the rest", "weiterlesen", "lire la suite", "leer más"];
/// Maximum length of the text of one entry, in characters.
const MAX_TEXT_CHARS: usize = 500_000;

/// An entry of a feed, as the feed describes it; its page is not fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Identifies it among the entries of its feed: its id, else its URL, with its title and its date or a digest of its text
    /// if that is not unique.
    pub key: String,
    /// The URL of its page, `http` or `https`.
    pub url: Option<String>,
    /// Its title, or its first words; at most 300 characters.
    pub title: String,
    /// Its authors, separated by `; `; at most 300 characters.
    pub author: Option<String>,
    /// Its summary; at most 500 characters.
    pub summary: Option<String>,
    /// Its content as plain text; its summary or its title if the feed has no content of it.
    pub text: String,
    /// The same text as HTML that is safe to show; `None` for plain text, or if the feed has too much HTML.
    #[serde(default)]
    pub html: Option<String>,
    /// The headings of its content, with offsets in `text`.
    #[serde(default)]
    pub outline: Vec<Heading>,
    /// Whether the feed has all of its content, rather than a teaser.
    pub whole: bool,
    /// When it was published, in milliseconds of the Unix epoch.
    pub published_at: Option<i64>,
    /// Its first recording; `None` if it has neither audio nor video.
    pub enclosure: Option<Enclosure>,
}

/// The recording of an entry; what a feed attaches otherwise is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enclosure {
    /// Its URL, `http` or `https`.
    pub url: String,
    /// Its media type, as the feed states it, or by its extension if that is missing or generic.
    pub media_type: Option<String>,
    /// Its length in bytes, as the feed states it, unchecked.
    pub bytes: Option<i64>,
}

/// Reads an entry. Its text and HTML are taken from `budget`.
pub fn read_item(
    entry: Entry,
    kind: &FeedType,
    authors: &[Person],
    base: &Url,
    budget: &mut SizeBudget,
) -> Item {
    let url = page(&entry, base);
    let own = url.as_deref().and_then(|url| Url::parse(url).ok());
    // Relative links of a content are meant from the page of the entry, which may be on another host than the feed.
    let own = own.as_ref().unwrap_or(base);
    let content = content(&entry, own);
    let described = description(&entry, own);
    let enclosure = enclosure(&entry, base);
    let summary =
        described.as_ref().or(content.as_ref()).and_then(|found| clean_line(&found.text, MAX_SUMMARY_CHARS));
    let whole = has_whole_content(content.as_ref(), described.as_ref());
    let title = stated_title(&entry, kind)
        .or_else(|| clean_line(&content.as_ref().or(described.as_ref())?.text, MAX_DERIVED_TITLE_CHARS))
        .or_else(|| url.clone().map(|url| truncate(&url, MAX_NAME_CHARS)))
        .unwrap_or_else(|| "Untitled".to_owned());
    // After title and summary were taken: an entry over the budget keeps both.
    let (found, fits) = fit_budget(content.or(described), budget);
    let Rendition { text, html, outline } = found.unwrap_or_else(|| Rendition {
        text: summary.clone().unwrap_or_else(|| title.clone()),
        ..Rendition::default()
    });
    // The summary that stands for a text counts too, so the sum of all texts is bounded.
    budget.text = budget.text.saturating_sub(text.len());
    // Atom requires only `updated` (RFC 4287, section 4.1.2).
    let published = entry.published.or(entry.updated).map(|moment| moment.timestamp_millis());
    Item {
        key: entry.id.trim().to_owned(),
        author: names(&entry.authors).or_else(|| names(authors)),
        whole: whole && fits,
        url,
        title,
        summary,
        text,
        html,
        outline,
        published_at: published,
        enclosure,
    }
}

/// Returns the content element of an entry, if it has any text.
fn content(entry: &Entry, own: &Url) -> Option<Rendition> {
    let content = entry.content.as_ref()?;
    let body = content.body.as_deref()?;
    let found = text_construct::render_content(body, content.content_type.as_str(), own);
    (!found.text.is_empty()).then_some(found)
}

/// Returns the description of an entry, or else that of its video, if it has any text.
fn description(entry: &Entry, own: &Url) -> Option<Rendition> {
    let described = entry
        .summary
        .as_ref()
        .map(|text| text_construct::render_content(&text.content, text.content_type.as_str(), own));
    described.filter(|found| !found.text.is_empty()).or_else(|| media_description(entry, own))
}

fn stated_title(entry: &Entry, kind: &FeedType) -> Option<String> {
    let title = entry.title.as_ref()?;
    clean_line(&text_construct::title_text(title, kind), MAX_NAME_CHARS)
}

/// Returns whether the feed has all of the content of an entry.
fn has_whole_content(content: Option<&Rendition>, description: Option<&Rendition>) -> bool {
    match (content, description) {
        // A content element says that it is the whole; a description may be either, so it must be long.
        (Some(content), _) => !is_teaser(&content.text),
        (None, Some(description)) => is_whole(&description.text),
        (None, None) => false,
    }
}

/// Bytes left for the texts of a feed, and for their HTML.
pub struct SizeBudget {
    /// Bytes that further texts may take.
    pub text: usize,
    /// Bytes that further HTML may take.
    pub html: usize,
}

/// Returns what fits the budget, and whether that is all of it. HTML is dropped before text.
fn fit_budget(found: Option<Rendition>, budget: &mut SizeBudget) -> (Option<Rendition>, bool) {
    let Some(Rendition { text, html, outline }) = found else { return (None, true) };
    let kept = truncate(&text, MAX_TEXT_CHARS);
    if kept.len() > budget.text {
        return (None, false);
    }
    // HTML of a text that is cut would show words that the text does not have.
    let html = html.filter(|html| kept.len() == text.len() && html.len() <= budget.html);
    budget.html -= html.as_ref().map_or(0, String::len);
    (Some(Rendition { text: kept, html, outline }), true)
}

/// Assigns keys to entries without an id: the URL; if it is missing or not unique, with the title and the time, or a digest of the
/// text if there is no time.
pub fn assign_keys(items: &mut [Item]) {
    let mut count: HashMap<String, usize> = HashMap::new();
    for url in items.iter().filter(|item| item.key.is_empty()).filter_map(|item| item.url.clone()) {
        *count.entry(url).or_default() += 1;
    }
    for item in items.iter_mut().filter(|item| item.key.is_empty()) {
        // The time before the text: an entry whose text is corrected keeps its key.
        let distinction = item.published_at.map_or_else(|| digest(&item.text), |at| at.to_string());
        let url = item.url.clone().unwrap_or_default();
        item.key = match count.get(&url) {
            // A URL that several entries share, such as that of a page of changes, identifies none of them.
            Some(1) => url,
            Some(_) | None => format!("{url}\n{}\n{distinction}", item.title),
        };
    }
}

fn digest(text: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(text.as_bytes()))
}

fn is_whole(text: &str) -> bool {
    text.chars().nth(MIN_COMPLETE_CHARS).is_some() && !ends_early(text)
}

/// Returns whether the content of an entry is only a teaser that refers to the full text.
fn is_teaser(text: &str) -> bool {
    text.chars().nth(MIN_COMPLETE_CHARS).is_none() && ends_early(text)
}

fn ends_early(text: &str) -> bool {
    // Dots and links to the rest often stand in brackets or end with an arrow.
    let text = text.trim_end().trim_end_matches([']', ')', '→', '»', '>']).trim_end();
    let last = text.lines().next_back().unwrap_or_default().trim().to_lowercase();
    let continues = CONTINUATION_PHRASES.iter().any(|more| last.ends_with(more));
    text.ends_with('…') || text.ends_with("...") || continues
}

/// Returns the URL of the page: the link, or else the id if it is a URL, or else the recording.
fn page(entry: &Entry, base: &Url) -> Option<String> {
    let linked = entry.links.iter().filter(|link| is_page(link) && !is_recording(link));
    // RSS calls an id that is a URL a permalink (`isPermaLink`).
    let by_id = || Url::parse(entry.id.trim()).ok().and_then(|id| resolve_url(id.as_str(), base));
    linked
        .filter_map(|link| resolve_url(&link.href, base))
        .next()
        .or_else(by_id)
        .or_else(|| enclosure(entry, base).map(|found| found.url))
}

fn is_recording(link: &Link) -> bool {
    let is_named = link.media_type.as_deref().is_some_and(|said| {
        is_audio_or_video(said)
            || said.ends_with("/octet-stream") && media_type_by_extension(&link.href).is_some()
    });
    link.rel.as_deref() == Some("enclosure") || is_named
}

fn is_audio_or_video(media_type: &str) -> bool {
    let said = media_type.trim().to_ascii_lowercase();
    said.starts_with("audio/") || said.starts_with("video/")
}

/// Returns the first recording: an enclosure in RSS, a link in Atom and JSON Feed.
fn enclosure(entry: &Entry, base: &Url) -> Option<Enclosure> {
    let contents = entry.media.iter().flat_map(|media| &media.content).filter_map(|content| {
        Some(Enclosure {
            url: resolve_url(content.url.as_ref()?.as_str(), base)?,
            media_type: content.content_type.as_ref().map(|kind| kind.as_str().to_owned()),
            bytes: content.size.and_then(|size| i64::try_from(size).ok()),
        })
    });
    let links = entry.links.iter().filter(|link| is_recording(link)).filter_map(|link| {
        Some(Enclosure {
            url: resolve_url(&link.href, base)?,
            media_type: link.media_type.clone(),
            bytes: link.length.and_then(|length| i64::try_from(length).ok()),
        })
    });
    // A type that is missing or generic is replaced by that of the extension.
    let mut all = contents.chain(links).map(|found| match &found.media_type {
        Some(said) if is_audio_or_video(said) => found,
        Some(_) | None => {
            Enclosure { media_type: media_type_by_extension(&found.url).map(str::to_owned), ..found }
        }
    });
    all.find(|found| found.media_type.as_deref().is_some_and(is_audio_or_video))
}

/// Returns the media type for the extension of a URL, for feeds that state no type or a generic one.
fn media_type_by_extension(address: &str) -> Option<&'static str> {
    let path = Url::parse(address).ok()?.path().to_ascii_lowercase();
    let (_, ending) = path.rsplit_once('.')?;
    match ending {
        "mp3" => Some("audio/mpeg"),
        "m4a" | "m4b" | "aac" => Some("audio/mp4"),
        "ogg" | "oga" | "opus" => Some("audio/ogg"),
        "flac" => Some("audio/flac"),
        "wav" => Some("audio/wav"),
        "mp4" | "m4v" => Some("video/mp4"),
        "webm" => Some("video/webm"),
        "mov" => Some("video/quicktime"),
        "mkv" => Some("video/x-matroska"),
        _ => None,
    }
}

/// Returns the description of a video (Media RSS).
fn media_description(entry: &Entry, own: &Url) -> Option<Rendition> {
    let described = entry.media.iter().find_map(|media| media.description.as_ref())?;
    let found = text_construct::render_content(&described.content, described.content_type.as_str(), own);
    (!found.text.is_empty()).then_some(found)
}

fn names(people: &[Person]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for person in people {
        let Some(name) = person.name.as_deref().and_then(|name| clean_line(name, MAX_NAME_CHARS)) else {
            continue;
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    clean_line(&names.join("; "), MAX_NAME_CHARS)
}
