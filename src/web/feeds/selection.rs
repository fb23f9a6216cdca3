//! Which entries the page of feeds lists, as its address says.

use serde_json::{Map, Value};

use crate::web::page::fields::Fields;

/// The feed, the folder and the marks that an address names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FeedSelection {
    pub feed: Option<String>,
    pub folder: Option<String>,
    pub show: EntryShow,
}

/// Which entries of the feeds are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryShow {
    Unread,
    All,
    Starred,
}

impl EntryShow {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::All => "all",
            Self::Starred => "starred",
        }
    }
}

impl FeedSelection {
    /// Reads the parameters of an address, or the fields of a form. Other values of `show` count as unread ones.
    pub(super) fn of(fields: &Fields) -> Self {
        let feed = fields.get("feed").map(str::to_owned);
        let show = match fields.get("show") {
            Some("all") => EntryShow::All,
            Some("starred") => EntryShow::Starred,
            Some(_) | None => EntryShow::Unread,
        };
        Self { folder: fields.get("folder").filter(|_| feed.is_none()).map(str::to_owned), feed, show }
    }

    /// Returns the members of the request of an operation that selects these entries.
    pub(super) fn members(&self) -> Map<String, Value> {
        let members = [("feedId", self.feed.clone()), ("folder", self.folder.clone())];
        let mut object: Map<String, Value> = members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?))))
            .collect();
        object.insert("show".to_owned(), self.show.name().into());
        object
    }

    /// Returns the address of the list; `more` are further parameters.
    pub(super) fn href(&self, more: &[(&str, &str)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if let Some(feed) = &self.feed {
            query.append_pair("feed", feed);
        }
        if let Some(folder) = &self.folder {
            query.append_pair("folder", folder);
        }
        if self.show != EntryShow::Unread {
            query.append_pair("show", self.show.name());
        }
        query.extend_pairs(more);
        let query = query.finish();
        if query.is_empty() { "/feeds".to_owned() } else { format!("/feeds?{query}") }
    }

    /// Returns the same feeds with other marks.
    pub(super) fn showing(&self, show: EntryShow) -> Self {
        Self { show, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_a_selection_is_read_back() {
        for query in ["", "feed=0198", "folder=Sea+%26+shore&show=all", "show=starred"] {
            let selection = FeedSelection::of(&Fields::parse(query.as_bytes()));
            let href = selection.href(&[]);
            let written =
                href.strip_prefix("/feeds").and_then(|rest| rest.strip_prefix('?')).unwrap_or_default();

            assert_eq!(written, query);
        }
    }

    #[test]
    fn folder_is_left_out_beside_a_feed() {
        let selection = FeedSelection::of(&Fields::parse(b"feed=a&folder=b&show=x"));

        assert_eq!((selection.folder, selection.show), (None, EntryShow::Unread));
    }
}
