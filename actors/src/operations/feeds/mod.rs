//! Feeds: following, changing and unfollowing them, and their export and import as OPML (contract.md, section 6).

mod change;
mod discover;
mod fields;
mod follow;
mod list;
mod opml;
mod refresh;
mod unfollow;
mod view;

pub use change::ChangeFeed;
pub use discover::DiscoverFeeds;
pub use follow::{FollowFeed, FollowFeedResponse};
pub use list::{ListFeeds, ShowFeed};
pub use opml::{ExportOpml, ImportOpml};
pub use refresh::RefreshFeed;
pub use unfollow::UnfollowFeed;
pub use view::{FeedResponse, FeedView};
