//! The context of ingest for requests, which check URLs, find feeds and read lists of feeds while a client waits.

use sandbox::Sandbox;
use web::Fetcher;

use super::feed::context::FeedContext;
use super::feed::search::FeedSearches;

/// The parts of ingest that requests use themselves; the rest is done by jobs. Clones share them.
#[derive(Clone)]
pub struct IngestContext {
    /// Fetches documents, and knows which URLs may be fetched.
    pub fetcher: Fetcher,
    /// Parses foreign bytes in child processes.
    pub sandbox: Sandbox,
    /// What feeds are fetched, followed and delivered with.
    pub feeds: FeedContext,
    /// Searches for feeds that a user waits for.
    pub feed_searches: FeedSearches,
}
