//! Why no feed that can be followed was found at a URL.

use std::sync::Arc;

use web::FetchError;

/// Why no feed that can be followed was found at a URL. The messages contain no part of the URL.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FeedFault {
    /// The URL is not a feed, and the page there links to none.
    #[error("the URL is neither a feed nor a page that links to one; give the URL of the feed itself")]
    NoFeed,
    /// The feed has no entries.
    #[error("the feed at this URL has no entries; try again when it has some")]
    NoEntries,
    /// The feed is malformed beyond repair.
    #[error("the feed at this URL is malformed and cannot be read; give the URL of another feed")]
    Malformed,
    /// The feed could not be parsed, for this reason.
    #[error("the feed could not be read: {0}; try again later, or give the URL of another feed")]
    Unreadable(String),
    /// The URL could not be fetched. The cause is shared, because requests for one URL share a search.
    #[error("{0}; check the URL of the feed, or try again later")]
    Fetch(Arc<FetchError>),
    /// The server of the feed has asked for a delay that has not passed.
    #[error("the server of the feed asks for no requests for a while; try again later")]
    Delayed,
    /// The search took too long.
    #[error("finding the feed took longer than {seconds} seconds; try again later")]
    SearchTimeout {
        /// Longest time that a search may take.
        seconds: u64,
    },
}
