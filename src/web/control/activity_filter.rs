//! Which calls a page or a file of the activity shows: a filter that is in its address.

use actors::operations::activity::{ListActivity, ListActivityResponse};
use actors::operations::activity_days::{ActivityDayView, CallCounts};
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

    /// Returns the counts of a day without the calls that the filter leaves out, except those of other keys and apps, which are not
    /// counted at all.
    pub fn filter_day(&self, day: ActivityDayView) -> ActivityDayView {
        let kept = |surface: MeteredSurface, counts: CallCounts| {
            if self.surface.is_some_and(|only| only != surface) {
                CallCounts::default()
            } else if self.refused {
                CallCounts { calls: counts.refused, ..counts }
            } else {
                counts
            }
        };
        ActivityDayView {
            rest: kept(MeteredSurface::Rest, day.rest),
            mcp: kept(MeteredSurface::Mcp, day.mcp),
            ..day
        }
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
    use values::time::Timestamp;

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
    fn day_counts_the_calls_that_the_filter_shows() {
        let counts = |calls, refused| CallCounts { calls, refused };
        let day = |rest, mcp| ActivityDayView { day: Timestamp::from_millis(0).day(), rest, mcp };
        let all = day(counts(5, 2), counts(7, 0));
        let none = CallCounts::default();
        let rest = ActivityFilter { surface: Some(MeteredSurface::Rest), ..ActivityFilter::default() };
        let refused = ActivityFilter { refused: true, ..ActivityFilter::default() };

        assert_eq!(ActivityFilter::default().filter_day(all.clone()), all);
        assert_eq!(rest.filter_day(all.clone()), day(counts(5, 2), none));
        assert_eq!(refused.filter_day(all), day(counts(2, 2), none));
    }

    #[test]
    fn what_cannot_be_read_filters_nothing() {
        let query = Fields::parse(b"key=x&surface=telephone&cursor=a");

        assert_eq!(ActivityFilter::of(&query), ActivityFilter::default());
    }
}
