//! Feeds, and pages that name them: RSS, Atom and JSON Feed become one bounded type, each entry with plain text.
//!
//! [`read_feed`] distinguishes feeds from pages; [`repair`] corrects common faults; [`item`] reads an entry; [`text_construct`] renders
//! titles and contents; [`links`] finds the feeds that a page names; [`opml`] reads lists of feeds; [`date`] reads dates.

mod date;
mod item;
mod json;
mod links;
mod opml;
mod repair;
#[cfg(test)]
mod tests;
mod text_construct;
mod web_links;

use chrono::DateTime;
use feed_rs::model::{self, FeedType};
use feed_rs::parser::Builder;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::html::{MAX_NAME_CHARS, clean_line};
use item::SizeBudget;
use web_links::{is_page, resolve_url};

pub use item::{Enclosure, Item};
pub use links::FeedLink;
pub use opml::{OpmlDocument, Outline, read_opml};

/// The most entries of a feed that are kept, the newest.
pub const MAX_ITEMS: usize = 200;
/// Bytes of all texts of a feed together; further entries keep only their summary.
const MAX_TEXT_BYTES: usize = 6 << 20;
/// Bytes of all HTML of a feed together; further entries keep only their text.
const MAX_HTML_BYTES: usize = 6 << 20;

/// The document that a URL returned where a feed was expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedDocument {
    /// A feed in RSS, Atom or JSON Feed.
    Feed(Box<Feed>),
    /// Something else, such as a page, with the feeds that it names.
    Page(Vec<FeedLink>),
    /// It begins like a feed, but cannot be parsed.
    Malformed,
}

/// A feed, with everything bounded and converted to plain text or safe HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feed {
    /// Its media type, by its content rather than by the header.
    pub media_type: String,
    /// Its title; at most 300 characters.
    pub title: Option<String>,
    /// The page that it belongs to, `http` or `https`; `None` if that is the feed itself.
    pub site_url: Option<String>,
    /// How long the feed may be cached, in minutes (RSS 2.0, `ttl`); `None` if it does not say.
    pub ttl_minutes: Option<u32>,
    /// Its WebSub hub, `http` or `https` (WebSub, section 4).
    #[serde(default)]
    pub hub: Option<String>,
    /// Its own URL (`rel="self"`), `http` or `https`.
    #[serde(default)]
    pub own: Option<String>,
    /// Its newest entries, [`MAX_ITEMS`] at most, in the feed's own order.
    pub items: Vec<Item>,
}

/// Bytes in which the first element is searched.
const SNIFF_BYTES: usize = 4096;

/// Reads what `url` returned. Relative URLs are resolved against it.
pub fn read_feed(bytes: &[u8], url: &str) -> FeedDocument {
    let Ok(base) = Url::parse(url) else { return FeedDocument::Page(Vec::new()) };
    let text = repair::decode_bom(bytes);
    // Each repair is tried only if the feed cannot be parsed without it, because it could damage a valid feed.
    let feed = parse(text.trim_ascii_start(), url).or_else(|| {
        let repaired = repair::repair(&text)?;
        parse(&repaired, url).or_else(|| parse(&repair::escape_markup(&repaired)?, url))
    });
    match feed {
        Some(feed) if feed.feed_type == FeedType::JSON => {
            let (hub, own) = json::hub_and_self(&text, &base);
            FeedDocument::Feed(Box::new(Feed { hub, own, ..convert(feed, &base) }))
        }
        Some(feed) => FeedDocument::Feed(Box::new(convert(feed, &base))),
        None if begins_as_feed(&text) => FeedDocument::Malformed,
        // Lossy: the addresses of feeds are ASCII, whatever the encoding of the page.
        None => FeedDocument::Page(links::find_links(&String::from_utf8_lossy(&text), &base)),
    }
}

/// Returns whether the first element is that of a feed in XML.
fn begins_as_feed(text: &[u8]) -> bool {
    let head = String::from_utf8_lossy(text.get(..SNIFF_BYTES).unwrap_or(text)).to_ascii_lowercase();
    let mut rest = head.as_str();
    while let Some((_, tag)) = rest.split_once('<') {
        if tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let name = tag.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next();
            return name.is_some_and(|name| ["rss", "feed", "rdf:rdf"].contains(&name));
        }
        // Elements in comments are ignored.
        let end = if tag.starts_with("!--") { "-->" } else { ">" };
        rest = tag.split_once(end).map_or("", |(_, behind)| behind);
    }
    false
}

fn parse(bytes: &[u8], url: &str) -> Option<model::Feed> {
    let parser = Builder::new()
        .base_uri(Some(url))
        // An id that is made up from link and title would change with the title: the item's own rule decides.
        .id_generator(|_, _, _| String::new())
        .timestamp_parser(|text| DateTime::from_timestamp_millis(date::parse_millis(text)?))
        .build();
    parser.parse(bytes).ok()
}

fn convert(feed: model::Feed, base: &Url) -> Feed {
    let kind = feed.feed_type;
    let title = feed
        .title
        .as_ref()
        .and_then(|title| clean_line(&text_construct::title_text(title, &kind), MAX_NAME_CHARS));
    let site = feed.links.iter().filter(|link| is_page(link)).find_map(|link| resolve_url(&link.href, base));
    let named = |rel: &str| {
        let mut links = feed.links.iter().filter(|link| link.rel.as_deref() == Some(rel));
        links.find_map(|link| resolve_url(&link.href, base))
    };
    let (hub, own) = (named("hub"), named("self"));
    let authors = feed.authors;
    let entries = newest(feed.entries);
    // In the feed's order, so that the entries that come first, mostly the newest, keep their texts.
    let mut budget = SizeBudget { text: MAX_TEXT_BYTES, html: MAX_HTML_BYTES };
    let mut all: Vec<Item> =
        entries.into_iter().map(|entry| item::read_item(entry, &kind, &authors, base, &mut budget)).collect();
    item::assign_keys(&mut all);
    let mut items: Vec<Item> = Vec::with_capacity(all.len());
    for item in all {
        // Some feeds repeat an entry under a new id. Entries that share their URL alone may be different.
        let is_same = |other: &Item| {
            other.key == item.key
                || (other.url.is_some()
                    && (&other.url, &other.title, &other.text) == (&item.url, &item.title, &item.text))
        };
        // Quadratic, but there are at most `MAX_ITEMS` entries.
        if !items.iter().any(is_same) {
            items.push(item);
        }
    }
    Feed {
        media_type: media_type(&kind).to_owned(),
        title,
        // Feeds without a page state their own URL as their site.
        site_url: site.filter(|site| site != base.as_str()),
        ttl_minutes: feed.ttl,
        hub,
        own,
        items,
    }
}

/// Returns the newest entries. Most feeds are sorted newest first, so only a feed that is too long is sorted by date.
fn newest(mut entries: Vec<model::Entry>) -> Vec<model::Entry> {
    if entries.len() > MAX_ITEMS {
        // Entries without a date are the oldest here.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.published.or(entry.updated)));
        entries.truncate(MAX_ITEMS);
    }
    entries
}

fn media_type(kind: &FeedType) -> &'static str {
    match kind {
        FeedType::Atom => "application/atom+xml",
        FeedType::JSON => "application/feed+json",
        FeedType::RSS0 | FeedType::RSS1 | FeedType::RSS2 => "application/rss+xml",
    }
}
