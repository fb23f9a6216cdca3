//! How a page comes into a library, by whichever way: bookmark, document, marks and the job for its text are one
//! transaction, so what was acknowledged is there and will become text.

use std::collections::BTreeSet;
use std::time::Duration;

use database::insert_all;
use entity::id::{BookmarkId, CollectionId, DocumentId, UserId};
use entity::kind::{BookmarkKind, ContentType, SourceForm};
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, collection, collection_bookmark, document, entry, source};
use sea_orm::sea_query::{Expr, LockType, OnConflict};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect, Select,
};
use web::{Guard, PageUrl};

use actors::auth::caller::Caller;
use crate::context::CoreContext;
use errors::Error;
use crate::feeds::saved;
use jobs::{Priority, JobKind};
use crate::library_quota::LibraryRoom;
use actors::operations::notes;
use crate::owned_transaction::begin_request;

/// So many ids stand in one statement at most.
pub const AT_ONCE: usize = 500;

/// A page to be saved.
#[derive(Clone, Debug, Default)]
pub struct NewBookmark {
    /// Its address, as given.
    pub url: String,
    /// A title instead of the page's own.
    pub title: Option<String>,
    /// Tags, each once.
    pub tags: Vec<String>,
    /// The person's notes.
    pub notes: Option<String>,
    /// Collections to put it in.
    pub collections: Vec<CollectionId>,
    /// Marked as a favourite.
    pub favorite: bool,
    /// Put away.
    pub archived: bool,
    /// How far it is read.
    pub progress: f64,
    /// When it was saved, where that was not now.
    pub saved_at: Option<Timestamp>,
    /// The content itself; none is to be fetched.
    pub content: Option<Content>,
}

impl NewBookmark {
    /// Bytes of text that come with the save.
    fn text_bytes(&self) -> usize {
        let content = self.content.as_ref().map_or(0, |content| content.body.len());
        let notes = self.notes.as_ref().map_or(0, String::len);
        content.saturating_add(notes)
    }
}

/// When to come again where too much waits to be read.
const FULL: Duration = Duration::from_secs(60);

/// Content that was given.
#[derive(Clone, Debug)]
pub struct Content {
    /// HTML or text.
    pub form: SourceForm,
    /// As given.
    pub body: String,
    /// The same as HTML that is safe to show, where it is known.
    pub html: Option<String>,
    /// Its headings as JSON, where they are known.
    pub outline: Option<String>,
}

/// Whether a page at this address may be fetched: literal addresses that lead inside are refused at once.
pub fn may_fetch(url: &str, guard: &Guard) -> Result<(), Error> {
    Ok(guard.check_url(&parse(url)?)?)
}

/// Whether a page may be saved by its address alone: it may be fetched, or it is a bookmark already, so nothing is fetched. That can
/// be an upload, whose address is the service's own.
///
/// # Errors
/// [`Error::UrlRejected`]; the database fails.
pub async fn may_save(
    db: &impl ConnectionTrait,
    user: UserId,
    url: &str,
    guard: &Guard,
) -> Result<(), Error> {
    let page = parse(url)?;
    let Err(rejection) = guard.check_url(&page) else { return Ok(()) };
    with_address(db, user, &page.key()).await?.map(drop).ok_or_else(|| rejection.into())
}

/// Whether this is the address of a page at all.
pub fn must_be_address(url: &str) -> Result<(), Error> {
    parse(url).map(drop)
}

fn parse(url: &str) -> Result<PageUrl, Error> {
    Ok(PageUrl::parse(url)?)
}

/// Trims tags and says each once, in the order in which they were given.
pub fn tidy_tags(tags: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let trimmed = tags.into_iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty());
    trimmed.filter(|tag| seen.insert(tag.clone())).collect()
}

/// Saves a page. An address that is saved already only gets the tags (`false`).
///
/// # Errors
/// [`Error::LibraryFull`] when the new texts exceed the size of the caller's library; then nothing is saved.
pub async fn save(
    core: &CoreContext,
    caller: &Caller,
    new: NewBookmark,
    priority: Priority,
) -> Result<(bookmark::Model, bool), Error> {
    let txn = begin_request(&core.db, caller).await?;
    let room = LibraryRoom::of_caller(&txn, core, caller).await?;
    if !room.fits(new.text_bytes()) {
        // Checked before megabytes are written and rolled back. For a page that exists only the tags are new.
        own_collections(&txn, caller.user, &new.collections).await?;
        let key = parse(&new.url)?.key();
        if with_address(&txn, caller.user, &key).await?.is_none() {
            room.must_fit(new.text_bytes())?;
        }
    }
    let saved = save_in(&txn, caller.user, new, priority, core.clock.now()).await?;
    room.must_hold(&txn).await?;
    txn.commit().await?;
    Ok(saved)
}

/// Saves a page within a transaction.
pub async fn save_in(
    txn: &impl ConnectionTrait,
    user: UserId,
    new: NewBookmark,
    priority: Priority,
    now: Timestamp,
) -> Result<(bookmark::Model, bool), Error> {
    own_collections(txn, user, &new.collections).await?;
    let (row, document) = rows(user, &parse(&new.url)?, &new, now);
    if let Some(there) = locked(txn, user, &row.normalized_url).await? {
        let changed = add_tags(txn, &there, &new.tags).await?;
        return Ok((if changed { touch(txn, there, now).await? } else { there }, false));
    }
    // A backlog waits before it comes here.
    if priority == Priority::Now && !jobs::has_room(txn, user, priority).await? {
        return Err(Error::Busy(FULL));
    }
    if let Some((entry, document)) = saved::entry_at(txn, user, &row.normalized_url).await? {
        return save_entry(txn, row, &entry, document, new, priority, now).await;
    }
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    if !insert(txn, row.clone()).await? {
        // Another node saved it between the look and the insert: this one only adds its tags.
        document::Entity::delete_by_id(document.id).exec(txn).await?;
        let there = with_address(txn, user, &row.normalized_url).await?.ok_or(Error::StillRunning)?;
        add_tags(txn, &there, &new.tags).await?;
        return Ok((there, false));
    }
    let work = work(&new);
    complete(txn, &row, &document, new, priority, now).await?;
    jobs::enqueue(txn, row.user_id, work, document.id.0, priority, now).await?;
    Ok((row, true))
}

/// The bookmark with this address, held; none where it went before it was.
async fn locked(
    txn: &impl ConnectionTrait,
    user: UserId,
    normalized: &str,
) -> Result<Option<bookmark::Model>, Error> {
    let Some(there) = with_address(txn, user, normalized).await? else { return Ok(None) };
    let held = lock(txn, bookmark::Entity::one_of(user, there.id)).await?;
    Ok((!held.is_empty()).then_some(there))
}

/// Saves the page of an entry: the two have one document. What the feed gave of it stays where that is the whole.
async fn save_entry(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    entry: &entry::Model,
    document: document::Model,
    new: NewBookmark,
    priority: Priority,
    now: Timestamp,
) -> Result<(bookmark::Model, bool), Error> {
    let row = bookmark::Model { document_id: document.id, ..row };
    if !insert(txn, row.clone()).await? {
        let there = with_address(txn, row.user_id, &row.normalized_url).await?.ok_or(Error::StillRunning)?;
        add_tags(txn, &there, &new.tags).await?;
        return Ok((there, false));
    }
    saved::attach(txn, &document, Some(row.id), now).await?;
    // On PostgreSQL a transcript may have been stored since the first read, and no page may replace it. The update above locks the
    // document, so a transcript that is stored from here on cancels the job that is queued below.
    let (entry, document) = saved::reread(txn, entry, document).await?;
    if let Some(title) = &new.title {
        document::Entity::update_many()
            .col_expr(document::Column::Title, Expr::value(title))
            .col_expr(document::Column::TitleGiven, Expr::value(true))
            .filter(document::Column::UserId.eq(row.user_id))
            .filter(document::Column::Id.eq(document.id))
            .exec(txn)
            .await?;
    }
    let given = new.content.is_some();
    if given {
        // What is given is the whole; nothing is fetched.
        entry::Entity::update_many()
            .col_expr(entry::Column::Whole, Expr::value(true))
            .filter(entry::Column::UserId.eq(row.user_id))
            .filter(entry::Column::Id.eq(entry.id))
            .exec(txn)
            .await?;
    }
    let renamed = new.title.is_some() && document.version > 0;
    complete(txn, &row, &document, new, priority, now).await?;
    if given || !entry.whole {
        let work = if given { JobKind::Text } else { JobKind::Page };
        jobs::enqueue(txn, row.user_id, work, document.id.0, priority, now).await?;
    } else if renamed {
        jobs::enqueue(txn, row.user_id, JobKind::Index, document.id.0, priority, now).await?;
    }
    Ok((row, true))
}

/// Everything that comes with a bookmark that was made now.
pub async fn complete(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    document: &document::Model,
    new: NewBookmark,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    add_tags(txn, row, &new.tags).await?;
    for collection in new.collections {
        put_in(txn, row.user_id, collection, row.id, now).await?;
    }
    if let Some(body) = new.notes {
        notes::write_on_bookmark(txn, row, &body, priority, now).await?;
    }
    if let Some(content) = new.content {
        give(txn, row.user_id, [(document.id, content)]).await?;
    }
    Ok(())
}

/// Keeps what came with saves, or with a feed's entries, until it is read; what comes anew goes over what was.
pub async fn give(
    txn: &impl ConnectionTrait,
    user: UserId,
    contents: impl IntoIterator<Item = (DocumentId, Content)>,
) -> Result<(), Error> {
    let rows = contents.into_iter().map(|(document_id, Content { form, body, html, outline })| {
        source::Model { document_id, user_id: user, form, body, html, outline }
    });
    let instead = OnConflict::column(source::Column::DocumentId)
        .update_columns([
            source::Column::Form,
            source::Column::Body,
            source::Column::Html,
            source::Column::Outline,
        ])
        .to_owned();
    insert_all::<source::Entity>(txn, rows, Some(&instead)).await?;
    Ok(())
}

/// The rows of a page that is new.
pub(super) fn rows(
    user: UserId,
    address: &PageUrl,
    new: &NewBookmark,
    now: Timestamp,
) -> (bookmark::Model, document::Model) {
    let (id, title) = (BookmarkId::new(now), new.title.clone());
    let document = document::Model {
        url: Some(address.as_str().to_owned()),
        title_given: title.is_some(),
        bookmark_id: Some(id),
        ..document::Model::pending(
            user,
            ContentType::Article,
            title.unwrap_or_else(|| address.as_str().to_owned()),
            now,
        )
    };
    let row = bookmark::Model {
        id,
        user_id: user,
        document_id: document.id,
        kind: BookmarkKind::Page,
        url: address.as_str().to_owned(),
        normalized_url: address.key(),
        favorite: new.favorite,
        archived: new.archived,
        progress: new.progress,
        saved_at: new.saved_at.unwrap_or(now),
        created_at: now,
        updated_at: now,
        deleted_at: None,
    };
    (row, document)
}

/// By what a page that is new becomes text.
pub(super) fn work(new: &NewBookmark) -> JobKind {
    if new.content.is_some() { JobKind::Text } else { JobKind::Page }
}

async fn insert(txn: &impl ConnectionTrait, row: bookmark::Model) -> Result<bool, Error> {
    Ok(insert_all::<bookmark::Entity>(txn, [row], Some(&is_saved())).await? == 1)
}

/// An address that is saved already is not saved twice.
pub(super) fn is_saved() -> OnConflict {
    OnConflict::columns([bookmark::Column::UserId, bookmark::Column::NormalizedUrl])
        .target_and_where(Expr::cust("deleted_at IS NULL"))
        .do_nothing()
        .to_owned()
}

/// The bookmark with this normalised address.
pub async fn with_address(
    db: &impl ConnectionTrait,
    user: UserId,
    normalized: &str,
) -> Result<Option<bookmark::Model>, Error> {
    let saved = bookmark::Entity::owned_by(user).filter(bookmark::Column::NormalizedUrl.eq(normalized));
    Ok(saved.one(db).await?)
}

/// Adds tags; whether any was new.
pub async fn add_tags(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    tags: &[String],
) -> Result<bool, Error> {
    // In one order everywhere, or two nodes could wait for each other's rows.
    let rows: Vec<_> = tags
        .iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|name| bookmark_tag::Model { bookmark_id: row.id, name: name.clone(), user_id: row.user_id })
        .collect();
    Ok(insert_all::<bookmark_tag::Entity>(txn, rows, Some(&is_tagged())).await? > 0)
}

/// A bookmark has a tag once.
pub(super) fn is_tagged() -> OnConflict {
    OnConflict::columns([bookmark_tag::Column::BookmarkId, bookmark_tag::Column::Name])
        .do_nothing()
        .to_owned()
}

/// Keeps the chosen bookmarks to this transaction until it ends. Whoever writes what hangs on bookmarks, tags above all,
/// takes this first, and always in the order of their ids: two that change the same ones wait and never wait for each other.
pub async fn lock(
    txn: &impl ConnectionTrait,
    chosen: Select<bookmark::Entity>,
) -> Result<Vec<BookmarkId>, Error> {
    let ids = chosen.select_only().column(bookmark::Column::Id).order_by_asc(bookmark::Column::Id);
    Ok(ids.lock(LockType::NoKeyUpdate).into_tuple().all(txn).await?)
}

/// Says that something of these bookmarks changed now; they are locked already.
pub async fn touch_all(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
    now: Timestamp,
) -> Result<(), Error> {
    for some in ids.chunks(AT_ONCE) {
        bookmark::Entity::update_many()
            .col_expr(bookmark::Column::UpdatedAt, Expr::value(now))
            .filter(bookmark::Column::UserId.eq(user))
            .filter(bookmark::Column::Id.is_in(some.iter().copied()))
            .exec(txn)
            .await?;
    }
    Ok(())
}

/// Says that something of the bookmark changed now.
pub async fn touch(
    txn: &impl ConnectionTrait,
    mut row: bookmark::Model,
    now: Timestamp,
) -> Result<bookmark::Model, Error> {
    bookmark::Entity::update_many()
        .col_expr(bookmark::Column::UpdatedAt, Expr::value(now))
        .filter(bookmark::Column::UserId.eq(row.user_id))
        .filter(bookmark::Column::Id.eq(row.id))
        .exec(txn)
        .await?;
    row.updated_at = now;
    Ok(row)
}

/// Puts a bookmark into a collection; twice is once.
pub async fn put_in(
    txn: &impl ConnectionTrait,
    user: UserId,
    collection: CollectionId,
    bookmark: BookmarkId,
    now: Timestamp,
) -> Result<(), Error> {
    let row = collection_bookmark::Model {
        collection_id: collection,
        bookmark_id: bookmark,
        user_id: user,
        added_at: now,
    };
    insert_all::<collection_bookmark::Entity>(txn, [row], Some(&is_filed())).await?;
    Ok(())
}

/// A bookmark stands in a collection once.
pub(super) fn is_filed() -> OnConflict {
    OnConflict::columns([collection_bookmark::Column::CollectionId, collection_bookmark::Column::BookmarkId])
        .do_nothing()
        .to_owned()
}

/// Every collection is the user's own, and stays until the transaction ends.
pub async fn own_collections(
    txn: &impl ConnectionTrait,
    user: UserId,
    collections: &[CollectionId],
) -> Result<(), Error> {
    let wanted: BTreeSet<CollectionId> = collections.iter().copied().collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let own = collection::Entity::owned_by(user).filter(collection::Column::Id.is_in(wanted.iter().copied()));
    let own = own.order_by_asc(collection::Column::Id).lock(LockType::KeyShare).all(txn).await?;
    if own.len() == wanted.len() { Ok(()) } else { Err(Error::not_found()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_trimmed_and_said_once() {
        let given = [" a ", "b", "a", "", "  "].map(str::to_owned).to_vec();
        assert_eq!(tidy_tags(given), ["a", "b"]);
    }
}
