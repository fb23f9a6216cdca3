//! The feeds that a page names in its head.

use serde::{Deserialize, Serialize};
use trafilatura::dom::Document;
use url::Url;

use super::web_links::resolve_url;
use crate::html::{MAX_NAME_CHARS, clean_line, is_buildable};

/// The most feeds of a page that are listed.
const MAX_LINKS: usize = 20;

/// Media types of feeds. Plain `application/json` is not among them: pages use it for other things.
const FEED_MEDIA_TYPES: &[&str] = &[
    "application/rss+xml",
    "application/atom+xml",
    "application/feed+json",
    "application/rdf+xml",
    "application/xml",
    "text/xml",
];

/// A feed that a page names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedLink {
    /// Its absolute URL, `http` or `https`.
    pub url: String,
    /// Its title on the page.
    pub title: Option<String>,
    /// Its media type, as the page states it.
    pub media_type: String,
}

/// Returns the feeds that a page names, those of its comments last.
pub fn find_links(html: &str, url: &Url) -> Vec<FeedLink> {
    // The page is checked before a tree is built from it, like every page.
    if !is_buildable(html) {
        return Vec::new();
    }
    let page = Document::parse(html);
    let base = base(&page, url);
    let mut found: Vec<FeedLink> = Vec::new();
    for element in page.get_elements_by_tag_name(page.root(), "link") {
        let attribute = |name| page.get_attribute(element, name).unwrap_or_default();
        let rel = attribute("rel").to_ascii_lowercase();
        // The type may have parameters, such as `charset`.
        let kind = attribute("type").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_feed = rel.split_whitespace().any(|word| word == "alternate" || word == "feed");
        let Some(url) = resolve_url(&attribute("href"), &base)
            .filter(|_| is_feed && FEED_MEDIA_TYPES.contains(&kind.as_str()))
        else {
            continue;
        };
        if found.len() < MAX_LINKS && !found.iter().any(|other| other.url == url) {
            found.push(FeedLink {
                url,
                title: clean_line(&attribute("title"), MAX_NAME_CHARS),
                media_type: kind,
            });
        }
    }
    // A stable sort: otherwise the order of the page stays, in which the main feed is usually first.
    found.sort_by_key(is_of_comments);
    found
}

fn is_of_comments(link: &FeedLink) -> bool {
    let title = link.title.as_deref().unwrap_or_default().to_lowercase();
    title.contains("comments") || link.url.trim_end_matches('/').ends_with("/comments/feed")
}

fn base(page: &Document, url: &Url) -> Url {
    let stated = page.get_elements_by_tag_name(page.root(), "base").into_iter().next();
    let stated = stated.and_then(|element| page.get_attribute(element, "href"));
    stated.and_then(|href| url.join(&href).ok()).unwrap_or_else(|| url.clone())
}
