//! Feeds: following, changing and leaving them, and lists of them in and out (contract.md, section 6).

mod change;
mod discover;
mod find;
mod follow;
mod leave;
mod list;
mod opml;
mod refresh;
mod shared_search;
mod view;

pub use change::ChangeFeed;
pub use discover::DiscoverFeeds;
pub use follow::{FollowFeed, FollowFeedResponse, followed};
pub use leave::{UnfollowFeed, leave};
pub use list::{ListFeeds, ShowFeed};
pub use opml::{ExportOpml, ImportOpml, follow_listed, followable, list};
pub use refresh::RefreshFeed;
pub use shared_search::FeedSearches;
pub use view::{FeedResponse, FeedView};

/// What fields of feeds may hold (contract.md, section 11: v1).
mod kinds {
    use validation::Kind;

    /// An address.
    pub const URL: Kind = Kind::Words { min: 1, max: 8192 };
    /// A title, a folder.
    pub const NAME: Kind = Kind::Text { max: 300 };
}
