//! # The query language
//!
//! The language of the library's search box, of saved searches, and of the field `q` of a list of bookmarks. A query is a list of terms.
//! A bookmark must match all of them.
//!
//! ```text
//! query     = [ group { space group } ]
//! group     = term { space "or" space term }
//! term      = [ "-" ] ( text | field ":" text )
//! text      = word | quoted
//! word      = one or more characters other than white space
//! quoted    = '"' { character | '\"' | '\\' } '"'
//! field     = "tag" | "is" | "type" | "site" | "feed" | "collection" | "before" | "after" | "upto"
//! ```
//!
//! | Term | Matches bookmarks |
//! |---|---|
//! | `tides`, `"own time"` | whose title or URL contains the text; the case of letters does not count |
//! | `tag:mud` | with this tag; case counts |
//! | `is:unread` | in this state, see [`QueryState`] |
//! | `type:pdf` | of this content type: `article`, `pdf`, `audio`, `video`, `note` |
//! | `site:example.org` | of this host and of the hosts below it |
//! | `feed:tides` | saved from a feed whose title or URL contains the text, or that has this id |
//! | `collection:Winter` | in a collection with this name or id |
//! | `before:2026-03` | saved before this day, month or year (UTC) |
//! | `after:2026-03` | saved in this day, month or year, or later (UTC) |
//! | `upto:10` | that take at most this many minutes to read |
//! | `-term` | that the term does not match |
//! | `a or b` | that one of the terms beside the `or` matches; `or` binds stronger than a space |
//!
//! Only what is in the grammar has a meaning: an unknown field, a hyphen alone and an `or` without a term on both of its sides are
//! texts. So a query of plain words is what it was before there was a language. A text that looks like an operator is quoted: `"or"`,
//! `"-x"`, `"tag:x"`.
//!
//! [`LibraryQuery::parse`] and `Display` are inverse: what is printed is parsed to the same query.

mod fault;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use validation::choices;
use values::kind::ContentType;
use values::time::Timestamp;

pub use fault::{QueryFault, QueryFaultKind};

/// Maximum number of minutes in `upto:`.
pub const MAX_QUERY_MINUTES: u32 = 10_000;

/// A query: the groups that a bookmark must match. Without a group it matches all bookmarks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryQuery {
    /// The groups in their order.
    pub groups: Vec<QueryGroup>,
}

/// Terms of which a bookmark must match one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryGroup {
    /// The terms in their order; at least one.
    pub terms: Vec<QueryTerm>,
}

/// A condition, or its opposite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryTerm {
    /// Whether the term matches what the condition does not match.
    pub is_excluded: bool,
    /// The condition.
    pub condition: QueryCondition,
}

/// A condition on a bookmark. Its text is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryCondition {
    /// The title or the URL contains this text.
    Text(String),
    /// It has this tag.
    Tag(String),
    /// It is in this state.
    Is(QueryState),
    /// It has this content type.
    Type(ContentType),
    /// Its URL is on this host or below it.
    Site(String),
    /// It was saved from a feed with this title, URL or id.
    Feed(String),
    /// It is in a collection with this name or id.
    Collection(String),
    /// It was saved before this date begins.
    Before(QueryDate),
    /// It was saved when this date began, or later.
    After(QueryDate),
    /// It takes at most this many minutes to read, from 1 to [`MAX_QUERY_MINUTES`].
    UpTo(u32),
}

choices! {
    /// A state of a bookmark in a query: what follows `is:`.
    pub enum QueryState {
        /// Its progress is below 1.
        Unread = "unread",
        /// Its progress is 1.
        Read = "read",
        /// Its progress is above 0 and below 1.
        Started = "started",
        /// It is archived.
        Archived = "archived",
        /// It is a favourite.
        Favorite = "favorite",
        /// Its text is being made.
        Processing = "processing",
        /// Its text is readable and searchable.
        Ready = "ready",
        /// The last attempt to make its text failed.
        Failed = "failed",
    }
}

/// A year, a month or a day, in UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryDate {
    /// As it is written: `2026`, `2026-03` or `2026-03-31`.
    text: String,
    start: Timestamp,
}

impl QueryDate {
    /// Reads a date. Returns `None` if it is none, or if its year is not between 1 and 9999.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // The year, month and day have a fixed number of digits, so that a text is one date alone.
        let padding = match text.len() {
            4 => "-01-01",
            7 => "-01",
            10 => "",
            _ => return None,
        };
        let start = Timestamp::parse(&format!("{text}{padding}T00:00:00Z"))?;
        Some(Self { text: text.to_owned(), start })
    }

    /// Returns when the year, month or day begins.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        self.start
    }
}

impl LibraryQuery {
    /// Returns a query with one condition.
    #[must_use]
    pub fn of(condition: QueryCondition) -> Self {
        Self { groups: vec![QueryGroup::of(condition)] }
    }

    /// Returns the query that matches what this query and also the condition matches. The query stays the same if it has the condition
    /// alone already.
    #[must_use]
    pub fn and(mut self, condition: QueryCondition) -> Self {
        let group = QueryGroup::of(condition);
        if !self.groups.contains(&group) {
            self.groups.push(group);
        }
        self
    }

    /// Returns the query without the groups that are this condition alone.
    #[must_use]
    pub fn without(mut self, condition: &QueryCondition) -> Self {
        self.groups.retain(|group| group.only() != Some(condition));
        self
    }

    /// Returns whether a bookmark must match this condition.
    #[must_use]
    pub fn requires(&self, condition: &QueryCondition) -> bool {
        self.groups.iter().any(|group| group.only() == Some(condition))
    }
}

impl QueryGroup {
    /// Returns a group of one condition.
    #[must_use]
    pub fn of(condition: QueryCondition) -> Self {
        Self { terms: vec![QueryTerm { is_excluded: false, condition }] }
    }

    /// Returns the condition of a group that is one condition alone.
    #[must_use]
    pub fn only(&self) -> Option<&QueryCondition> {
        match self.terms.as_slice() {
            [QueryTerm { is_excluded: false, condition }] => Some(condition),
            _ => None,
        }
    }
}
