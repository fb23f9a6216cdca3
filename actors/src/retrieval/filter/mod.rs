//! What part of a library is searched: the labels of documents in the index, and the conditions that the database resolves.

mod labels;
mod library_filter;
mod named_documents;
mod row_conditions;

pub(super) use labels::labels;
pub use labels::labels_of;
pub use library_filter::{LibraryFilter, Naming, ResolvedFilter};
pub(super) use row_conditions::{find_passing, find_searched, is_readable, is_searched};
