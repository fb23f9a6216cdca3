//! Reads the JSON-LD of a page (schema.org), the most reliable source of metadata.

use serde_json::{Map, Value};
use trafilatura::dom::Document;

/// Maximum length of the JSON-LD of a page, in bytes; longer JSON-LD is ignored.
const MAX_JSON_LD_BYTES: usize = 2 << 20;

/// The article as JSON-LD describes it; a field is empty if it is not stated.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JsonLdArticle {
    /// Its headline, or else its name.
    pub headline: Option<String>,
    /// Names of its authors or creators, in order.
    pub authors: Vec<String>,
    /// Name of its first publisher.
    pub publisher: Option<String>,
    /// Publication date, as the page writes it.
    pub published: Option<String>,
    /// The description of the article, not of the site.
    pub description: Option<String>,
    /// URL of its first picture, as the page writes it; may be relative.
    pub image: Option<String>,
    /// Its language, as the page writes it.
    pub language: Option<String>,
}

/// Reads all JSON-LD of a page. The first object of an article type counts, else the first `WebPage`.
pub fn read_json_ld(page: &Document) -> JsonLdArticle {
    let scripts = page.scripts_with_type(&["application/ld+json"]);
    let texts: Vec<String> = scripts.into_iter().map(|script| page.text_content(script)).collect();
    // Values of JSON take many times the memory of their text.
    if texts.iter().map(String::len).sum::<usize>() > MAX_JSON_LD_BYTES {
        return JsonLdArticle::default();
    }
    let values: Vec<Value> = texts.iter().filter_map(|text| parse(text)).collect();
    let mut things = Vec::new();
    values.iter().for_each(|value| collect_objects(value, &mut things));
    let article = things.iter().find(|thing| is_a(thing, is_article));
    let page = things.iter().find(|thing| is_a(thing, |kind| kind.ends_with("WebPage")));
    article.or(page).map(|thing| article_from(thing, &things)).unwrap_or_default()
}

fn parse(text: &str) -> Option<Value> {
    // Templates wrap the JSON for XHTML, or end it like a statement.
    let text = text.trim().trim_start_matches("<![CDATA[").trim_end_matches("]]>").trim_end_matches(';');
    serde_json::from_str(text).ok().or_else(|| {
        // Line breaks within strings are the most frequent fault.
        serde_json::from_str(&text.replace(|c: char| c.is_control(), " ")).ok()
    })
}

/// Collects the objects on the outer levels, including those in lists and graphs.
fn collect_objects<'a>(value: &'a Value, things: &mut Vec<&'a Map<String, Value>>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_objects(value, things)),
        Value::Object(thing) => {
            things.push(thing);
            // Other properties are not followed: the articles in them are of other pages, such as teasers.
            ["@graph", "mainEntity", "mainEntityOfPage"]
                .iter()
                .filter_map(|name| thing.get(*name))
                .for_each(|inner| collect_objects(inner, things));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_a(thing: &Map<String, Value>, wanted: impl Fn(&str) -> bool) -> bool {
    strings(thing.get("@type")).iter().any(|kind| wanted(kind))
}

fn is_article(kind: &str) -> bool {
    // By ending, because schema.org has many subtypes, such as `NewsArticle` and `BlogPosting`.
    kind.ends_with("Article")
        || kind.ends_with("Posting")
        || matches!(kind, "Report" | "Recipe" | "Review" | "HowTo")
}

fn article_from(thing: &Map<String, Value>, things: &[&Map<String, Value>]) -> JsonLdArticle {
    let one = |name: &str| strings(thing.get(name)).into_iter().next();
    JsonLdArticle {
        headline: one("headline").or_else(|| one("name")),
        authors: named(thing.get("author").or_else(|| thing.get("creator")), things),
        publisher: named(thing.get("publisher"), things).into_iter().next(),
        published: one("datePublished"),
        description: one("description"),
        image: address(thing.get("image")),
        language: one("inLanguage"),
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    }
}

/// Returns the names of people and organisations: given as strings, by `name`, or in other objects referenced by `@id`.
fn named(value: Option<&Value>, things: &[&Map<String, Value>]) -> Vec<String> {
    let name = |thing: &Map<String, Value>| thing.get("name").and_then(Value::as_str).map(str::to_owned);
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(values)) => values
            .iter()
            // Lists within lists are not followed, so the recursion is bounded.
            .filter(|value| !value.is_array())
            .flat_map(|value| named(Some(value), things))
            .collect(),
        Some(Value::Object(thing)) => {
            let id = thing.get("@id").filter(|id| id.is_string());
            let elsewhere = || {
                id.and_then(|id| {
                    things.iter().find(|other| other.get("@id") == Some(id) && other.contains_key("name"))
                })
            };
            name(thing).or_else(|| elsewhere().and_then(|other| name(other))).into_iter().collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => Vec::new(),
    }
}

fn address(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => {
            values.iter().filter(|value| !value.is_array()).find_map(|value| address(Some(value)))
        }
        Value::Object(image) => image.get("url").and_then(Value::as_str).map(str::to_owned),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article_of(json: &str) -> JsonLdArticle {
        read_json_ld(&Document::parse(&format!("<script type=\"application/ld+json\">{json}</script>")))
    }

    #[test]
    fn article_is_found_among_other_objects() {
        let article = article_of(
            r#"{"@graph": [{"@type": "WebSite", "name": "Site"}, {"@type": ["NewsArticle"], "headline": "Herons wait",
            "author": [{"@type": "Person", "name": "Ada Writer"}, "Jo Bird"], "datePublished": "2026-01-02",
            "publisher": {"name": "The Review"}, "image": [{"url": "https://example.org/a.png"}]}]}"#,
        );

        assert_eq!(article.headline.as_deref(), Some("Herons wait"));
        assert_eq!(article.authors, ["Ada Writer", "Jo Bird"]);
        assert_eq!(article.publisher.as_deref(), Some("The Review"));
        assert_eq!(article.image.as_deref(), Some("https://example.org/a.png"));
    }

    #[test]
    fn author_may_be_referenced_by_id() {
        let article = article_of(
            r##"[{"@type": "BlogPosting", "author": {"@id": "#ada"}}, {"@id": "#ada", "@type": "Person", "name": "Ada"}]"##,
        );

        assert_eq!(article.authors, ["Ada"]);
    }

    #[test]
    fn line_break_in_a_string_is_accepted() {
        assert_eq!(
            article_of("{\"@type\": \"Article\", \"headline\": \"one\ntwo\"}").headline.as_deref(),
            Some("one two")
        );
    }

    #[test]
    fn invalid_json_is_ignored() {
        for text in ["", "null", "{", "[[[]]]", "{\"@type\": 3, \"author\": 4}"] {
            assert_eq!(article_of(text), JsonLdArticle::default());
        }
        assert_eq!(article_of(&"[".repeat(100_000)), JsonLdArticle::default());
    }
}
