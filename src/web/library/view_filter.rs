//! What the address of the library says: the query with its filters, the order, and how the list looks.

use library::query::{LibraryQuery, QueryCondition, QueryDate, QueryFault, QueryState};
use url::form_urlencoded::Serializer;
use values::kind::ContentType;
use values::time::Timestamp;

use crate::web::page::fields::Fields;

/// Milliseconds of a day, to include the last day of a period.
const DAY_MILLIS: i64 = 86_400_000;
/// Tags that an address may have.
const MAX_FILTER_TAGS: usize = 20;

/// How the list looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListView {
    /// Rows with what belongs to each.
    List,
    /// Cards with pictures.
    Cards,
    /// Titles alone.
    Titles,
}

/// The order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListSort {
    /// Newest saved first.
    SavedDescending,
    /// Oldest saved first.
    Saved,
    /// By title.
    Title,
    /// Last changed first.
    ChangedDescending,
}

impl ListView {
    /// All looks.
    pub const ALL: [Self; 3] = [Self::List, Self::Cards, Self::Titles];

    /// Returns the name in the address.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Cards => "cards",
            Self::Titles => "titles",
        }
    }

    /// Returns the name of the icon.
    pub fn icon(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Cards => "cards",
            Self::Titles => "dense",
        }
    }

    /// Returns the key of the name.
    pub fn key(self) -> &'static str {
        match self {
            Self::List => "library-view-list",
            Self::Cards => "library-view-cards",
            Self::Titles => "library-view-titles",
        }
    }

    fn of(name: &str) -> Self {
        Self::ALL.into_iter().find(|view| view.name() == name).unwrap_or(Self::List)
    }
}

impl ListSort {
    /// All orders.
    pub const ALL: [Self; 4] = [Self::SavedDescending, Self::Saved, Self::Title, Self::ChangedDescending];

    /// Returns the name in the address.
    pub fn name(self) -> &'static str {
        match self {
            Self::SavedDescending => "-savedAt",
            Self::Saved => "savedAt",
            Self::Title => "title",
            Self::ChangedDescending => "-updatedAt",
        }
    }

    /// Returns the key of the name.
    pub fn key(self) -> &'static str {
        match self {
            Self::SavedDescending => "library-sort-newest",
            Self::Saved => "library-sort-oldest",
            Self::Title => "library-sort-title",
            Self::ChangedDescending => "library-sort-changed",
        }
    }

    /// Returns whether the list is sorted by the time of saving.
    pub fn is_by_saving(self) -> bool {
        matches!(self, Self::SavedDescending | Self::Saved)
    }

    fn of(name: &str) -> Self {
        Self::ALL.into_iter().find(|sort| sort.name() == name).unwrap_or(Self::SavedDescending)
    }
}

/// A filter in the address: the name and the value of its parameter, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressFilter {
    /// The name of the parameter.
    pub name: &'static str,
    /// The value of the parameter.
    pub value: String,
    /// The condition.
    pub condition: QueryCondition,
}

/// What the address of a list says.
#[derive(Clone, Debug)]
pub struct ViewFilter {
    /// The path of the page.
    pub path: String,
    /// The query in the box, as it was typed.
    pub text: String,
    /// The filters other than the query.
    pub filters: Vec<AddressFilter>,
    /// The order.
    pub sort: ListSort,
    /// The look.
    pub view: ListView,
    /// The cursor of the page.
    pub cursor: Option<String>,
    /// The query with all filters; what is wrong with the query in the box.
    pub query: Result<LibraryQuery, QueryFault>,
}

impl ViewFilter {
    /// Reads the parameters of an address. What they do not know is ignored.
    pub fn of(path: &str, fields: &Fields) -> Self {
        Self::new(
            path,
            fields,
            read_filters(fields, &["type", "state", "site", "from", "to", "upto", "collection"]),
        )
    }

    /// Reads the parameters of the address of a collection.
    pub fn within(path: &str, fields: &Fields, collection: QueryCondition) -> Self {
        let filters = read_filters(fields, &["type", "state", "site", "from", "to", "upto"]);
        let mut filter = Self::new(path, fields, filters);
        filter.query = filter.query.map(|query| query.and(collection));
        filter
    }

    fn new(path: &str, fields: &Fields, filters: Vec<AddressFilter>) -> Self {
        let text = fields.get("q").unwrap_or_default().trim().to_owned();
        let query = LibraryQuery::parse(&text)
            .map(|query| filters.iter().fold(query, |query, filter| query.and(filter.condition.clone())));
        Self {
            path: path.to_owned(),
            text,
            sort: ListSort::of(fields.get("sort").unwrap_or_default()),
            view: ListView::of(fields.get("view").unwrap_or_default()),
            cursor: fields.get("cursor").map(str::to_owned),
            query,
            filters,
        }
    }

    /// Returns whether the list is filtered.
    pub fn is_filtered(&self) -> bool {
        !self.text.is_empty() || !self.filters.is_empty()
    }

    /// Returns whether the list has cards.
    pub fn is_cards(&self) -> bool {
        self.view == ListView::Cards
    }

    /// Returns whether the list has titles alone.
    pub fn is_titles(&self) -> bool {
        self.view == ListView::Titles
    }

    /// Returns whether the address has this filter.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.filters.iter().any(|filter| filter.name == name && filter.value == value)
    }

    /// Returns the address with this filter, or without it if it has it. A filter that can be given once replaces the other one.
    pub fn toggled(&self, name: &str, value: &str) -> String {
        let is_on = self.has(name, value);
        let is_replaced = |filter: &&AddressFilter| {
            if name == "tag" { filter.name != name || filter.value != value } else { filter.name != name }
        };
        let kept = self.filters.iter().filter(is_replaced).map(|filter| (filter.name, filter.value.as_str()));
        let added = (!is_on).then_some((name, value));
        self.address(kept.chain(added), self.sort, self.view, None)
    }

    /// Returns the address with this order.
    pub fn sorted(&self, sort: &ListSort) -> String {
        self.address(self.pairs(), *sort, self.view, None)
    }

    /// Returns the address with this look.
    pub fn viewed(&self, view: &ListView) -> String {
        self.address(self.pairs(), self.sort, *view, None)
    }

    /// Returns the address of the page after a cursor.
    pub fn after(&self, cursor: &str) -> String {
        self.address(self.pairs(), self.sort, self.view, Some(cursor))
    }

    /// Returns the address of the page itself.
    pub fn here(&self) -> String {
        self.address(self.pairs(), self.sort, self.view, self.cursor.as_deref())
    }

    /// Returns what a form of the page sends besides the query in the box: the filters, the order and the look.
    pub fn hidden_fields(&self) -> Vec<(&str, &str)> {
        let sort = (self.sort != ListSort::SavedDescending).then(|| ("sort", self.sort.name()));
        let view = (self.view != ListView::List).then(|| ("view", self.view.name()));
        self.pairs().chain(sort).chain(view).collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.filters.iter().map(|filter| (filter.name, filter.value.as_str()))
    }

    fn address<'a>(
        &'a self,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
        sort: ListSort,
        view: ListView,
        cursor: Option<&str>,
    ) -> String {
        let mut query = Serializer::new(String::new());
        if !self.text.is_empty() {
            query.append_pair("q", &self.text);
        }
        query.extend_pairs(pairs);
        if sort != ListSort::SavedDescending {
            query.append_pair("sort", sort.name());
        }
        if view != ListView::List {
            query.append_pair("view", view.name());
        }
        if let Some(cursor) = cursor {
            query.append_pair("cursor", cursor);
        }
        let query = query.finish();
        if query.is_empty() { self.path.clone() } else { format!("{}?{query}", self.path) }
    }
}

/// Returns the filters in the parameters with these names, and in those of tags.
fn read_filters(fields: &Fields, names: &[&'static str]) -> Vec<AddressFilter> {
    let filter = |name, value: &str| {
        let condition = condition(name, value)?;
        Some(AddressFilter { name, value: value.to_owned(), condition })
    };
    let given = names.iter().filter_map(|name| filter(name, fields.get(name)?));
    given.chain(fields.all("tag").take(MAX_FILTER_TAGS).filter_map(|tag| filter("tag", tag))).collect()
}

/// Returns the condition of a parameter; `None` for a value that it does not know.
fn condition(name: &str, value: &str) -> Option<QueryCondition> {
    match name {
        "type" => value.parse().ok().map(|kind: ContentType| QueryCondition::Type(kind)),
        "state" => value.parse().ok().map(|state: QueryState| QueryCondition::Is(state)),
        "site" => Some(QueryCondition::Site(value.to_ascii_lowercase())),
        "from" => QueryDate::parse(value).map(QueryCondition::After),
        "to" => day_after(value).map(QueryCondition::Before),
        "upto" => {
            let minutes = value
                .parse()
                .ok()
                .filter(|minutes| (1..=library::query::MAX_QUERY_MINUTES).contains(minutes));
            minutes.map(QueryCondition::UpTo)
        }
        "tag" => Some(QueryCondition::Tag(value.to_owned())),
        "collection" => Some(QueryCondition::Collection(value.to_owned())),
        _ => None,
    }
}

/// Returns the day after a day, so that a period includes its last one.
fn day_after(day: &str) -> Option<QueryDate> {
    let start = QueryDate::parse(day).filter(|_| day.len() == 10)?.start();
    let next = Timestamp::from_millis(start.millis().checked_add(DAY_MILLIS)?).to_string();
    QueryDate::parse(next.get(..10)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(query: &str) -> ViewFilter {
        ViewFilter::of("/library", &Fields::parse(query.as_bytes()))
    }

    fn printed(query: &str) -> String {
        filter(query).query.unwrap().to_string()
    }

    #[test]
    fn filters_of_the_address_become_one_query() {
        assert_eq!(
            printed("q=own+time&type=pdf&state=unread&tag=a&tag=b&from=2026-02-27&to=2026-02-28&upto=10"),
            "own time type:pdf is:unread after:2026-02-27 before:2026-03-01 upto:10 tag:a tag:b"
        );
        assert_eq!(printed("type=birds&state=all&upto=0&to=2026&surprise=1"), "");
        assert!(filter("q=is:gone").query.is_err());
    }

    #[test]
    fn addresses_leave_out_what_is_usual() {
        let own = filter("q=a+b&state=unread&tag=x&sort=title&view=cards&cursor=z");

        assert_eq!(filter("sort=-savedAt&view=list").here(), "/library");
        assert_eq!(own.here(), "/library?q=a+b&state=unread&tag=x&sort=title&view=cards&cursor=z");
        assert_eq!(own.toggled("state", "unread"), "/library?q=a+b&tag=x&sort=title&view=cards");
        assert_eq!(own.toggled("state", "failed"), "/library?q=a+b&tag=x&state=failed&sort=title&view=cards");
        assert_eq!(own.toggled("tag", "y"), "/library?q=a+b&state=unread&tag=x&tag=y&sort=title&view=cards");
        assert_eq!(own.toggled("tag", "x"), "/library?q=a+b&state=unread&sort=title&view=cards");
        assert_eq!(own.sorted(&ListSort::Saved), "/library?q=a+b&state=unread&tag=x&sort=savedAt&view=cards");
        assert_eq!(own.viewed(&ListView::List), "/library?q=a+b&state=unread&tag=x&sort=title");
        let fields = [("state", "unread"), ("tag", "x"), ("sort", "title"), ("view", "cards")];
        assert_eq!(own.hidden_fields(), fields);
        assert!(filter("sort=-savedAt&view=list").hidden_fields().is_empty());
    }

    #[test]
    fn list_of_a_collection_has_its_condition() {
        let fields = Fields::parse(b"state=unread&collection=other");

        let own = ViewFilter::within("/collections/1", &fields, QueryCondition::Collection("1".to_owned()));

        assert_eq!(own.query.clone().unwrap().to_string(), "is:unread collection:1");
        assert_eq!(own.here(), "/collections/1?state=unread");
    }
}
