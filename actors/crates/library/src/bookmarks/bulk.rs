//! Many new pages in a few statements, as a list of them comes in.

use std::collections::HashSet;

use database::insert_all;
use entity::id::{BookmarkId, UserId};
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, collection_bookmark, document, entry};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use web::PageUrl;

use super::save::{self, NewBookmark, give, is_filed, is_saved, is_tagged};
use errors::Error;
use jobs::{Priority, JobKind};
use actors::operations::notes;

/// What became of a page.
#[derive(Debug)]
pub enum Saved {
    /// It is a bookmark now.
    New(BookmarkId),
    /// Its address is saved already, is that of a feed's entry, or stood in the lot before: [`save::save_in`] looks at it
    /// by itself.
    Left(Box<NewBookmark>),
}

/// A page that is being made, and its place in the lot.
struct Fresh {
    place: usize,
    new: NewBookmark,
    row: bookmark::Model,
    document: document::Model,
}

/// Saves the pages that are new, in the caller's transaction; their collections are the user's own. What became of each
/// comes in their order.
///
/// # Errors
/// An address that is none; the database.
pub async fn save_new(
    txn: &impl ConnectionTrait,
    user: UserId,
    pages: Vec<NewBookmark>,
    priority: Priority,
    now: Timestamp,
) -> Result<Vec<Saved>, Error> {
    let mut addresses = Vec::with_capacity(pages.len());
    for page in &pages {
        addresses.push(PageUrl::parse(&page.url)?);
    }
    let mut known = known(txn, user, addresses.iter().map(PageUrl::key)).await?;
    let (mut saved, mut fresh) = (Vec::with_capacity(pages.len()), Vec::new());
    for (place, (new, address)) in pages.into_iter().zip(&addresses).enumerate() {
        if known.insert(address.key()) {
            let (row, document) = save::rows(user, address, &new, now);
            saved.push(Saved::New(row.id));
            fresh.push(Fresh { place, new, row, document });
        } else {
            saved.push(Saved::Left(Box::new(new)));
        }
    }
    // In one order everywhere: two that save the same pages do not wait for each other.
    fresh.sort_by(|a: &Fresh, b| a.row.normalized_url.cmp(&b.row.normalized_url));
    insert_all::<document::Entity>(txn, fresh.iter().map(|page| page.document.clone()), None).await?;
    let rows = fresh.iter().map(|page| page.row.clone());
    let made = insert_all::<bookmark::Entity>(txn, rows, Some(&is_saved())).await?;
    if made < fresh.len() as u64 {
        for Fresh { place, new, .. } in overtaken(txn, user, &mut fresh).await? {
            if let Some(saved) = saved.get_mut(place) {
                *saved = Saved::Left(Box::new(new));
            }
        }
    }
    complete(txn, user, fresh, priority, now).await?;
    Ok(saved)
}

/// The addresses of these that are bookmarks' or entries'.
async fn known(
    txn: &impl ConnectionTrait,
    user: UserId,
    addresses: impl Iterator<Item = String>,
) -> Result<HashSet<String>, Error> {
    let (mut known, addresses) = (HashSet::new(), addresses.collect::<Vec<_>>());
    for some in addresses.chunks(save::AT_ONCE) {
        let saved = bookmark::Entity::owned_by(user)
            .filter(bookmark::Column::NormalizedUrl.is_in(some))
            .select_only()
            .column(bookmark::Column::NormalizedUrl);
        known.extend(saved.into_tuple::<String>().all(txn).await?);
        let entries = entry::Entity::owned_by(user)
            .filter(entry::Column::NormalizedUrl.is_in(some))
            .select_only()
            .column(entry::Column::NormalizedUrl);
        known.extend(entries.into_tuple::<String>().all(txn).await?);
    }
    Ok(known)
}

/// Takes those out that another node saved between the look and the insert.
async fn overtaken(
    txn: &impl ConnectionTrait,
    user: UserId,
    fresh: &mut Vec<Fresh>,
) -> Result<Vec<Fresh>, Error> {
    let there = bookmark::Entity::owned_by(user)
        .filter(bookmark::Column::Id.is_in(fresh.iter().map(|page| page.row.id)))
        .select_only()
        .column(bookmark::Column::Id);
    let there: HashSet<BookmarkId> = there.into_tuple().all(txn).await?.into_iter().collect();
    let lost: Vec<Fresh> = fresh.extract_if(.., |page| !there.contains(&page.row.id)).collect();
    document::Entity::delete_many()
        .filter(document::Column::UserId.eq(user))
        .filter(document::Column::Id.is_in(lost.iter().map(|page| page.document.id)))
        .exec(txn)
        .await?;
    Ok(lost)
}

/// Everything that comes with the bookmarks that were made now, and the work that makes them text.
async fn complete(
    txn: &impl ConnectionTrait,
    user: UserId,
    mut fresh: Vec<Fresh>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let tags = fresh.iter().flat_map(|page| {
        let row = |name: &String| bookmark_tag::Model {
            bookmark_id: page.row.id,
            name: name.clone(),
            user_id: user,
        };
        page.new.tags.iter().map(row)
    });
    insert_all::<bookmark_tag::Entity>(txn, tags, Some(&is_tagged())).await?;
    let places = fresh.iter().flat_map(|page| {
        let row = |collection: &_| collection_bookmark::Model {
            collection_id: *collection,
            bookmark_id: page.row.id,
            user_id: user,
            added_at: now,
        };
        page.new.collections.iter().map(row)
    });
    insert_all::<collection_bookmark::Entity>(txn, places, Some(&is_filed())).await?;
    for page in &mut fresh {
        if let Some(body) = page.new.notes.take() {
            notes::write_on_bookmark(txn, &page.row, &body, priority, now).await?;
        }
    }
    for work in [JobKind::Page, JobKind::Text] {
        let some = fresh.iter().filter(|page| save::work(&page.new) == work);
        jobs::enqueue_all(txn, user, work, some.map(|page| page.document.id.0), priority, now).await?;
    }
    let contents = fresh.into_iter().filter_map(|page| Some((page.document.id, page.new.content?)));
    give(txn, user, contents).await
}
