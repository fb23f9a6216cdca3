//! Pages of lists: the fields `limit` and `cursor` of a request, and the rows of a page with the cursor of the next one.

use std::fmt::{Display, Write};

use errors::Error;
use sea_orm::{EntityTrait, QuerySelect, Select};
use serde::Serialize;
use serde::de::DeserializeOwned;
use validation::{Integer, Words};
use values::id::UserId;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::cursor;

/// The field `cursor` of a list operation: the `nextCursor` of the page before. Without it the first page is returned.
pub type CursorText = Words<1, { cursor::MAX_CHARS }>;
/// The field `limit` of most list operations: the maximum number of results.
pub type PageLimit = Integer<1, 100>;

/// The `limit` and `cursor` of a request for a page.
#[derive(Clone, Debug)]
pub struct PageRequest {
    limit: u64,
    cursor: Option<String>,
}

impl PageRequest {
    /// Creates the request for a page from the fields `limit` and `cursor`. A request without `limit` gets `default_limit` results.
    pub fn new<const MIN: i64, const MAX: i64>(
        limit: Option<Integer<MIN, MAX>>,
        cursor: Option<CursorText>,
        default_limit: u64,
    ) -> Self {
        let limit = limit.and_then(Integer::convert).unwrap_or(default_limit);
        Self { limit, cursor: cursor.map(Words::into_inner) }
    }

    /// Creates the request of a page of the web app, whose address has a cursor or none.
    pub fn of_page(limit: u64, cursor: Option<String>) -> Self {
        Self { limit, cursor }
    }

    /// Binds the request to a list of the caller. `list` names the list with everything that selects its rows: filters, order, and
    /// the id of the row to which they belong. A cursor of another list is refused.
    pub fn of_list<'a>(
        &'a self,
        ctx: &'a OperationContext,
        caller: &Caller,
        list: ListName,
    ) -> PagedList<'a> {
        PagedList { request: self, ctx, user: caller.user, list }
    }
}

/// The name of a list with everything that selects and orders its rows, for [`PageRequest::of_list`].
///
/// Cursors are signed with this name, and clients keep cursors. So it is made of the names and values that requests have, which
/// do not change when code is renamed.
pub struct ListName(String);

impl ListName {
    /// Begins the name with the kind of list.
    pub fn new(kind: &str) -> Self {
        Self(kind.to_owned())
    }

    /// Names a list whose rows are selected by one value, which every request has: the id of the row that they belong to, or their
    /// state.
    pub fn selected_by(kind: &str, value: impl Display) -> Self {
        Self(format!("{kind}:{value}"))
    }

    /// Appends a filter or the order. A filter that the request leaves out appends nothing, so that cursors remain valid when an
    /// operation gets a new filter.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value.map(|value| value.to_string()) {
            // Values may be texts of the client. Without the length, `q=a;tag=b` would have the name of the list that is filtered by
            // the query `a` and the tag `b`, and a cursor of the one would be accepted for the other.
            let _ = write!(self.0, ";{name}={}:{value}", value.len());
        }
        self
    }
}

/// A list of one user, of which a page is requested.
pub struct PagedList<'a> {
    request: &'a PageRequest,
    ctx: &'a OperationContext,
    user: UserId,
    list: ListName,
}

impl PagedList<'_> {
    /// Returns the position after which the page begins; `None` for the first page.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the cursor was not made for this caller and this list.
    pub fn position<P: DeserializeOwned>(&self) -> Result<Option<P>, Error> {
        let open = |cursor: &String| self.ctx.requests.cursors.open(self.user.0, &self.list.0, cursor);
        let position = self.request.cursor.as_ref().map(open).transpose();
        position.map_err(|_| {
            // The same error for a cursor of another user, of another list and for a changed one (contract.md, section 5).
            Error::invalid("cursor", "is not a cursor of this list; use the nextCursor of its previous page")
        })
    }

    /// Fetches the page from a query that begins at the page and has no limit. `position` is that of a row in the list.
    pub async fn fetch<E: EntityTrait, P: Serialize>(
        &self,
        query: Select<E>,
        position: impl Fn(&E::Model) -> P,
    ) -> Result<ListPage<E::Model>, Error> {
        let rows = query.limit(self.fetch_limit()).all(self.ctx.core.db.read()).await?;
        Ok(self.page(rows, position))
    }

    /// Returns the maximum number of rows of the page.
    pub fn limit(&self) -> u64 {
        self.request.limit
    }

    /// Returns the number of rows to fetch: one more than the page has, which shows whether there is a next page.
    pub fn fetch_limit(&self) -> u64 {
        self.limit().saturating_add(1)
    }

    /// Makes the page of rows that were fetched with [`Self::fetch_limit`], for queries that [`Self::fetch`] does not take.
    pub fn page<R, P: Serialize>(&self, mut rows: Vec<R>, position: impl Fn(&R) -> P) -> ListPage<R> {
        let limit = usize::try_from(self.limit()).unwrap_or(usize::MAX);
        if rows.len() <= limit {
            return ListPage { rows, next_cursor: None };
        }
        rows.truncate(limit);
        // The position of the last row, not a number of rows to skip: the pages stay complete and without repeats while rows are
        // added (contract.md, section 5).
        let next_cursor = rows.last().map(|last| self.seal(&position(last)));
        ListPage { rows, next_cursor }
    }

    /// Returns the cursor of the page that begins after a position.
    pub fn seal(&self, position: &impl Serialize) -> String {
        self.ctx.requests.cursors.seal(self.user.0, &self.list.0, position)
    }
}

/// A page of a list.
pub struct ListPage<R> {
    /// The rows of the page, at most the limit of the request.
    pub rows: Vec<R>,
    /// The cursor of the next page; `None` on the last page.
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_name_has_the_filters_of_the_request() {
        let name = ListName::new("entries").with("unread", Some(true)).with("after", None::<i64>);

        assert_eq!(name.0, "entries;unread=4:true");
    }

    /// Clients keep cursors, so a name does not change.
    #[test]
    fn list_name_of_one_value_is_fixed() {
        assert_eq!(ListName::selected_by("chunks", 7).0, "chunks:7");
        assert_eq!(ListName::new("tags").0, "tags");
    }

    #[test]
    fn list_names_of_different_filters_differ() {
        let forged = ListName::new("bookmarks").with("q", Some("a;tag=1:b"));
        let filtered = ListName::new("bookmarks").with("q", Some("a")).with("tag", Some("b"));

        assert_ne!(forged.0, filtered.0);
    }
}
