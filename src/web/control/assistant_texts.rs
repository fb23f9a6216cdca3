//! The instructions to connect an assistant, in the language of the page.

use crate::app::assistants::{Assistant, Link, Snippet};
use crate::web::locale::Locale;
use crate::web::strings::has_message;

/// Returns an assistant with its texts in the language of the page. Names of products and files have no translation.
pub fn translate(assistant: Assistant, locale: &Locale) -> Assistant {
    let id = assistant.id.clone();
    let text = |part: &str, english: String| {
        let key = format!("assistant-{id}-{part}");
        if has_message(&key) { locale.t(&key) } else { english }
    };
    let numbered =
        |part: &str, index: usize, english: String| text(&format!("{part}-{}", index + 1), english);
    let list = |part: &str, texts: Vec<String>| {
        let translated = texts.into_iter().enumerate().map(|(index, english)| numbered(part, index, english));
        translated.collect::<Vec<_>>()
    };
    let snippet = |(index, snippet): (usize, Snippet)| Snippet {
        label: numbered("snippet", index, snippet.label),
        ..snippet
    };
    let link = |(index, link): (usize, Link)| Link { label: numbered("link", index, link.label), ..link };
    Assistant {
        name: text("name", assistant.name),
        about: text("about", assistant.about),
        steps: list("step", assistant.steps),
        facts: list("fact", assistant.facts),
        snippets: assistant.snippets.into_iter().enumerate().map(snippet).collect(),
        links: assistant.links.into_iter().enumerate().map(link).collect(),
        ..assistant
    }
}
