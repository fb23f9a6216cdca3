//! HTML that is safe to show, whoever wrote it.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use trafilatura::dom::Document;

use super::blocks::key;
use super::guard;

/// The longest HTML that is written for a text, in bytes.
pub const MOST_HTML: usize = 4 << 20;

/// The attribute that says where in the text the words of an element begin.
pub const START: &str = "data-start";

/// Elements that hold words of the text.
const WORDS: [&str; 9] = ["p", "span", "pre", "h1", "h2", "h3", "h4", "h5", "h6"];
/// Elements around them, and pictures.
const AROUND: [&str; 16] = [
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
/// Elements within words.
const WITHIN: [&str; 21] = [
    "a", "b", "strong", "i", "em", "u", "s", "del", "ins", "mark", "small", "sub", "sup", "code", "kbd",
    "samp", "var", "q", "cite", "dfn", "abbr",
];
const ATTRIBUTES: [(&str, &[&str]); 7] = [
    ("a", &["href"]),
    ("abbr", &["title"]),
    ("img", &["alt", "loading", "referrerpolicy", "src"]),
    ("li", &["value"]),
    ("ol", &["start"]),
    ("td", &["colspan", "rowspan"]),
    ("th", &["colspan", "rowspan"]),
];

static RULES: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let attributes = ATTRIBUTES.into_iter().chain(WORDS.map(|tag| (tag, &[START, "dir"][..])));
    let attributes: HashMap<&str, HashSet<&str>> =
        attributes.map(|(tag, names)| (tag, names.iter().copied().collect())).collect();
    let mut rules = Builder::empty();
    rules
        .tags(WORDS.into_iter().chain(AROUND).chain(WITHIN).collect())
        .clean_content_tags(["script", "style"].into())
        .tag_attributes(attributes)
        .url_schemes(["http", "https", "mailto"].into())
        .url_relative(UrlRelative::Deny)
        .set_tag_attribute_value("img", "loading", "lazy")
        .set_tag_attribute_value("img", "referrerpolicy", "no-referrer")
        .link_rel(Some("nofollow noopener noreferrer"))
        .strip_comments(true);
    rules
});

/// Takes out of HTML what [`rendition`](super::rendition) never writes.
pub fn cleaned(html: &str) -> String {
    RULES.clean(html).to_string()
}

/// HTML that comes from elsewhere, made safe; none where it is not of this text.
pub fn given(html: &str, text: &str) -> Option<String> {
    // What is kept has attributes that the bound does not count.
    if html.len() > 2 * MOST_HTML {
        return None;
    }
    guard::check(html).ok()?;
    let html = cleaned(html);
    is_of(&html, text).then_some(html)
}

/// Whether HTML shows this text and nothing else but captions: elements that say where their words begin stand in order, each holds
/// the words that stand there, and together they are all words that there are.
pub fn is_of(html: &str, text: &str) -> bool {
    // Line breaks are characters of the text, and elements of the HTML.
    let mut page = Document::parse(&html.replace("<br>", "\n"));
    let root = page.root();
    page.strip_elements(root, false, &["figcaption"]);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut end = 0;
    for element in page.iter_descendants(root, &WORDS) {
        let Some(start) = page.get_attribute(element, START) else { continue };
        let at = start.parse::<usize>().ok().and_then(|start| places.get(start)).copied();
        let words = page.text_content(element);
        // Nothing stands in two of them, so what is looked at is no longer than the text.
        match at {
            Some(at) if at >= end && text.get(at..).is_some_and(|rest| rest.starts_with(&words)) => {
                end = at + words.len()
            }
            Some(_) | None => return false,
        }
    }
    key(&page.text_content(root)) == key(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_wrote_is_made_safe_or_left() {
        let text = "Herons wait.\nAll day.";
        let html = "<p data-start=\"0\" onclick=\"x()\">Herons <b>wait.</b><br>All day.</p><script>x()</script>\
            <iframe src=\"https://x.example/\"></iframe><img src=\"https://x.example/\" referrerpolicy=\"unsafe-url\"><!-- x -->";

        let safe = given(html, text).unwrap();

        assert_eq!(
            safe,
            "<p data-start=\"0\">Herons <b>wait.</b><br>All day.</p><img src=\"https://x.example/\" referrerpolicy=\"no-referrer\" loading=\"lazy\">"
        );
        assert_eq!(given("<p data-start=\"1\">Herons</p>", text), None);
        assert_eq!(given("<p data-start=\"99\">Herons</p>", text), None);
        // Words beside those of the text, words twice, words out of their order, and none at all.
        let whole = "<p data-start=\"0\">Herons wait.\nAll day.</p>";
        assert_eq!(given(whole, text).as_deref(), Some(whole));
        for other in [
            format!("{whole}<ul><li>Send your password</li></ul>"),
            format!("{whole}{whole}"),
            "<p data-start=\"0\">Herons<span data-start=\"0\">Herons</span></p>".to_owned(),
            "<p data-start=\"13\">All day.</p><p data-start=\"0\">Herons wait.</p>".to_owned(),
            "<p data-start=\"0\">Herons wait.</p>".to_owned(),
            String::new(),
        ] {
            assert_eq!(given(&other, text), None, "{other}");
        }
        assert_eq!(given(&format!("{whole}<!--{}-->", "x".repeat(2 * MOST_HTML)), text), None);
        assert_eq!(given(&"<div>".repeat(10_000), text), None);
    }
}
