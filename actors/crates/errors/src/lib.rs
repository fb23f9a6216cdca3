//! # Errors
//!
//! The error of the operations, and how surfaces present it.
//!
//! | To | Use |
//! |---|---|
//! | refuse an operation | a variant of [`Error`]; [`Error::invalid`], [`Error::not_found`] |
//! | report faulty fields, all at once | [`Error::Invalid`] with a [`validation::Invalid`] |
//! | hide a cause from the client and keep it for the log | [`Error::internal`], [`Error::chain`] |
//! | present an error | [`Error::spec`], [`Error::details`], [`Error::retry_after`], [`retry_after_seconds`], [`ErrorBody`] |
//! | list all errors, for a document | [`ERRORS`], with [`Error::examples`] |
//! | list the errors of an operation | the constants of [`code`] |
//!
//! [`ERRORS`] is the one table of codes, statuses, headers and texts. REST, MCP, the pages of OAuth, the command line, the
//! worker, the OpenAPI document and the manual read it. No surface matches all variants again; it names a single one only where it
//! treats that one differently from all others:
//!
//! - the callback of WebSub answers [`Error::NotFound`] by 410, at which a hub stops;
//! - the sign-in form of OAuth shows [`Error::WrongPassword`] and [`Error::TooManyFailures`] beside its fields, and the page before
//!   it shows the latter with a title of its own;
//! - a page takes [`Error::NotSignedIn`] as no session, and says in its language what is in the way for [`Error::UrlRejected`],
//!   [`Error::FeedNotFound`], [`Error::TooLarge`] and paths and methods without a route;
//! - the JSON endpoints of OAuth answer [`Error::TooManyFailures`] by a code of the RFC, and every error that is neither temporary
//!   nor internal as internal, as do the pages, because their own checks leave none that a client could act on;
//! - the command line prints every fault of [`Error::Invalid`], and names the command that lists what it did not find.
//!
//! `Display` is a sentence for the client, which never contains the cause.
//!
//! Errors of the crates below are converted here, so that `?` works everywhere: a database that is locked or unreachable
//! becomes [`Error::Busy`], a fault of the storage [`Error::StorageFailed`], a broken reference [`Error::NotFound`]. This
//! crate does no I/O and knows no HTTP type.

mod body;
pub mod code;
mod conversions;
mod error;
mod examples;
mod feed_fault;
mod rate_limit;
mod retry_after;
mod seconds;
mod spec;
mod storage_failure;
mod upload_fault;

pub use body::ErrorBody;
pub use error::{Cause, Error, INTERNAL_MESSAGE, named_scopes};
pub use feed_fault::FeedFault;
pub use rate_limit::{RateLimitExceeded, RateWindow};
pub use seconds::{retry_after_seconds, whole_seconds};
pub use spec::{
    ERRORS, ErrorSpec, HeaderRule, JobRule, McpDelivery, OperatorMessage, PageText, RetryRule, RouteRule,
};
pub use storage_failure::StorageFailure;
pub use upload_fault::UploadFault;
