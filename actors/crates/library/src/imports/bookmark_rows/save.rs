//! Saves a single page.

use entity::bookmark;
use jobs::Priority;
use sea_orm::ConnectionTrait;
use values::kind::ImportedKind;
use values::time::Timestamp;
use web::PageUrl;

use super::super::rows::result::RowResult;
use super::super::session::ImportSession;
use super::merge::add_to_bookmark;
use crate::bookmarks::{self, NewBookmark};
use errors::Error;

/// Saves a page, or adds to the existing bookmark what that lacks. Also returns the bookmark's row if it was created.
///
/// # Errors
/// [`Error::UrlRejected`] when the URL is not valid.
pub async fn save_page(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    new: NewBookmark,
    now: Timestamp,
) -> Result<(RowResult, Option<bookmark::Model>), Error> {
    let user = session.import().user_id;
    let key = PageUrl::parse(&new.url)?.key();
    if let Some(existing) = bookmarks::find_by_url(txn, user, &key).await? {
        return Ok((add_to_bookmark(session, txn, existing, &new, now).await?, None));
    }
    let saved = bookmarks::save_in_transaction(txn, user, new.clone(), Priority::Backlog, None, now).await?;
    let row = saved.row;
    if !saved.is_created {
        // Another request saved it between the query and the insert.
        return Ok((add_to_bookmark(session, txn, row, &new, now).await?, None));
    }
    Ok((RowResult::of(ImportedKind::Bookmark, row.id.0, true), Some(row)))
}
