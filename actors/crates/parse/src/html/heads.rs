//! The `meta` and `link` elements of a page.

use std::collections::HashMap;

use trafilatura::dom::Document;

/// What the head of a page states, by name.
pub struct Heads {
    stated: HashMap<String, Vec<String>>,
    /// The address in `link rel="canonical"`.
    pub canonical: Option<String>,
}

impl Heads {
    /// Reads them wherever they stand: many pages break their head early.
    pub fn of(page: &Document) -> Self {
        let mut stated: HashMap<String, Vec<String>> = HashMap::new();
        for element in page.get_elements_by_tag_name(page.root(), "meta") {
            let name = ["property", "name", "itemprop", "http-equiv"]
                .iter()
                .find_map(|key| page.get_attribute(element, key));
            let content = page.get_attribute(element, "content").filter(|content| !content.trim().is_empty());
            if let (Some(name), Some(content)) = (name, content) {
                stated.entry(name.trim().to_ascii_lowercase()).or_default().push(content);
            }
        }
        let mut links = page.get_elements_by_tag_name(page.root(), "link").into_iter();
        let rel = |element| page.get_attribute(element, "rel").unwrap_or_default().to_ascii_lowercase();
        let canonical = links.find(|link| rel(*link).split_whitespace().any(|rel| rel == "canonical"));
        Self { stated, canonical: canonical.and_then(|link| page.get_attribute(link, "href")) }
    }

    /// What is stated under the first of these names that is there. The names are in small letters.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.stated.get(*name)?.first()).map(String::as_str)
    }

    /// Everything under the first of these names that is more than an address.
    pub fn all<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let is_words = |content: &String| !content.contains("://");
        let list =
            names.iter().find_map(|name| self.stated.get(*name).filter(|list| list.iter().any(is_words)));
        list.into_iter().flatten().map(String::as_str)
    }
}
