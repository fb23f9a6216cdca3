//! The followed feeds by folder, with unread counts and the health of each, as the pages of feeds show them.

use std::collections::BTreeMap;

use entity::{entry, feed};
use errors::Error;
use library::web_state;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use validation::NoFields;
use values::id::EntryId;
use values::scope::Scope;
use values::time::Timestamp;

use super::view::{self, FollowedFeed};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Feeds whose sources and counts are read with one statement each.
const BATCH_ROWS: usize = 500;

/// Starred entries that are counted.
const MAX_COUNTED_STARS: u64 = 1000;

/// Lists all followed feeds by folder.
#[derive(Debug)]
pub struct ListFeedTree;

impl FromRequest for ListFeedTree {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// All followed feeds by folder.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedTreeResponse {
    /// Number of unread entries of all feeds.
    pub unread: i64,
    /// Number of starred entries, at most 1,000.
    pub starred: usize,
    /// Number of followed feeds.
    pub feed_count: usize,
    /// Number of feeds whose last fetch failed.
    pub failing: usize,
    /// The folders, by name. The feeds that are in no folder are in one without a name, the last one.
    pub folders: Vec<FeedFolder>,
    /// The end of the user's visit before this one; null during the first visit.
    pub last_visit_at: Option<Timestamp>,
}

/// A folder with its feeds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FeedFolder {
    /// Its name; null for the feeds that are in no folder.
    pub name: Option<String>,
    /// Number of unread entries of its feeds.
    pub unread: i64,
    /// Its feeds, by title.
    pub feeds: Vec<FollowedFeed>,
}

impl Operation for ListFeedTree {
    type Reply = FeedTreeResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    fn count(reply: &FeedTreeResponse) -> Option<usize> {
        Some(reply.feed_count)
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FeedTreeResponse, Error> {
        let (user, db) = (caller.user, ctx.core.db.read());
        let last_visit_at = web_state::find(db, user).await?.and_then(|state| state.last_visit_at);
        let feeds = load_all(ctx, caller).await?;
        let starred = entry::Entity::owned_by(user)
            .filter(entry::Column::Starred.eq(true))
            .filter(entry::Column::Read.is_in([true, false]))
            .select_only()
            .column(entry::Column::Id)
            .limit(MAX_COUNTED_STARS)
            .into_tuple::<EntryId>()
            .all(db)
            .await?;
        Ok(FeedTreeResponse {
            unread: feeds.iter().map(|feed| feed.feed.unread_count).sum(),
            starred: starred.len(),
            feed_count: feeds.len(),
            failing: feeds.iter().filter(|feed| feed.is_failing()).count(),
            folders: by_folder(feeds),
            last_visit_at,
        })
    }
}

/// Loads all feeds of the caller, in the order in which they were followed.
async fn load_all(ctx: &OperationContext, caller: &Caller) -> Result<Vec<FollowedFeed>, Error> {
    let db = ctx.core.db.read();
    let rows = feed::Entity::owned_by(caller.user).order_by_asc(feed::Column::Id).all(db).await?;
    let mut feeds = Vec::with_capacity(rows.len());
    for batch in rows.chunks(BATCH_ROWS) {
        feeds.extend(view::load_followed(db, caller.user, batch.to_vec()).await?);
    }
    Ok(feeds)
}

/// Groups feeds by their folder: the folders by name, then the feeds without one. The feeds of each are in the order of their titles.
fn by_folder(mut feeds: Vec<FollowedFeed>) -> Vec<FeedFolder> {
    feeds.sort_by_cached_key(|feed| feed.feed.title.to_lowercase());
    let mut folders: BTreeMap<(bool, String), FeedFolder> = BTreeMap::new();
    for feed in feeds {
        let name = feed.feed.folder.clone();
        let key = (name.is_none(), name.clone().unwrap_or_default());
        let folder = folders.entry(key).or_insert_with(|| FeedFolder { name, unread: 0, feeds: Vec::new() });
        folder.unread += feed.feed.unread_count;
        folder.feeds.push(feed);
    }
    folders.into_values().collect()
}
