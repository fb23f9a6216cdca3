//! The URLs of bookmarks: which may be saved, and which bookmark has one.

use std::collections::HashMap;

use database::padded;
use entity::bookmark;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{BookmarkId, UserId};
use web::{Guard, PageUrl};

use errors::Error;

/// Requires an absolute http or https URL.
///
/// # Errors
/// [`Error::UrlRejected`] when it is anything else, or contains a user name or a password.
pub fn require_url(url: &str) -> Result<(), Error> {
    PageUrl::parse(url)?;
    Ok(())
}

/// Requires that the page of a URL may be fetched: a URL with an IP address must not lead to a private or reserved network.
///
/// # Errors
/// [`Error::UrlRejected`] when the URL is not valid or leads to such a network. A host name is resolved only when it is fetched.
pub fn require_fetchable(url: &str, guard: &Guard) -> Result<(), Error> {
    Ok(guard.check_url(&PageUrl::parse(url)?)?)
}

/// Requires that a URL may be saved without content: its page may be fetched, or it is a bookmark already, so that nothing is
/// fetched. The latter can be an upload, whose URL is the server's own.
///
/// # Errors
/// [`Error::UrlRejected`] when neither holds.
pub async fn require_savable(
    db: &impl ConnectionTrait,
    user: UserId,
    url: &str,
    guard: &Guard,
) -> Result<(), Error> {
    let page = PageUrl::parse(url)?;
    let Err(rejection) = guard.check_url(&page) else { return Ok(()) };
    find_by_url(db, user, &page.key()).await?.map(drop).ok_or_else(|| rejection.into())
}

/// Returns the user's bookmark with this normalised URL ([`PageUrl::key`]); `None` also if it is deleted.
pub async fn find_by_url(
    db: &impl ConnectionTrait,
    user: UserId,
    normalized: &str,
) -> Result<Option<bookmark::Model>, Error> {
    let own = bookmark::Entity::visible_to(user).filter(bookmark::Column::NormalizedUrl.eq(normalized));
    Ok(own.one(db).await?)
}

/// Returns the user's bookmarks with these normalised URLs ([`PageUrl::key`]), by their URLs. Deleted ones are left out.
pub async fn find_by_urls(
    db: &impl ConnectionTrait,
    user: UserId,
    normalized: &[String],
) -> Result<HashMap<String, BookmarkId>, Error> {
    if normalized.is_empty() {
        return Ok(HashMap::new());
    }
    let own = bookmark::Entity::visible_to(user)
        .filter(bookmark::Column::NormalizedUrl.is_in(padded(normalized)))
        .select_only()
        .columns([bookmark::Column::NormalizedUrl, bookmark::Column::Id]);
    let rows: Vec<(String, BookmarkId)> = own.into_tuple().all(db).await?;
    Ok(rows.into_iter().collect())
}
