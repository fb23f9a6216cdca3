//! One entry of a feed.

use std::collections::HashMap;

use feed_rs::model::{Entry, FeedType, Link, Person};
use sha2::{Digest, Sha256};
use text::hexadecimal;
use url::Url;

use super::{Enclosure, Item, address, is_page, words};
use crate::html::{MAX_NAME_CHARS, Rendition, clean_line, truncate};

/// Summaries are cut here, in characters.
const SUMMARY: usize = 500;
/// The first words of an entry that has no title.
const FIRST_WORDS: usize = 80;
/// A description of so many characters is the whole of an entry, unless it ends in dots.
const WHOLE: usize = 1_500;
/// What the last line of a text ends with that goes on elsewhere.
const MORE: [&str; 6] =
    ["continue reading", "read more", "read the rest", "weiterlesen", "lire la suite", "leer más"];
/// The longest text of one entry, in characters.
const TEXT: usize = 500_000;

/// Reads an entry; `left` is what the feed may still have.
pub fn of(entry: Entry, kind: &FeedType, authors: &[Person], base: &Url, left: &mut Left) -> Item {
    let url = page(&entry, base);
    let own = url.as_deref().and_then(|url| Url::parse(url).ok());
    let own = own.as_ref().unwrap_or(base);
    let content = entry.content.as_ref().and_then(|content| {
        let found = words::of_content(content.body.as_deref()?, content.content_type.as_str(), own);
        (!found.text.is_empty()).then_some(found)
    });
    let described =
        entry.summary.as_ref().map(|text| words::of_content(&text.content, text.content_type.as_str(), own));
    let described = described.filter(|found| !found.text.is_empty()).or_else(|| media_words(&entry, own));
    let given =
        entry.title.as_ref().and_then(|title| clean_line(&words::of_title(title, kind), MAX_NAME_CHARS));
    let enclosure = enclosure(&entry, base);
    let summary = described.as_ref().or(content.as_ref()).and_then(|found| clean_line(&found.text, SUMMARY));
    let whole = match (&content, &described) {
        (Some(content), _) => !is_teaser(&content.text),
        (None, described) => described.as_ref().is_some_and(|found| is_whole(&found.text)),
    };
    let title = given
        .or_else(|| clean_line(&content.as_ref().or(described.as_ref())?.text, FIRST_WORDS))
        .or_else(|| url.clone().map(|url| truncate(&url, MAX_NAME_CHARS)))
        .unwrap_or_else(|| "Untitled".to_owned());
    let (found, fits) = bounded(content.or(described), left);
    let Rendition { text, html, outline } = found.unwrap_or_else(|| Rendition {
        text: summary.clone().unwrap_or_else(|| title.clone()),
        ..Rendition::default()
    });
    left.text = left.text.saturating_sub(text.len());
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

/// Bytes that the texts of one feed may still have, and their HTML.
pub struct Left {
    /// Of text.
    pub text: usize,
    /// Of HTML.
    pub html: usize,
}

/// What there is room for, and whether that is all of it. HTML is left before a text is.
fn bounded(found: Option<Rendition>, left: &mut Left) -> (Option<Rendition>, bool) {
    let Some(Rendition { text, html, outline }) = found else { return (None, true) };
    let kept = truncate(&text, TEXT);
    if kept.len() > left.text {
        return (None, false);
    }
    let html = html.filter(|html| kept.len() == text.len() && html.len() <= left.html);
    left.html -= html.as_ref().map_or(0, String::len);
    (Some(Rendition { text: kept, html, outline }), true)
}

/// Gives a key to those that have no id: the address; where several have the same, or there is none, with the title and the
/// time, else all that it says.
pub fn name_all(items: &mut [Item]) {
    let mut count: HashMap<String, usize> = HashMap::new();
    for url in items.iter().filter(|item| item.key.is_empty()).filter_map(|item| item.url.clone()) {
        *count.entry(url).or_default() += 1;
    }
    for item in items.iter_mut().filter(|item| item.key.is_empty()) {
        let told = item.published_at.map_or_else(|| digest(&item.text), |at| at.to_string());
        let url = item.url.clone().unwrap_or_default();
        item.key = match count.get(&url) {
            Some(1) => url,
            Some(_) | None => format!("{url}\n{}\n{told}", item.title),
        };
    }
}

fn digest(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn is_whole(text: &str) -> bool {
    text.chars().nth(WHOLE).is_some() && !ends_early(text)
}

/// Whether what a feed gives as the content is a short piece of it that says so.
fn is_teaser(text: &str) -> bool {
    text.chars().nth(WHOLE).is_none() && ends_early(text)
}

fn ends_early(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches([']', ')', '→', '»', '>']).trim_end();
    let last = text.lines().next_back().unwrap_or_default().trim().to_lowercase();
    let goes_on = MORE.iter().any(|more| last.ends_with(more));
    text.ends_with('…') || text.ends_with("...") || goes_on
}

/// Its own page; else the id, where that is an address; else the recording.
fn page(entry: &Entry, base: &Url) -> Option<String> {
    let linked = entry.links.iter().filter(|link| is_page(link) && !is_recording(link));
    let by_id = || Url::parse(entry.id.trim()).ok().and_then(|id| address(id.as_str(), base));
    linked
        .filter_map(|link| address(&link.href, base))
        .next()
        .or_else(by_id)
        .or_else(|| enclosure(entry, base).map(|there| there.url))
}

fn is_recording(link: &Link) -> bool {
    let is_named = link.media_type.as_deref().is_some_and(|said| {
        is_sound_or_film(said) || said.ends_with("/octet-stream") && by_ending(&link.href).is_some()
    });
    link.rel.as_deref() == Some("enclosure") || is_named
}

fn is_sound_or_film(media_type: &str) -> bool {
    let said = media_type.trim().to_ascii_lowercase();
    said.starts_with("audio/") || said.starts_with("video/")
}

/// The first recording: RSS has it as an enclosure, Atom and JSON Feed as a link.
fn enclosure(entry: &Entry, base: &Url) -> Option<Enclosure> {
    let contents = entry.media.iter().flat_map(|media| &media.content).filter_map(|content| {
        Some(Enclosure {
            url: address(content.url.as_ref()?.as_str(), base)?,
            media_type: content.content_type.as_ref().map(|kind| kind.as_str().to_owned()),
            bytes: content.size.and_then(|size| i64::try_from(size).ok()),
        })
    });
    let links = entry.links.iter().filter(|link| is_recording(link)).filter_map(|link| {
        Some(Enclosure {
            url: address(&link.href, base)?,
            media_type: link.media_type.clone(),
            bytes: link.length.and_then(|length| i64::try_from(length).ok()),
        })
    });
    let mut all = contents.chain(links).map(|found| match &found.media_type {
        Some(said) if is_sound_or_film(said) => found,
        Some(_) | None => Enclosure { media_type: by_ending(&found.url).map(str::to_owned), ..found },
    });
    all.find(|found| found.media_type.as_deref().is_some_and(is_sound_or_film))
}

/// What the end of an address says, where the feed names no type, or one that leaves it open.
fn by_ending(address: &str) -> Option<&'static str> {
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

/// What a film's entry says of it (Media RSS).
fn media_words(entry: &Entry, own: &Url) -> Option<Rendition> {
    let described = entry.media.iter().find_map(|media| media.description.as_ref())?;
    let found = words::of_content(&described.content, described.content_type.as_str(), own);
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
