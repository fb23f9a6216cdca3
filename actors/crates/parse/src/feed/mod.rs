//! Feeds and pages that name them: RSS, Atom and JSON Feed become one shape, bounded, with the text of
//! each entry made plain.
//!
//! [`read`] tells a feed from a page; [`item`] reads an entry; [`words`] makes text of markup; [`links`] finds the feeds
//! that a page names; [`opml`] reads lists of feeds; [`date`] reads dates.

mod date;
mod item;
mod json;
mod links;
mod mend;
mod opml;
#[cfg(test)]
mod tests;
mod words;

use chrono::DateTime;
use feed_rs::model::{self, FeedType};
use feed_rs::parser::Builder;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::html::{Heading, MAX_NAME_CHARS, clean_line};
use item::Left;

pub use links::FeedLink;
pub use opml::{Outline, Outlines, read as read_opml};

/// Entries of one fetch that are kept: the newest.
pub const MOST_ITEMS: usize = 200;
/// Bytes of all texts of one feed together; entries beyond keep their summary alone.
const MOST_TEXT: usize = 6 << 20;
/// Bytes of all HTML of one feed together; entries beyond keep their text alone.
const MOST_HTML: usize = 6 << 20;

/// What stands at an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// A feed.
    Feed(Box<Feed>),
    /// Something else, a page perhaps, and the feeds that it names.
    Page(Vec<FeedLink>),
    /// A feed by its first words, which cannot be read.
    Broken,
}

/// A feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feed {
    /// Its media type, by what it turned out to be.
    pub media_type: String,
    /// Its title; at most 300 characters.
    pub title: Option<String>,
    /// The page that it is the feed of, `http` or `https`.
    pub site_url: Option<String>,
    /// Minutes for which it asks not to be fetched again.
    pub ttl_minutes: Option<u32>,
    /// The hub that says when there is something new, `http` or `https` (WebSub, section 4).
    #[serde(default)]
    pub hub: Option<String>,
    /// The address by which it names itself, `http` or `https`.
    #[serde(default)]
    pub own: Option<String>,
    /// Its newest entries, [`MOST_ITEMS`] at most, in the feed's own order.
    pub items: Vec<Item>,
}

/// An entry of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What tells it from the others of its feed: its id there, else its address, else its title, and what it says where that
    /// is not enough.
    pub key: String,
    /// Its page, `http` or `https`.
    pub url: Option<String>,
    /// Its title, or its first words; at most 300 characters.
    pub title: String,
    /// Who wrote it, names parted by `; `; at most 300 characters.
    pub author: Option<String>,
    /// A few words of it; at most 500 characters.
    pub summary: Option<String>,
    /// What the feed gives of it as plain text; its title where that is all there is.
    pub text: String,
    /// The same as HTML that is safe to show.
    #[serde(default)]
    pub html: Option<String>,
    /// Its headings.
    #[serde(default)]
    pub outline: Vec<Heading>,
    /// The feed gives all of it.
    pub whole: bool,
    /// When it was published, in milliseconds of the Unix epoch.
    pub published_at: Option<i64>,
    /// A recording that comes with it.
    pub enclosure: Option<Enclosure>,
}

/// A recording that comes with an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enclosure {
    /// Where it is, `http` or `https`.
    pub url: String,
    /// Its media type, as the feed says.
    pub media_type: Option<String>,
    /// Its length, as the feed says.
    pub bytes: Option<i64>,
}

/// Bytes in which the first element is looked for.
const HEAD: usize = 4096;

/// Reads what came from `url`.
pub fn read(bytes: &[u8], url: &str) -> Reading {
    let Ok(base) = Url::parse(url) else { return Reading::Page(Vec::new()) };
    let text = mend::without_mark(bytes);
    let feed = parsed(text.trim_ascii_start(), url).or_else(|| {
        let mended = mend::mended(&text)?;
        parsed(&mended, url).or_else(|| parsed(&mend::with_plain_words(&mended)?, url))
    });
    match feed {
        Some(feed) if feed.feed_type == FeedType::JSON => {
            let (hub, own) = json::hub_and_own(&text, &base);
            Reading::Feed(Box::new(Feed { hub, own, ..shape(feed, &base) }))
        }
        Some(feed) => Reading::Feed(Box::new(shape(feed, &base))),
        None if begins_as_feed(&text) => Reading::Broken,
        None => Reading::Page(links::of(&String::from_utf8_lossy(&text), &base)),
    }
}

/// Whether the first element is that of a feed in XML.
fn begins_as_feed(text: &[u8]) -> bool {
    let head = String::from_utf8_lossy(text.get(..HEAD).unwrap_or(text)).to_ascii_lowercase();
    let mut rest = head.as_str();
    while let Some((_, tag)) = rest.split_once('<') {
        if tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let name = tag.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next();
            return name.is_some_and(|name| ["rss", "feed", "rdf:rdf"].contains(&name));
        }
        // What stands in a comment is no element.
        let end = if tag.starts_with("!--") { "-->" } else { ">" };
        rest = tag.split_once(end).map_or("", |(_, behind)| behind);
    }
    false
}

fn parsed(bytes: &[u8], url: &str) -> Option<model::Feed> {
    let parser = Builder::new()
        .base_uri(Some(url))
        // An id that is made up from link and title would change with the title: the item's own rule decides.
        .id_generator(|_, _, _| String::new())
        .timestamp_parser(|text| DateTime::from_timestamp_millis(date::millis(text)?))
        .build();
    parser.parse(bytes).ok()
}

fn shape(feed: model::Feed, base: &Url) -> Feed {
    let kind = feed.feed_type;
    let title =
        feed.title.as_ref().and_then(|title| clean_line(&words::of_title(title, &kind), MAX_NAME_CHARS));
    let site = feed.links.iter().filter(|link| is_page(link)).find_map(|link| address(&link.href, base));
    let named = |rel: &str| {
        let mut links = feed.links.iter().filter(|link| link.rel.as_deref() == Some(rel));
        links.find_map(|link| address(&link.href, base))
    };
    let (hub, own) = (named("hub"), named("self"));
    let authors = feed.authors;
    let entries = newest(feed.entries);
    let mut left = Left { text: MOST_TEXT, html: MOST_HTML };
    let mut all: Vec<Item> =
        entries.into_iter().map(|entry| item::of(entry, &kind, &authors, base, &mut left)).collect();
    item::name_all(&mut all);
    let mut items: Vec<Item> = Vec::with_capacity(all.len());
    for item in all {
        let there = |other: &Item| {
            other.key == item.key
                || (other.url.is_some()
                    && (&other.url, &other.title, &other.text) == (&item.url, &item.title, &item.text))
        };
        if !items.iter().any(there) {
            items.push(item);
        }
    }
    Feed {
        media_type: media_type(&kind).to_owned(),
        title,
        site_url: site.filter(|site| site != base.as_str()),
        ttl_minutes: feed.ttl,
        hub,
        own,
        items,
    }
}

/// Feeds mostly stand newest first; one that is too long to keep whole is cut by its dates.
fn newest(mut entries: Vec<model::Entry>) -> Vec<model::Entry> {
    if entries.len() > MOST_ITEMS {
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.published.or(entry.updated)));
        entries.truncate(MOST_ITEMS);
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

/// Whether a link leads to what it stands at: to its page, not to a recording, a hub or itself as a feed.
fn is_page(link: &model::Link) -> bool {
    let feed = link.media_type.as_deref().is_some_and(|kind| kind.contains("rss") || kind.contains("atom"));
    link.target.is_none() && !feed && matches!(link.rel.as_deref(), None | Some("alternate" | ""))
}

/// The longest address that is kept (contract.md, 11: v1).
const ADDRESS: usize = 8_192;

/// A whole address of the web.
fn address(stated: &str, base: &Url) -> Option<String> {
    let stated = stated.trim();
    let url = base.join(stated).ok()?;
    let fits = matches!(url.scheme(), "http" | "https") && url.has_host() && url.as_str().len() <= ADDRESS;
    (fits && !stated.is_empty()).then(|| url.into())
}
