//! Queries in the language of the library as fields of requests.

use errors::Error;
use library::query::LibraryQuery;
use validation::Invalid;

/// Reads the query in a field of a request; without text it matches all bookmarks.
///
/// # Errors
/// [`Error::Invalid`] names the field, and the place and the fault in the query.
pub(super) fn parse_query(text: &str, field: &str) -> Result<LibraryQuery, Error> {
    LibraryQuery::parse(text).map_err(|fault| Invalid::new(field, fault.to_string()).into())
}
