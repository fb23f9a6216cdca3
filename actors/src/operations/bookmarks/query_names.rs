//! The feeds and collections that a query names.

use std::str::FromStr;

use entity::{collection, feed};
use errors::Error;
use library::feeds::{display_title, source};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use values::id::{CollectionId, FeedId, UserId};

/// Feeds that are read together.
const FEED_PAGE_ROWS: u64 = 500;

/// Returns the collections of the user with this id or this name; case counts.
pub(super) async fn find_collections(
    db: &impl ConnectionTrait,
    user: UserId,
    name: &str,
) -> Result<Vec<CollectionId>, Error> {
    let found = match CollectionId::from_str(name) {
        Ok(id) => collection::Entity::one_of(user, id),
        Err(_) => collection::Entity::owned_by(user).filter(collection::Column::Name.eq(name)),
    };
    Ok(found.select_only().column(collection::Column::Id).into_tuple().all(db).await?)
}

/// Returns the feeds of the user with this id, or whose title or URL contains the text; case does not count.
pub(super) async fn find_feeds(
    db: &impl ConnectionTrait,
    user: UserId,
    text: &str,
) -> Result<Vec<FeedId>, Error> {
    if let Ok(id) = FeedId::from_str(text) {
        let found = feed::Entity::one_of(user, id).one(db).await?;
        return Ok(found.into_iter().map(|row| row.id).collect());
    }
    let text = text.to_lowercase();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let mut page = feed::Entity::owned_by(user).order_by_asc(feed::Column::Id).limit(FEED_PAGE_ROWS);
        if let Some(after) = after {
            page = page.filter(feed::Column::Id.gt(after));
        }
        let feeds = page.all(db).await?;
        let Some(last) = feeds.last() else { return Ok(found) };
        after = Some(last.id);
        let sources = source::find_many(db, feeds.iter().map(|row| row.source_id)).await?;
        let contains = |value: &str| value.to_lowercase().contains(&text);
        let matches = feeds.iter().filter(|row| {
            let title = sources.get(&row.source_id).map(|source| display_title(row, source));
            contains(&row.url) || title.is_some_and(|title| contains(&title))
        });
        found.extend(matches.map(|row| row.id));
    }
}
