//! What a line of an export would become: a dry run looks for what is there, by the same rules by which it is found when it
//! is taken in, and makes nothing.

use entity::id::{BookmarkId, CollectionId, FeedId, ProjectId};
use entity::kind::ImportedKind;
use entity::{bookmark, project, project_item};
use parse::archive::{
    BookmarkRecord, CollectionRecord, EntryRecord, FeedRecord, HighlightRecord, ProjectItemRecord, Record,
};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use serde_json::Value;
use uuid::Uuid;
use web::PageUrl;

use super::super::take::{Became, Taking};
use super::{UNKNOWN, bookmarks, entries, files, lost, name_of, projects, same_collection};
use errors::Error;
use crate::bookmarks::save;
use actors::operations::feeds;

/// What a line would become. A thing that would be made has no id yet, and nothing stands within it.
///
/// # Errors
/// The database.
pub async fn would(taking: &mut Taking, db: &impl ConnectionTrait, value: Value) -> Result<Became, Error> {
    let Some(record) = super::read(value) else { return Ok(unknown()) };
    let user = taking.import().user_id;
    match record {
        Record::Collection(given) => collection(taking, db, &given).await,
        Record::Feed(given) => feed(taking, db, &given).await,
        Record::Bookmark(given) => page(taking, db, &given).await,
        Record::Highlight(given) => highlight(taking, db, given).await,
        Record::Entry(given) => entry(taking, db, &given).await,
        Record::Project(given) if given.name.trim().is_empty() => Ok(unknown()),
        Record::Project(given) => {
            let there = projects::same_project(user, &given).one(db).await?;
            Ok(found(ImportedKind::Project, there.map(|there| there.id.0)))
        }
        Record::Decision(given) => {
            let same = async |project| {
                let there = projects::same_decision(&project, &given).one(db).await?;
                Ok(there.map(|there| there.id.0))
            };
            within(taking, db, (ImportedKind::Decision, given.project), same).await
        }
        Record::Note(given) => {
            let same = async |project| {
                let there = projects::same_note(&project, &given).one(db).await?;
                Ok(there.map(|there| there.id.0))
            };
            within(taking, db, (ImportedKind::Note, given.project), same).await
        }
        Record::Item(given) => item(taking, db, &given).await,
    }
}

fn unknown() -> Became {
    Became::Passed(UNKNOWN.to_owned())
}

fn found(kind: ImportedKind, there: Option<Uuid>) -> Became {
    Became::of(kind, there.unwrap_or_default(), there.is_none())
}

async fn collection(
    taking: &Taking,
    db: &impl ConnectionTrait,
    given: &CollectionRecord,
) -> Result<Became, Error> {
    let Some(name) = name_of(given) else { return Ok(unknown()) };
    let parent = match given.parent {
        Some(parent) => taking.became_a(db, ImportedKind::Collection, parent).await?.map(CollectionId),
        None => None,
    };
    let there = same_collection(taking, db, parent, &name).await?;
    Ok(found(ImportedKind::Collection, there.map(|id| id.0)))
}

async fn feed(taking: &Taking, db: &impl ConnectionTrait, given: &FeedRecord) -> Result<Became, Error> {
    let Ok(url) = PageUrl::parse(&given.url) else { return Ok(unknown()) };
    let there = feeds::followed(db, taking.import().user_id, &url).await?;
    Ok(found(ImportedKind::Feed, there.map(|there| there.id.0)))
}

async fn page(
    taking: &mut Taking,
    db: &impl ConnectionTrait,
    given: &BookmarkRecord,
) -> Result<Became, Error> {
    let new = match bookmarks::read(taking, given) {
        Ok(new) => new,
        Err(why) => return Ok(Became::Passed(why)),
    };
    let (user, key) = (taking.import().user_id, PageUrl::parse(&new.url)?.key());
    let there = match &given.file {
        None => save::with_address(db, user, &key).await?,
        Some(file) => {
            let refusal = files::refusal(taking.means(), taking.import(), file, taking.bytes).await?;
            if let Some(refusal) = refusal {
                return Ok(refusal.outcome());
            }
            match &file.sha256 {
                Some(sum) => bookmarks::same_file(taking, db, sum).await?,
                None => None,
            }
        }
    };
    if there.is_none() {
        taking.bytes += given.file.as_ref().map_or(0, |file| file.bytes);
    }
    let again = there.is_none() && given.file.is_none() && !taking.seen.insert(key);
    Ok(if again {
        Became::of(ImportedKind::Bookmark, Uuid::nil(), false)
    } else {
        found(ImportedKind::Bookmark, there.map(|row| row.id.0))
    })
}

/// What stands in a project, which may be one that would be made.
async fn within(
    taking: &Taking,
    db: &impl ConnectionTrait,
    (kind, project): (ImportedKind, Uuid),
    same: impl AsyncFnOnce(project::Model) -> Result<Option<Uuid>, Error>,
) -> Result<Became, Error> {
    if taking.became_a(db, ImportedKind::Project, project).await?.is_none() {
        return Ok(lost());
    }
    let there = match projects::project_of(taking, db, project).await? {
        Some(project) => same(project).await?,
        None => None,
    };
    Ok(found(kind, there))
}

async fn highlight(
    taking: &Taking,
    db: &impl ConnectionTrait,
    mut given: HighlightRecord,
) -> Result<Became, Error> {
    let Some(id) = taking.became_a(db, ImportedKind::Bookmark, given.bookmark).await?.map(BookmarkId) else {
        return Ok(lost());
    };
    if !bookmarks::is_marked(&given) {
        return Ok(unknown());
    }
    let user = taking.import().user_id;
    if let Some(saved) = bookmark::Entity::one_of(user, id).one(db).await? {
        given = bookmarks::in_place(db, &saved, given).await?;
    }
    let there = bookmarks::same_highlight(taking, db, id, &given).await?;
    Ok(found(ImportedKind::Highlight, there.map(|there| there.id.0)))
}

async fn entry(taking: &Taking, db: &impl ConnectionTrait, given: &EntryRecord) -> Result<Became, Error> {
    let Some(feed) = taking.became_a(db, ImportedKind::Feed, given.feed).await?.map(FeedId) else {
        return Ok(if PageUrl::parse(&given.url).is_ok() { lost() } else { unknown() });
    };
    let Some((key, _)) = entries::sums(given).filter(|_| PageUrl::parse(&given.url).is_ok()) else {
        return Ok(unknown());
    };
    let there = entries::same_entry(taking.import().user_id, feed, &key).one(db).await?;
    Ok(found(ImportedKind::Entry, there.map(|there| there.id.0)))
}

async fn item(
    taking: &Taking,
    db: &impl ConnectionTrait,
    given: &ProjectItemRecord,
) -> Result<Became, Error> {
    let project = taking.became_a(db, ImportedKind::Project, given.project).await?.map(ProjectId);
    let (Some(_), Some((kind, _))) = (project, taking.became(db, given.thing).await?) else {
        return Ok(lost());
    };
    if !projects::may_stand(kind) {
        return Ok(lost());
    }
    let there = match projects::project_of(taking, db, given.project).await? {
        Some(project) => match projects::thing_of(taking, db, given).await? {
            Some(chosen) => {
                let same = project_item::Entity::within(&project);
                same.filter(project_item::Column::Thing.eq(chosen.thing())).one(db).await?
            }
            None => None,
        },
        None => None,
    };
    Ok(found(ImportedKind::Item, there.map(|there| there.id.0)))
}
