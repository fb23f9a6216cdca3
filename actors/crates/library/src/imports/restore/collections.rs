//! Restores collections.

use parse::archive::CollectionRecord;
use sea_orm::ConnectionTrait;
use values::id::CollectionId;
use values::kind::ImportedKind;
use values::time::Timestamp;

use super::super::limits::{self, MAX_TEXT_CHARS};
use super::super::rows::result::RowResult;
use super::super::session::ImportSession;
use super::super::session::folders;
use errors::Error;

/// Restores a collection within its parent. A collection of the same name there counts as the same.
pub async fn restore(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    record: CollectionRecord,
    now: Timestamp,
) -> Result<RowResult, Error> {
    // If the user has deleted the parent since, the collection is restored at the top rather than left out with its bookmarks.
    let parent = match record.parent {
        Some(parent) => session.lock_imported_collection(txn, parent).await?,
        None => None,
    };
    let Some(name) = read_name(&record) else { return Ok(RowResult::unknown_record()) };
    if let Some(existing) = find_same(session, txn, parent, &name).await? {
        return Ok(RowResult::of(ImportedKind::Collection, existing.0, false));
    }
    let description = record.description.map(|words| text::cut(&words, MAX_TEXT_CHARS));
    let user = session.import().user_id;
    let id = folders::create_collection(txn, user, parent, name, description, now).await?;
    Ok(RowResult::of(ImportedKind::Collection, id.0, true))
}

/// Reads the name of a collection; `None` when it is blank.
pub fn read_name(record: &CollectionRecord) -> Option<String> {
    Some(limits::read_name(&record.name)).filter(|name| !name.is_empty())
}

/// Finds the collection of this name and parent, unless a line of this import became it already: two collections
/// of one name stay two.
pub async fn find_same(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    parent: Option<CollectionId>,
    name: &str,
) -> Result<Option<CollectionId>, Error> {
    for row in folders::collections_named(session.import().user_id, parent, name).all(db).await? {
        if !session.is_claimed(db, ImportedKind::Collection, row.id.0).await? {
            return Ok(Some(row.id));
        }
    }
    Ok(None)
}
