//! The article of a page.

use serde::{Deserialize, Serialize};

use super::rendition::Heading;

/// The article of a page with its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Article {
    /// The title, without the site's name; at most 300 characters.
    pub title: Option<String>,
    /// Its authors, separated by `; `; at most 300 characters.
    pub author: Option<String>,
    /// The site's name; at most 300 characters.
    pub site_name: Option<String>,
    /// When it was published: a date, or a time with its offset, as in RFC 3339.
    pub published_at: Option<String>,
    /// The page's description of itself; at most 2,000 characters.
    pub description: Option<String>,
    /// The URL of the page's picture, `http` or `https`.
    pub image_url: Option<String>,
    /// The language code, such as `en` or `pt`.
    pub language: Option<String>,
    /// The canonical URL of the page, `http` or `https`.
    pub canonical_url: Option<String>,
    /// The target of a redirect by `http-equiv="refresh"`, `http` or `https`.
    pub moved_to: Option<String>,
    /// The headings of the text, in order; at most 2,000.
    pub outline: Vec<Heading>,
    /// Plain text in NFC: paragraphs and headings with an empty line between them, list items and table rows one to a line. Empty
    /// only if there is a title or a redirect.
    #[serde(skip)]
    pub text: String,
    /// The same text as HTML that is safe to show: see [`rendition`](super::rendition). `None` if it is too long.
    #[serde(skip)]
    pub html: Option<String>,
}
