//! Saved pages as a list for browsers (Netscape bookmarks), in folders that are the collections. A page in several collections is
//! listed in each of them.

use std::collections::HashMap;

use database::Connection;
use entity::{bookmark, collection, collection_bookmark};
use parse::archive::BookmarkRecord;
use quick_xml::escape::escape;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use values::id::{BookmarkId, CollectionId, UserId};
use values::kind::BookmarkKind;

use super::archive::ArchiveSender;
use super::context::BATCH_ROWS;
use super::relations::BookmarkRelations;
use errors::Error;

const HEADER: &str = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n\
    <META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=UTF-8\">\n\
    <TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>\n";
/// The end of a folder and of the list.
const LIST_END: &str = "</DL><p>\n";

/// A step of the traversal of the folders.
enum FolderStep {
    Open(collection::Model),
    Close,
}

/// Writes the list of a user's pages into the archive.
///
/// # Errors
/// The errors of [`ArchiveSender`], when the archive cannot be written.
pub(super) async fn write(db: &Connection, user: UserId, archive: ArchiveSender<'_>) -> Result<(), Error> {
    archive.start_file("bookmarks.html").await?;
    archive.write_text(HEADER).await?;
    // Descending, because steps are taken from the end. A stack rather than recursion, because nesting has no bound.
    let collections = collection::Entity::owned_by(user).order_by_desc(collection::Column::Name);
    let mut children: HashMap<Option<CollectionId>, Vec<FolderStep>> = HashMap::new();
    for row in collections.all(db).await? {
        children.entry(row.parent_id).or_default().push(FolderStep::Open(row));
    }
    let mut steps = children.remove(&None).unwrap_or_default();
    while let Some(step) = steps.pop() {
        match step {
            FolderStep::Open(folder) => {
                let heading = format!("<DT><H3>{}</H3>\n<DL><p>\n", escape(folder.name.as_str()));
                archive.write_text(&heading).await?;
                write_folder(db, user, archive, folder.id).await?;
                steps.push(FolderStep::Close);
                steps.extend(children.remove(&Some(folder.id)).unwrap_or_default());
            }
            FolderStep::Close => archive.write_text(LIST_END).await?,
        }
    }
    let bookmark_of_row = Expr::col((collection_bookmark::Entity, collection_bookmark::Column::BookmarkId));
    let in_any_folder = Query::select()
        .column(collection_bookmark::Column::BookmarkId)
        .from(collection_bookmark::Entity)
        .and_where(Expr::col(collection_bookmark::Column::UserId).eq(user))
        .and_where(bookmark_of_row.equals((bookmark::Entity, bookmark::Column::Id)))
        .to_owned();
    write_unfiled(db, user, archive, Expr::exists(in_any_folder).not()).await?;
    archive.write_text(LIST_END).await
}

/// Writes the saved pages in a collection, batch by batch. The batches are of the rows of the collection: a query of bookmarks would
/// read all of the user for each collection.
async fn write_folder(
    db: &Connection,
    user: UserId,
    archive: ArchiveSender<'_>,
    collection: CollectionId,
) -> Result<(), Error> {
    use collection_bookmark::Column;
    let filed = collection_bookmark::Entity::owned_by(user)
        .filter(Column::CollectionId.eq(collection))
        .order_by_asc(Column::BookmarkId)
        .limit(BATCH_ROWS)
        .select_only()
        .column(Column::BookmarkId);
    let mut after: Option<BookmarkId> = None;
    loop {
        let next = after.map(|after| Column::BookmarkId.gt(after));
        let next = next.into_iter().fold(filed.clone(), QueryFilter::filter);
        let ids: Vec<BookmarkId> = next.into_tuple().all(db).await?;
        let Some(last) = ids.last() else { return Ok(()) };
        after = Some(*last);
        let mut batch = pages(user).filter(bookmark::Column::Id.is_in(ids)).all(db).await?;
        batch.sort_by_key(|row| row.id);
        write_batch(db, user, archive, &batch).await?;
    }
}

/// Selects the saved pages of a user.
fn pages(user: UserId) -> Select<bookmark::Entity> {
    bookmark::Entity::visible_to(user).filter(bookmark::Column::Kind.eq(BookmarkKind::Page))
}

/// Writes the saved pages that fulfil the condition, batch by batch.
async fn write_unfiled(
    db: &Connection,
    user: UserId,
    archive: ArchiveSender<'_>,
    condition: Expr,
) -> Result<(), Error> {
    let pages = pages(user).filter(condition).order_by_asc(bookmark::Column::Id).limit(BATCH_ROWS);
    let mut after: Option<BookmarkId> = None;
    loop {
        let next = after.map(|after| bookmark::Column::Id.gt(after));
        let batch = next.into_iter().fold(pages.clone(), QueryFilter::filter).all(db).await?;
        let Some(last) = batch.last() else { return Ok(()) };
        after = Some(last.id);
        write_batch(db, user, archive, &batch).await?;
    }
}

async fn write_batch(
    db: &Connection,
    user: UserId,
    archive: ArchiveSender<'_>,
    batch: &[bookmark::Model],
) -> Result<(), Error> {
    let relations = BookmarkRelations::load(db, user, batch).await?;
    for row in batch {
        archive.write_text(&list_item(&relations.record(row), relations.title(row))).await?;
    }
    Ok(())
}

/// Returns the list item of a bookmark.
fn list_item(bookmark: &BookmarkRecord, title: &str) -> String {
    let tags = escape(bookmark.tags.join(","));
    let (url, title) = (escape(bookmark.url.as_str()), escape(title));
    let mut item = format!(
        "<DT><A HREF=\"{url}\" ADD_DATE=\"{}\" TAGS=\"{tags}\">{title}</A>\n",
        // Browsers read seconds here.
        bookmark.saved_at.millis() / 1000
    );
    if let Some(notes) = &bookmark.notes {
        item.push_str(&format!("<DD>{}\n", escape(notes.as_str())));
    }
    item
}
