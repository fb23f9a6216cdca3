//! Sanitises HTML of any origin.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use trafilatura::dom::Document;

use super::blocks::key;
use super::guard;

/// Maximum length of the HTML of a text, in bytes.
pub const MAX_HTML_BYTES: usize = 4 << 20;

/// The attribute with the offset in the text at which the words of an element begin.
pub const START_ATTRIBUTE: &str = "data-start";
/// The attribute of a link within the page: the offset of the text at which the element begins that it leads to.
pub const TARGET_ATTRIBUTE: &str = "data-to";

const TEXT_ELEMENTS: [&str; 9] = ["p", "span", "pre", "h1", "h2", "h3", "h4", "h5", "h6"];
/// Elements around them, and pictures.
const STRUCTURE_ELEMENTS: [&str; 16] = [
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "blockquote",
    "table",
    "tbody",
    "tr",
    "td",
    "th",
    "figure",
    "figcaption",
    "img",
    "br",
];
const INLINE_ELEMENTS: [&str; 21] = [
    "a", "b", "strong", "i", "em", "u", "s", "del", "ins", "mark", "small", "sub", "sup", "code", "kbd",
    "samp", "var", "q", "cite", "dfn", "abbr",
];
// Neither `id` nor `name`, by which a page could hide variables of the app that shows it (row X7).
const ALLOWED_ATTRIBUTES: [(&str, &[&str]); 7] = [
    ("a", &["href", TARGET_ATTRIBUTE]),
    ("abbr", &["title"]),
    ("img", &["alt", "loading", "referrerpolicy", "src"]),
    ("li", &["value"]),
    ("ol", &["start"]),
    ("td", &["colspan", "rowspan"]),
    ("th", &["colspan", "rowspan"]),
];

static SANITIZER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let attributes =
        ALLOWED_ATTRIBUTES.into_iter().chain(TEXT_ELEMENTS.map(|tag| (tag, &[START_ATTRIBUTE, "dir"][..])));
    let attributes: HashMap<&str, HashSet<&str>> =
        attributes.map(|(tag, names)| (tag, names.iter().copied().collect())).collect();
    let mut rules = Builder::empty();
    rules
        // Neither `svg` nor `math`: a browser parses their content by other rules, by which scripts were smuggled (row X2).
        .tags(TEXT_ELEMENTS.into_iter().chain(STRUCTURE_ELEMENTS).chain(INLINE_ELEMENTS).collect())
        // Other elements that are not allowed lose their tags and keep their words; of these two
        // the content goes as well.
        .clean_content_tags(["script", "style"].into())
        .tag_attributes(attributes)
        .url_schemes(["http", "https", "mailto"].into())
        // A relative URL would be resolved against the address of the app that shows it.
        .url_relative(UrlRelative::Deny)
        .set_tag_attribute_value("img", "loading", "lazy")
        .set_tag_attribute_value("img", "referrerpolicy", "no-referrer")
        // A linked page gets neither the address of the app nor access to the window that opened it.
        .link_rel(Some("nofollow noopener noreferrer"))
        .strip_comments(true);
    rules
});

/// Removes from HTML what [`rendition`](super::rendition) never writes.
pub fn sanitize(html: &str) -> String {
    SANITIZER.clean(html).to_string()
}

/// Sanitises HTML of another origin, such as an imported archive; `None` if it is too long, nested too deeply, or
/// does not show this text.
pub fn sanitize_for_text(html: &str, text: &str) -> Option<String> {
    // The bound does not count the attributes that are added.
    if html.len() > 2 * MAX_HTML_BYTES {
        return None;
    }
    // Before the sanitiser, which builds a tree too.
    guard::check(html).ok()?;
    let html = sanitize(html);
    shows_text(&html, text).then_some(html)
}

/// Returns whether HTML shows this text and nothing else except captions: the elements with an offset are in order, each contains the text
/// at its offset, and together they contain all text.
pub fn shows_text(html: &str, text: &str) -> bool {
    // Line breaks are characters of the text, and elements of the HTML.
    let mut page = Document::parse(&html.replace("<br>", "\n"));
    let root = page.root();
    // Captions are the only words that are not in the text.
    page.strip_elements(root, false, &["figcaption"]);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut end = 0;
    for element in page.iter_descendants(root, &TEXT_ELEMENTS) {
        let Some(start) = page.get_attribute(element, START_ATTRIBUTE) else { continue };
        let at = start.parse::<usize>().ok().and_then(|start| places.get(start)).copied();
        let words = page.text_content(element);
        // No text is in two of these elements, so the comparison is linear in the text.
        match at {
            Some(at) if at >= end && text.get(at..).is_some_and(|rest| rest.starts_with(&words)) => {
                end = at + words.len()
            }
            Some(_) | None => return false,
        }
    }
    // Words outside of the elements with an offset would be shown, but could not be searched or highlighted.
    key(&page.text_content(root)) == key(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_html_is_sanitised_or_dropped() {
        let text = "Herons wait.\nAll day.";
        let html = "<p data-start=\"0\" onclick=\"x()\">Herons <b>wait.</b><br>All day.</p><script>x()</script>\
            <iframe src=\"https://x.example/\"></iframe><img src=\"https://x.example/\" referrerpolicy=\"unsafe-url\"><!-- x -->";

        let safe = sanitize_for_text(html, text).unwrap();

        assert_eq!(
            safe,
            "<p data-start=\"0\">Herons <b>wait.</b><br>All day.</p><img src=\"https://x.example/\" referrerpolicy=\"no-referrer\" loading=\"lazy\">"
        );
        assert_eq!(sanitize_for_text("<p data-start=\"1\">Herons</p>", text), None);
        assert_eq!(sanitize_for_text("<p data-start=\"99\">Herons</p>", text), None);
        // Words beside those of the text, words twice, words out of their order, and none at all.
        let whole = "<p data-start=\"0\">Herons wait.\nAll day.</p>";
        assert_eq!(sanitize_for_text(whole, text).as_deref(), Some(whole));
        for other in [
            format!("{whole}<ul><li>Send your password</li></ul>"),
            format!("{whole}{whole}"),
            "<p data-start=\"0\">Herons<span data-start=\"0\">Herons</span></p>".to_owned(),
            "<p data-start=\"13\">All day.</p><p data-start=\"0\">Herons wait.</p>".to_owned(),
            "<p data-start=\"0\">Herons wait.</p>".to_owned(),
            String::new(),
        ] {
            assert_eq!(sanitize_for_text(&other, text), None, "{other}");
        }
        assert_eq!(
            sanitize_for_text(&format!("{whole}<!--{}-->", "x".repeat(2 * MAX_HTML_BYTES)), text),
            None
        );
        assert_eq!(sanitize_for_text(&"<div>".repeat(10_000), text), None);
    }
}
