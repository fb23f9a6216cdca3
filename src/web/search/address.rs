//! The address of a search: the query, how it is matched, and the filters.

use std::str::FromStr;

use serde_json::{Map, Value, json};
use url::form_urlencoded::Serializer;
use values::id::{CollectionId, FeedId};
use values::kind::ContentType;

use crate::web::page::fields::Fields;

/// Passages that are shown at first.
const FIRST_PASSAGES: u32 = 8;
/// Passages that are shown on request: as many as a search returns.
const MORE_PASSAGES: u32 = 20;

/// What the address of the page says. Values that the page does not know are ignored.
#[derive(Clone, Debug, Default)]
pub struct SearchAddress {
    /// The query as it was written, without spaces around it.
    pub query: String,
    /// Whether all words must be found as they are written.
    pub is_exact: bool,
    /// `bookmarks` or `feeds`; empty for both.
    pub source: &'static str,
    /// The type of the documents.
    pub content_type: Option<ContentType>,
    /// The collection of the bookmarks.
    pub collection: Option<CollectionId>,
    /// The feed of the entries.
    pub feed: Option<FeedId>,
    /// Whether more passages are shown than at first.
    pub shows_more: bool,
}

impl SearchAddress {
    /// Reads the parameters of the address.
    pub fn of(query: &Fields) -> Self {
        let source = match query.text("source") {
            "bookmarks" => "bookmarks",
            "feeds" => "feeds",
            _ => "",
        };
        Self {
            query: query.text("q").trim().to_owned(),
            is_exact: query.text("mode") == "exact",
            source,
            content_type: query.get("type").and_then(|name| ContentType::from_str(name).ok()),
            collection: query.get("collection").and_then(|id| id.parse().ok()),
            feed: query.get("feed").and_then(|id| id.parse().ok()),
            shows_more: query.get("limit") == Some("20"),
        }
    }

    /// Returns the fields of the operation.
    pub fn to_json(&self) -> Value {
        let limit = if self.shows_more { MORE_PASSAGES } else { FIRST_PASSAGES };
        let mut fields = Map::new();
        fields.insert("q".to_owned(), json!(self.query));
        fields.insert("limit".to_owned(), json!(limit));
        let mode = if self.is_exact { "exact" } else { "auto" };
        fields.insert("mode".to_owned(), json!(mode));
        if !self.source.is_empty() {
            fields.insert("source".to_owned(), json!(self.source));
        }
        if let Some(content_type) = self.content_type {
            fields.insert("contentType".to_owned(), json!(content_type.name()));
        }
        if let Some(collection) = self.collection {
            fields.insert("collectionId".to_owned(), json!(collection));
        }
        if let Some(feed) = self.feed {
            fields.insert("feedId".to_owned(), json!(feed));
        }
        Value::Object(fields)
    }

    /// Returns the path and query of this address.
    pub fn path(&self) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("q", &self.query);
        if self.is_exact {
            query.append_pair("mode", "exact");
        }
        if !self.source.is_empty() {
            query.append_pair("source", self.source);
        }
        if let Some(content_type) = self.content_type {
            query.append_pair("type", content_type.name());
        }
        if let Some(collection) = self.collection {
            query.append_pair("collection", &collection.to_string());
        }
        if let Some(feed) = self.feed {
            query.append_pair("feed", &feed.to_string());
        }
        if self.shows_more {
            query.append_pair("limit", "20");
        }
        format!("/search?{}", query.finish())
    }

    /// Returns whether a filter is set.
    pub fn is_filtered(&self) -> bool {
        !self.source.is_empty()
            || self.content_type.is_some()
            || self.collection.is_some()
            || self.feed.is_some()
    }

    /// Returns the path of the same query without filters.
    pub fn unfiltered_path(&self) -> String {
        Self { query: self.query.clone(), is_exact: self.is_exact, ..Self::default() }.path()
    }

    /// Returns the path of the same search by words and meaning.
    pub fn by_meaning_path(&self) -> String {
        Self { is_exact: false, ..self.clone() }.path()
    }

    /// Returns the path of the question page with this query.
    pub fn ask_path(&self) -> String {
        let question = Serializer::new(String::new()).append_pair("question", &self.query).finish();
        format!("/ask?{question}")
    }

    /// Returns the path of the library with this query.
    pub fn library_path(&self) -> String {
        format!("/library?{}", Serializer::new(String::new()).append_pair("q", &self.query).finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_ignored_and_the_path_keeps_the_rest() {
        let fields = Fields::parse(b"q=+high+water+&mode=exact&source=all&type=pdf&collection=7&limit=9&x=1");

        let address = SearchAddress::of(&fields);

        assert_eq!(address.path(), "/search?q=high+water&mode=exact&type=pdf");
        assert_eq!(address.unfiltered_path(), "/search?q=high+water&mode=exact");
        assert_eq!(address.to_json()["limit"], 8);
        assert!(address.is_filtered());
    }
}
