//! Feeds: following, changing and unfollowing them, and their export and import as OPML (contract.md, section 6).

mod change;
mod discover;
mod fields;
mod folder;
mod follow;
mod list;
mod opml;
mod refresh;
mod refresh_all;
mod tree;
mod unfollow;
mod view;

pub use change::ChangeFeed;
pub use discover::{DiscoverFeeds, DiscoverFeedsResponse, FeedCandidate};
pub use fields::{FeedName, trim_name};
pub use folder::{RenameFolder, feeds_in};
pub use follow::{FollowFeed, FollowFeedResponse};
pub use list::{ListFeeds, ShowFeed};
pub use opml::{ExportOpml, ImportOpml};
pub use refresh::RefreshFeed;
pub use refresh_all::RefreshFeeds;
pub use tree::{FeedFolder, FeedTreeResponse, ListFeedTree};
pub use unfollow::UnfollowFeed;
pub use view::{FeedResponse, FeedView, FollowedFeed, load_titles};
