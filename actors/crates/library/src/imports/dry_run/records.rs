//! Previews the lines of an export. A dry run finds existing objects by the same rules as the import, and creates nothing.

use entity::{bookmark, project, project_item};
use parse::archive::{
    BookmarkRecord, CollectionRecord, EntryRecord, FeedRecord, HighlightRecord, ProjectItemRecord, Record,
};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use serde_json::Value;
use uuid::Uuid;
use values::id::{BookmarkId, CollectionId, FeedId};
use values::kind::ImportedKind;
use web::PageUrl;

use super::super::bookmark_rows::upload;
use super::super::reading::archive_file;
use super::super::restore;
use super::super::rows::result::RowResult;
use super::super::session::ImportSession;
use crate::{bookmarks, feeds};
use errors::Error;

/// Previews a line of an export. An object that would be created has no id yet, and so is not found as the parent of another.
pub async fn preview(
    session: &mut ImportSession,
    db: &impl ConnectionTrait,
    line: Value,
) -> Result<RowResult, Error> {
    let Some(record) = restore::read_record(line) else { return Ok(RowResult::unknown_record()) };
    let user = session.import().user_id;
    // The checks come in the same order as in `restore`, so that a skipped line has the same reason there.
    match record {
        Record::Collection(record) => preview_collection(session, db, &record).await,
        Record::Feed(record) => preview_feed(session, db, &record).await,
        Record::Bookmark(record) => preview_bookmark(session, db, &record).await,
        Record::Highlight(record) => preview_highlight(session, db, record).await,
        Record::Entry(record) => preview_entry(session, db, &record).await,
        Record::Project(record) if record.name.trim().is_empty() => Ok(RowResult::unknown_record()),
        Record::Project(record) => {
            let existing = restore::projects::same_project(user, &record).one(db).await?;
            Ok(created_unless(ImportedKind::Project, existing.map(|row| row.id.0)))
        }
        Record::Decision(record) => {
            let find = async |project| {
                let existing = restore::projects::same_decision(&project, &record).one(db).await?;
                Ok(existing.map(|row| row.id.0))
            };
            preview_in_project(session, db, (ImportedKind::Decision, record.project), find).await
        }
        Record::Note(record) => {
            let find = async |project| {
                let existing = restore::projects::same_note(&project, &record).one(db).await?;
                Ok(existing.map(|row| row.id.0))
            };
            preview_in_project(session, db, (ImportedKind::Note, record.project), find).await
        }
        Record::Item(record) => preview_item(session, db, &record).await,
    }
}

/// The result of a line whose object exists, or would be created.
fn created_unless(kind: ImportedKind, existing: Option<Uuid>) -> RowResult {
    RowResult::of(kind, existing.unwrap_or_default(), existing.is_none())
}

async fn preview_collection(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    record: &CollectionRecord,
) -> Result<RowResult, Error> {
    let Some(name) = restore::collections::read_name(record) else {
        return Ok(RowResult::unknown_record());
    };
    let parent = match record.parent {
        Some(parent) => {
            let parent = session.find_imported_of_kind(db, ImportedKind::Collection, parent).await?;
            parent.map(CollectionId)
        }
        None => None,
    };
    let existing = restore::collections::find_same(session, db, parent, &name).await?;
    Ok(created_unless(ImportedKind::Collection, existing.map(|id| id.0)))
}

async fn preview_feed(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    record: &FeedRecord,
) -> Result<RowResult, Error> {
    let Ok(url) = PageUrl::parse(&record.url) else { return Ok(RowResult::unknown_record()) };
    let existing = feeds::find_followed(db, session.import().user_id, &url).await?;
    Ok(created_unless(ImportedKind::Feed, existing.map(|row| row.id.0)))
}

async fn preview_bookmark(
    session: &mut ImportSession,
    db: &impl ConnectionTrait,
    record: &BookmarkRecord,
) -> Result<RowResult, Error> {
    let new = match restore::bookmarks::read_bookmark(session, record) {
        Ok(new) => new,
        Err(skipped) => return Ok(skipped),
    };
    let (user, key) = (session.import().user_id, PageUrl::parse(&new.url)?.key());
    let existing = match &record.file {
        None => bookmarks::find_by_url(db, user, &key).await?,
        Some(file) => {
            let (context, import) = (session.context(), session.import());
            let refusal = archive_file::check_limits(context, import, file, session.previewed_bytes).await?;
            if let Some(refusal) = refusal {
                return Ok(refusal.into_row_result());
            }
            match &file.sha256 {
                Some(sha256) => upload::find_same_file(session, db, sha256).await?,
                None => None,
            }
        }
    };
    // Files that would be stored count towards the quota of the following rows, as they do in the import.
    if existing.is_none() {
        session.previewed_bytes += record.file.as_ref().map_or(0, |file| file.bytes);
    }
    let is_repeated = existing.is_none() && record.file.is_none() && !session.record_seen(key);
    Ok(if is_repeated {
        RowResult::of(ImportedKind::Bookmark, Uuid::nil(), false)
    } else {
        created_unless(ImportedKind::Bookmark, existing.map(|row| row.id.0))
    })
}

/// Previews an object of a project, which may itself be one that would be created.
async fn preview_in_project(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    (kind, project): (ImportedKind, Uuid),
    find: impl AsyncFnOnce(project::Model) -> Result<Option<Uuid>, Error>,
) -> Result<RowResult, Error> {
    if session.find_imported_of_kind(db, ImportedKind::Project, project).await?.is_none() {
        return Ok(RowResult::missing_parent());
    }
    // A project that would be created has the id nil here, is not found, and so contains nothing yet.
    let existing = match restore::projects::project_of(session, db, project).await? {
        Some(project) => find(project).await?,
        None => None,
    };
    Ok(created_unless(kind, existing))
}

async fn preview_highlight(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    mut record: HighlightRecord,
) -> Result<RowResult, Error> {
    let bookmark = session.find_imported_of_kind(db, ImportedKind::Bookmark, record.bookmark).await?;
    let Some(id) = bookmark.map(BookmarkId) else { return Ok(RowResult::missing_parent()) };
    if !restore::highlights::is_valid(&record) {
        return Ok(RowResult::unknown_record());
    }
    let user = session.import().user_id;
    if let Some(saved) = bookmark::Entity::one_visible_to(user, id).one(db).await? {
        record = restore::highlights::relocate(db, &saved, record).await?;
    }
    let existing = restore::highlights::find_same(session, db, id, &record).await?;
    Ok(created_unless(ImportedKind::Highlight, existing.map(|row| row.id.0)))
}

async fn preview_entry(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    record: &EntryRecord,
) -> Result<RowResult, Error> {
    let is_url_valid = PageUrl::parse(&record.url).is_ok();
    let feed = session.find_imported_of_kind(db, ImportedKind::Feed, record.feed).await?;
    let Some(feed) = feed.map(FeedId) else {
        return Ok(if is_url_valid { RowResult::missing_parent() } else { RowResult::unknown_record() });
    };
    let Some((key_hash, _)) = restore::feeds::hashes(record).filter(|_| is_url_valid) else {
        return Ok(RowResult::unknown_record());
    };
    let existing = restore::feeds::same_entry(session.import().user_id, feed, &key_hash).one(db).await?;
    Ok(created_unless(ImportedKind::Entry, existing.map(|row| row.id.0)))
}

async fn preview_item(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    record: &ProjectItemRecord,
) -> Result<RowResult, Error> {
    let project = session.find_imported_of_kind(db, ImportedKind::Project, record.project).await?;
    let (Some(_), Some((kind, _))) = (project, session.find_imported(db, record.thing).await?) else {
        return Ok(RowResult::missing_parent());
    };
    if !restore::projects::can_be_item(kind) {
        return Ok(RowResult::missing_parent());
    }
    let existing = match restore::projects::project_of(session, db, record.project).await? {
        Some(project) => match restore::projects::resolve_item(session, db, record).await? {
            Some(item) => {
                let items = project_item::Entity::within(&project);
                items.filter(project_item::Column::ObjectId.eq(item.object_id())).one(db).await?
            }
            None => None,
        },
        None => None,
    };
    Ok(created_unless(ImportedKind::Item, existing.map(|row| row.id.0)))
}
