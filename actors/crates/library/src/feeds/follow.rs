//! The feeds that a user follows, each a separate row that refers to a shared source.

use entity::{feed, feed_source};
use errors::Error;
use jobs::{JobKind, Priority};
use parse::feed::{Feed, Outline};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, TryInsertResult};
use values::id::{FeedId, FeedSourceId, UserId};
use values::time::Timestamp;
use web::{Guard, PageUrl};

use super::source::{self, Validators};
use crate::RACE_RETRY_AFTER;

/// Longest title or folder that is taken from a list. Longer ones are cut.
const MAX_NAME_CHARS: usize = 300;

/// Parses the URL of a feed.
///
/// # Errors
/// [`Error::UrlRejected`] when it is not an absolute http or https URL.
pub fn parse_url(url: &str) -> Result<PageUrl, Error> {
    Ok(PageUrl::parse(url)?)
}

/// Parses the URL of a feed; returns `None` if it is malformed or may not be fetched.
pub fn followable_url(url: &str, guard: &Guard) -> Option<PageUrl> {
    parse_url(url).ok().filter(|url| guard.check_url(url).is_ok())
}

/// Returns the user's feed whose source has this URL.
pub async fn find_followed(
    db: &impl ConnectionTrait,
    user: UserId,
    url: &PageUrl,
) -> Result<Option<feed::Model>, Error> {
    let Some(source) = source::find_by_url(db, &url.normalized()).await? else { return Ok(None) };
    Ok(feed::Entity::owned_by(user).filter(feed::Column::SourceId.eq(source.id)).one(db).await?)
}

/// A feed that a user begins to follow.
#[derive(Debug)]
pub struct NewFeed<'a> {
    /// The user who begins to follow the feed.
    pub user: UserId,
    /// The URL of the feed, by which its source is found or created.
    pub url: &'a PageUrl,
    /// A title that replaces the feed's own.
    pub title: Option<String>,
    /// The folder in which the feed is listed; `None` for no folder.
    pub folder: Option<String>,
    /// Whether to fetch the page of an entry if the feed contains only a summary.
    pub full_text: bool,
}

impl NewFeed<'_> {
    fn into_row(self, source: FeedSourceId, now: Timestamp) -> feed::Model {
        feed::Model {
            id: FeedId::new(now),
            user_id: self.user,
            source_id: source,
            url: self.url.as_str().to_owned(),
            title: self.title,
            folder: self.folder,
            full_text: self.full_text,
            created_at: now,
        }
    }
}

/// Follows a feed that a search found. If the search fetched it, the source and all its followers get what it fetched. Returns
/// `false` if the user follows the feed already.
///
/// # Errors
/// [`Error::Busy`] when the user's feed was removed meanwhile.
pub async fn follow_found(
    txn: &impl ConnectionTrait,
    new: NewFeed<'_>,
    feed: &Feed,
    fetched: Option<Validators>,
    now: Timestamp,
) -> Result<(feed::Model, bool), Error> {
    // The source first: its row is shared by all followers, and this locks it until the transaction ends.
    let source = source::get_or_create(txn, new.url, now).await?;
    let id = source.id;
    if let Some(validators) = fetched {
        source::record_feed(txn, source, feed, validators, now).await?;
        source::enqueue_deliveries(txn, id, None, now).await?;
    }
    insert(txn, new.into_row(id, now)).await
}

/// Follows a feed of a list without fetching its URL first. Returns `false` if the user follows it already.
///
/// # Errors
/// The same as those of [`follow_found`].
pub async fn follow_listed(
    txn: &impl ConnectionTrait,
    user: UserId,
    url: &PageUrl,
    outline: &Outline,
    full_text: bool,
    now: Timestamp,
) -> Result<(FeedId, bool), Error> {
    let source = source::get_or_create(txn, url, now).await?;
    let read = |name: &Option<String>| {
        let name = name.as_deref().map(|name| text::cut(&text::without_controls(name), MAX_NAME_CHARS));
        name.filter(|name| !name.trim().is_empty())
    };
    let (title, folder) = (read(&outline.title), read(&outline.folder));
    let new = NewFeed { user, url, title, folder, full_text };
    let (row, created) = insert(txn, new.into_row(source.id, now)).await?;
    // A source that was never fetched is due now: its first fetch delivers.
    if created && source.fetched_at.is_some() {
        jobs::enqueue(txn, user, JobKind::DeliverEntries, row.id.0, Priority::Backlog, now).await?;
    }
    if created {
        source::retry_without_room(txn, &source, now).await?;
    }
    Ok((row.id, created))
}

/// Inserts a feed. If its user follows the source already, returns the existing row and `false`.
async fn insert(txn: &impl ConnectionTrait, row: feed::Model) -> Result<(feed::Model, bool), Error> {
    let followed =
        OnConflict::columns([feed::Column::SourceId, feed::Column::UserId]).do_nothing().to_owned();
    let inserted = feed::Entity::insert(row.clone().into_active_model())
        .on_conflict(followed)
        .try_insert()
        .exec_without_returning(txn)
        .await?;
    if matches!(inserted, TryInsertResult::Inserted(1)) {
        return Ok((row, true));
    }
    // The insert saw a row that another transaction may have removed by now.
    let existing = feed::Entity::owned_by(row.user_id).filter(feed::Column::SourceId.eq(row.source_id));
    Ok((existing.one(txn).await?.ok_or(Error::Busy(RACE_RETRY_AFTER))?, false))
}

/// Returns the title that the follower gave the feed, else the feed's own, else its URL.
pub fn display_title(feed: &feed::Model, source: &feed_source::Model) -> String {
    feed.title.as_ref().or(source.title.as_ref()).unwrap_or(&feed.url).clone()
}
