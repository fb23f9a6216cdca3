//! Lines of an export as rows again: with the texts, marks and places that they had, so that nothing is fetched, read or
//! heard anew.

mod bookmarks;
mod entries;
mod files;
mod projects;
mod texts;
mod would;

use entity::id::{CollectionId, FeedId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{collection, feed, import_row};
use parse::archive::{CollectionRecord, FeedRecord, FileRecord, Record};
use parse::bookmarks::{BookmarkDraft, Row, RowContent};
use parse::feed::Outline;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;
use web::PageUrl;

use super::folders;
use super::take::{Became, Taking};
use errors::Error;
use actors::operations::feeds;

pub use bookmarks::{same_file, uploaded};
pub use files::{Brought, bring, refusal, sum_of};
pub use would::would;

/// Characters of a name or a title.
const NAME: usize = 300;
/// Characters of a text that a person writes.
const WORDS: usize = 100_000;
/// Why a line is passed over that is no line of ours.
const UNKNOWN: &str = "is not a line of an export that this version knows";
/// Why a line is passed over whose surroundings are not there.
const LOST: &str = "belongs to something that was not imported";

/// The file that a row comes with.
pub fn file_of(row: &Row) -> Option<FileRecord> {
    match &row.content {
        RowContent::Record(value) => {
            let file = value.get("file").filter(|file| file.is_object())?;
            FileRecord::deserialize(file).ok()
        }
        RowContent::Bookmark(BookmarkDraft { file, .. }) => file.clone(),
        RowContent::Note(_) | RowContent::Feed(_) | RowContent::Skipped(_) => None,
    }
}

/// The id that the thing of a line had.
pub fn id_of(row: &Row) -> Option<Uuid> {
    let RowContent::Record(value) = &row.content else { return None };
    value.get("id")?.as_str()?.parse().ok()
}

/// The normalised address of a feed that a row follows: what the row of its source is known by.
pub fn source_of(row: &Row) -> Option<String> {
    let url = match &row.content {
        RowContent::Feed(outline) => outline.url.as_str(),
        RowContent::Record(value) if value.get("kind")?.as_str()? == "feed" => value.get("url")?.as_str()?,
        RowContent::Record(_) | RowContent::Bookmark(_) | RowContent::Note(_) | RowContent::Skipped(_) => {
            return None;
        }
    };
    Some(PageUrl::parse(url).ok()?.normalized())
}

/// Makes what a line tells of, or finds it.
///
/// # Errors
/// The database.
pub async fn record(
    taking: &mut Taking,
    txn: &impl ConnectionTrait,
    value: Value,
    file: Option<Brought>,
    now: Timestamp,
) -> Result<Became, Error> {
    let Some(record) = read(value) else { return Ok(Became::Passed(UNKNOWN.to_owned())) };
    match record {
        Record::Collection(given) => collection(taking, txn, given, now).await,
        Record::Feed(given) => feed(taking, txn, given, now).await,
        Record::Bookmark(given) => bookmarks::bookmark(taking, txn, *given, file, now).await,
        Record::Highlight(given) => bookmarks::highlight(taking, txn, given, now).await,
        Record::Entry(given) => entries::entry(taking, txn, *given, now).await,
        Record::Project(given) => projects::project(taking, txn, given).await,
        Record::Decision(given) => projects::decision(taking, txn, given, now).await,
        Record::Note(given) => projects::note(taking, txn, given, now).await,
        Record::Item(given) => projects::item(taking, txn, given, now).await,
    }
}

/// A line of an export. A text that is not such as this service makes is left out: what it is of is read anew.
fn read(line: Value) -> Option<Record> {
    let mut record = serde_json::from_value(line).ok()?;
    if let Record::Bookmark(given) = &mut record {
        given.text = texts::sound(given.text.take());
    }
    if let Record::Entry(given) = &mut record {
        given.text = texts::sound(given.text.take());
    }
    Some(record)
}

fn lost() -> Became {
    Became::Passed(LOST.to_owned())
}

async fn collection(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: CollectionRecord,
    now: Timestamp,
) -> Result<Became, Error> {
    let parent = match given.parent {
        Some(parent) => taking.collection_of(txn, parent).await?,
        None => None,
    };
    let Some(name) = name_of(&given) else { return Ok(Became::Passed(UNKNOWN.to_owned())) };
    if let Some(there) = same_collection(taking, txn, parent, &name).await? {
        return Ok(Became::of(ImportedKind::Collection, there.0, false));
    }
    let (user, description) =
        (taking.import().user_id, given.description.map(|words| text::cut(&words, WORDS)));
    let id = folders::make(txn, user, parent, name, description, now).await?;
    Ok(Became::of(ImportedKind::Collection, id.0, true))
}

fn name_of(given: &CollectionRecord) -> Option<String> {
    Some(text::cut(given.name.trim(), NAME)).filter(|name| !name.is_empty())
}

/// The collection of this name and place, where no other line is that already: two of one name stay two.
async fn same_collection(
    taking: &Taking,
    db: &impl ConnectionTrait,
    parent: Option<CollectionId>,
    name: &str,
) -> Result<Option<CollectionId>, Error> {
    for there in folders::named(taking.import().user_id, parent, name).all(db).await? {
        if !taking.is_some_lines(db, ImportedKind::Collection, there.id.0).await? {
            return Ok(Some(there.id));
        }
    }
    Ok(None)
}

async fn feed(
    taking: &mut Taking,
    txn: &impl ConnectionTrait,
    given: FeedRecord,
    now: Timestamp,
) -> Result<Became, Error> {
    // Where it may not be fetched from here its entries are there all the same.
    let Ok(url) = PageUrl::parse(&given.url) else { return Ok(Became::Passed(UNKNOWN.to_owned())) };
    let outline = Outline { url: given.url, title: given.title, folder: given.folder };
    let user = taking.import().user_id;
    let (id, created) = feeds::follow_listed(txn, user, &url, &outline, given.full_text, now).await?;
    Ok(Became::of(ImportedKind::Feed, id.0, created))
}

impl Taking {
    /// What a line of this import became, by the id that it had.
    pub(super) async fn became(
        &self,
        txn: &impl ConnectionTrait,
        id: Uuid,
    ) -> Result<Option<(ImportedKind, Uuid)>, Error> {
        if let Some(known) = self.known.get(&id) {
            return Ok(Some(*known));
        }
        // Taken in before a crash, or in another turn.
        let import = self.import();
        let row = import_row::Entity::within(import.user_id, import.id)
            .filter(import_row::Column::SourceId.eq(id))
            .one(txn)
            .await?;
        Ok(row.and_then(|row| row.kind.zip(row.made_id)))
    }

    /// Whether a line of this import became that thing.
    pub(super) async fn is_some_lines(
        &self,
        db: &impl ConnectionTrait,
        kind: ImportedKind,
        id: Uuid,
    ) -> Result<bool, Error> {
        if self.taken.contains(&(kind, id)) {
            return Ok(true);
        }
        let import = self.import();
        let row = import_row::Entity::within(import.user_id, import.id)
            .filter(import_row::Column::Kind.eq(kind))
            .filter(import_row::Column::MadeId.eq(id));
        Ok(row.one(db).await?.is_some())
    }

    /// What a line became, where it is of this kind.
    pub(super) async fn became_a(
        &self,
        txn: &impl ConnectionTrait,
        wanted: ImportedKind,
        id: Uuid,
    ) -> Result<Option<Uuid>, Error> {
        let found = self.became(txn, id).await?;
        Ok(found.filter(|(kind, _)| *kind == wanted).map(|(_, id)| id))
    }

    /// The collection that a line became, which stays until the transaction ends; none where somebody deleted it meanwhile.
    pub(super) async fn collection_of(
        &self,
        txn: &impl ConnectionTrait,
        old: Uuid,
    ) -> Result<Option<CollectionId>, Error> {
        let Some(id) = self.became_a(txn, ImportedKind::Collection, old).await? else { return Ok(None) };
        let there = collection::Entity::one_of(self.import().user_id, CollectionId(id));
        Ok(there.lock(LockType::KeyShare).one(txn).await?.map(|row| row.id))
    }

    /// The feed that a line became, which stays until the transaction ends; none where somebody left it meanwhile.
    pub(super) async fn feed_of(
        &self,
        txn: &impl ConnectionTrait,
        old: Uuid,
    ) -> Result<Option<FeedId>, Error> {
        let Some(id) = self.became_a(txn, ImportedKind::Feed, old).await? else { return Ok(None) };
        let there = feed::Entity::one_of(self.import().user_id, FeedId(id));
        Ok(there.lock(LockType::KeyShare).one(txn).await?.map(|row| row.id))
    }
}
