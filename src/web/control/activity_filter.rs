//! Which calls a page or a file of the activity shows: a filter that is in its address.

use actors::operations::activity::{ListActivity, ListActivityResponse};
use actors::target::Target;
use errors::Error;
use serde_json::{Map, Value, json};
use values::id::{GrantId, KeyId};
use values::kind::MeteredSurface;

use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;

/// The calls that a page shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityFilter {
    /// Only those of this key.
    pub key: Option<KeyId>,
    /// Only those of this app.
    pub app: Option<GrantId>,
    /// Only those through this surface.
    pub surface: Option<MeteredSurface>,
    /// Only those that were answered with an error.
    pub refused: bool,
}

impl ActivityFilter {
    /// Reads the filter of an address. What cannot be read is left out.
    pub fn of(query: &Fields) -> Self {
        let key = query.get("key").and_then(|id| id.parse().ok());
        Self {
            key,
            // No call has both.
            app: query.get("app").and_then(|id| id.parse().ok()).filter(|_| key.is_none()),
            surface: query.get("surface").and_then(|surface| surface.parse().ok()),
            refused: query.get("refused").is_some(),
        }
    }

    /// Returns whether it leaves any calls out.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Returns the filter as a query string with its `?`; empty without a filter.
    pub fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if let Some(key) = self.key {
            query.append_pair("key", &key.to_string());
        }
        if let Some(app) = self.app {
            query.append_pair("app", &app.to_string());
        }
        if let Some(surface) = self.surface {
            query.append_pair("surface", surface.name());
        }
        if self.refused {
            query.append_pair("refused", "1");
        }
        let query = query.finish();
        if query.is_empty() { query } else { format!("?{query}") }
    }

    /// Lists a page of the calls.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a cursor of another list; the errors of the operation.
    pub async fn list(
        &self,
        page: &PageRequest,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<ListActivityResponse, Error> {
        let mut request = Map::new();
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                request.insert(name.to_owned(), value);
            }
        };
        add("limit", Some(json!(limit)));
        add("cursor", cursor.map(|cursor| json!(cursor)));
        add("keyId", self.key.map(|key| json!(key)));
        add("appId", self.app.map(|app| json!(app)));
        add("surface", self.surface.map(|surface| json!(surface.name())));
        add("refused", self.refused.then(|| json!(true)));
        page.run_json::<ListActivity>(&Target(Vec::new()), Value::Object(request)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_is_read_from_its_own_address() {
        let id = "018f4d5e-0000-7000-8000-000000000000";
        let filter = ActivityFilter {
            key: id.parse().ok(),
            app: None,
            surface: Some(MeteredSurface::Mcp),
            refused: true,
        };

        let query = filter.query();

        assert_eq!(query, format!("?key={id}&surface=mcp&refused=1"));
        assert_eq!(ActivityFilter::of(&Fields::parse(query.trim_start_matches('?').as_bytes())), filter);
        assert!(filter.is_any() && !ActivityFilter::default().is_any());
    }

    #[test]
    fn what_cannot_be_read_filters_nothing() {
        let query = Fields::parse(b"key=x&surface=telephone&cursor=a");

        assert_eq!(ActivityFilter::of(&query), ActivityFilter::default());
    }
}
