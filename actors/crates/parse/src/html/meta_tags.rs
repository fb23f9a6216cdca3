//! The `meta` and `link` elements of a page.

use std::collections::HashMap;

use trafilatura::dom::Document;

/// The content of the `meta` elements of a page, by name.
pub struct MetaTags {
    values: HashMap<String, Vec<String>>,
    /// The URL in `link rel="canonical"`.
    pub canonical: Option<String>,
}

impl MetaTags {
    /// Reads them anywhere in the page, because errors end the head of many pages early.
    pub fn from_page(page: &Document) -> Self {
        let mut values: HashMap<String, Vec<String>> = HashMap::new();
        for element in page.get_elements_by_tag_name(page.root(), "meta") {
            // Pages mix these attributes up, so a name counts whichever of them has it.
            let name = ["property", "name", "itemprop", "http-equiv"]
                .iter()
                .find_map(|key| page.get_attribute(element, key));
            let content = page.get_attribute(element, "content").filter(|content| !content.trim().is_empty());
            if let (Some(name), Some(content)) = (name, content) {
                // Several authors are several elements of one name, so all contents are kept.
                values.entry(name.trim().to_ascii_lowercase()).or_default().push(content);
            }
        }
        let mut links = page.get_elements_by_tag_name(page.root(), "link").into_iter();
        let rel = |element| page.get_attribute(element, "rel").unwrap_or_default().to_ascii_lowercase();
        let canonical = links.find(|link| rel(*link).split_whitespace().any(|rel| rel == "canonical"));
        Self { values, canonical: canonical.and_then(|link| page.get_attribute(link, "href")) }
    }

    /// Returns the content for the first of these names that is present. The names are in lower case.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.values.get(*name)?.first()).map(String::as_str)
    }

    /// Returns all contents for the first of these names with a content that is not a URL.
    pub fn all<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
        // Many sites state the address of a profile in `article:author`.
        let is_words = |content: &String| !content.contains("://");
        let list =
            names.iter().find_map(|name| self.values.get(*name).filter(|list| list.iter().any(is_words)));
        list.into_iter().flatten().map(String::as_str)
    }
}
