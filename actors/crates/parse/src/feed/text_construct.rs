//! Renders text constructs of feeds: titles, summaries and contents, of which some are markup and some only look like it.

use feed_rs::model::{FeedType, Text};
use trafilatura::dom::Document;
use url::Url;

use crate::html::{Rendition, is_buildable, normalize_verbatim, render_all};

/// The elements of markup in feeds. Anything else in angle brackets is text.
const HTML_ELEMENTS: &[&str] = &[
    "a",
    "abbr",
    "article",
    "aside",
    "audio",
    "b",
    "big",
    "blockquote",
    "br",
    "center",
    "cite",
    "code",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "font",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "ins",
    "kbd",
    "li",
    "main",
    "mark",
    "ol",
    "p",
    "picture",
    "pre",
    "q",
    "s",
    "samp",
    "script",
    "section",
    "small",
    "source",
    "span",
    "strike",
    "strong",
    "style",
    "sub",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "video",
    "wbr",
];

/// Returns the text of a title. RSS does not state whether titles are markup; those of JSON Feed never are.
pub fn title_text(title: &Text, kind: &FeedType) -> String {
    match kind {
        FeedType::JSON => title.content.clone(),
        // Atom states the type of its titles (RFC 4287, section 3.1).
        FeedType::Atom if !is_markup(title.content_type.as_str()) => title.content.clone(),
        FeedType::Atom | FeedType::RSS0 | FeedType::RSS1 | FeedType::RSS2 => strip_markup(&title.content),
    }
}

/// Renders a content; empty if it has no text, or is nested too deeply. Links are resolved against `url`, the entry's page.
pub fn render_content(content: &str, media_type: &str, url: &Url) -> Rendition {
    if !is_markup(media_type) {
        return Rendition { text: normalize_verbatim(content), ..Rendition::default() };
    }
    // RSS escapes plain text and markup alike, so the content itself decides.
    if has_element(content) {
        return render_all(content, Some(url)).unwrap_or_default();
    }
    // Plain text that is called markup: its lines are its own.
    let text = render_all(&escape_brackets(content).replace('\n', "<br>"), None).unwrap_or_default().text;
    Rendition { text, ..Rendition::default() }
}

fn is_markup(media_type: &str) -> bool {
    media_type.contains("html") || media_type.contains("xml")
}

fn strip_markup(markup: &str) -> String {
    let markup = if has_element(markup) { markup.to_owned() } else { escape_brackets(markup) };
    if !is_buildable(&markup) {
        return String::new();
    }
    let page = Document::parse(&markup);
    page.text_content(page.body().unwrap_or_else(|| page.root()))
}

fn escape_brackets(text: &str) -> String {
    text.replace('<', "&lt;")
}

fn has_element(text: &str) -> bool {
    text.split('<').skip(1).any(|rest| {
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        // Known elements only: `Vec<T>` and `1 < 2` are text.
        rest.contains('>') && HTML_ELEMENTS.contains(&name.to_ascii_lowercase().as_str())
    })
}
