//! Compares the index with the rows, both ways and page by page: documents whose passages are not there are put in again,
//! and passages that are in no row are taken out.

use std::collections::{HashMap, HashSet};

use entity::id::{ChunkId, DocumentId, UserId};
use entity::time::Timestamp;
use entity::{chunk, document};
use sea_orm::sea_query::SimpleExpr;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::rows;
use super::watch::StalePeriod;
use crate::app::App;
use crate::error::Error;

/// Documents that are compared at a time: with ten passages each that is a read of a few milliseconds.
const DOCUMENTS_AT_ONCE: u64 = 100;
/// Passages of the index that are compared at a time.
const PASSAGES_AT_ONCE: usize = 1000;

/// What a comparison found, and has begun to mend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Documents that are being put in again.
    pub documents_lost: u64,
    /// Passages that were taken out.
    pub passages_removed: u64,
}

/// A document whose passages the index is to hold.
struct IndexedDocument {
    id: DocumentId,
    user: UserId,
    version: i32,
    indexed_at: Option<Timestamp>,
}

/// Compares the whole index with the rows. Documents that the index was told of within the stale period count as lost,
/// whatever it holds of them. The newest documents come first.
pub(super) async fn compare(app: &App, stale: Option<StalePeriod>) -> Result<Findings, Error> {
    let documents_lost = find_lost(app, stale).await?;
    let passages_removed = remove_strays(app).await?;
    Ok(Findings { documents_lost, passages_removed })
}

async fn find_lost(app: &App, stale: Option<StalePeriod>) -> Result<u64, Error> {
    // An empty index need not be asked for each passage.
    let is_empty = app.retrieval.count().await? == 0;
    let (mut before, mut lost) = (None, 0);
    loop {
        let read_at = app.clock.now();
        let page = held_documents(app, before).await?;
        let Some(last) = page.last() else { return Ok(lost) };
        before = Some(last.id);
        let missing = if is_empty { HashSet::new() } else { with_missing_passages(app, &page).await? };
        let is_stale = |held: &IndexedDocument| match (stale, held.indexed_at) {
            (Some(stale), Some(at)) => at >= stale.since && at < stale.until,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let gone: Vec<(UserId, DocumentId)> = page
            .iter()
            .filter(|held| is_empty || missing.contains(&held.id) || is_stale(held))
            .map(|held| (held.user, held.id))
            .collect();
        if !gone.is_empty() {
            lost += gone.len() as u64;
            rows::mark_lost(&app.db, gone.into_iter(), read_at).await?;
            app.ingest.wake();
        }
    }
}

/// The next documents in sight that the index is to hold, newest first.
async fn held_documents(app: &App, before: Option<DocumentId>) -> Result<Vec<IndexedDocument>, Error> {
    use document::Column;
    let mut held = document::Entity::of_every_user().filter(Column::IndexedVersion.gt(0));
    if let Some(before) = before {
        held = held.filter(Column::Id.lt(before));
    }
    let rows = held
        .order_by_desc(Column::Id)
        .limit(DOCUMENTS_AT_ONCE)
        .select_only()
        .column(Column::Id)
        .column(Column::UserId)
        .column(Column::IndexedVersion)
        .column(Column::IndexedAt)
        .into_tuple::<(DocumentId, UserId, i32, Option<Timestamp>)>()
        .all(app.db.read())
        .await?;
    let held = rows.into_iter().map(|(id, user, version, indexed_at)| IndexedDocument {
        id,
        user,
        version,
        indexed_at,
    });
    Ok(held.collect())
}

/// Those of the documents of which the index lacks a passage.
async fn with_missing_passages(app: &App, page: &[IndexedDocument]) -> Result<HashSet<DocumentId>, Error> {
    let versions: HashMap<DocumentId, i32> = page.iter().map(|held| (held.id, held.version)).collect();
    let of_page = chunk::Column::DocumentId.is_in(versions.keys().copied());
    let expected: HashMap<Uuid, DocumentId> = passages_in_rows(app, of_page)
        .await?
        .into_iter()
        .filter(|(_, passage)| versions.get(&passage.document) == Some(&passage.version))
        .map(|(id, passage)| (id, passage.document))
        .collect();
    let missing = app.retrieval.missing(expected.keys().copied().collect()).await?;
    Ok(missing.iter().filter_map(|id| expected.get(id).copied()).collect())
}

/// A passage as its row has it.
struct PassageRow {
    document: DocumentId,
    version: i32,
}

/// The rows of passages, by their ids.
async fn passages_in_rows(app: &App, which: SimpleExpr) -> Result<HashMap<Uuid, PassageRow>, Error> {
    let rows = chunk::Entity::of_every_user()
        .filter(which)
        .select_only()
        .column(chunk::Column::Id)
        .column(chunk::Column::DocumentId)
        .column(chunk::Column::Version)
        .into_tuple::<(ChunkId, DocumentId, i32)>()
        .all(app.db.read())
        .await?;
    Ok(rows.into_iter().map(|(id, document, version)| (id.0, PassageRow { document, version })).collect())
}

/// Takes passages out of the index that are in no row, or in one that the index is not to hold; how many.
async fn remove_strays(app: &App) -> Result<u64, Error> {
    let (mut from, mut removed) = (None, 0);
    loop {
        // The index before the rows: a row is there before its passage, so none that comes in meanwhile is taken for a stray.
        let page = app.retrieval.passages(from, PASSAGES_AT_ONCE).await?;
        let strays = strays(app, page.ids).await?;
        if !strays.is_empty() {
            removed += strays.len() as u64;
            app.retrieval.remove(strays).await?;
        }
        from = page.next;
        if from.is_none() {
            return Ok(removed);
        }
    }
}

async fn strays(app: &App, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
    let found = passages_in_rows(app, chunk::Column::Id.is_in(passages.iter().copied().map(ChunkId))).await?;
    let ids: HashSet<DocumentId> = found.values().map(|passage| passage.document).collect();
    let documents: HashMap<DocumentId, Versions> = document::Entity::of_every_user_with_hidden()
        .filter(document::Column::Id.is_in(ids))
        .select_only()
        .column(document::Column::Id)
        .column(document::Column::Version)
        .column(document::Column::IndexedVersion)
        .column(document::Column::HiddenAt)
        .into_tuple::<(DocumentId, i32, i32, Option<Timestamp>)>()
        .all(app.db.read())
        .await?
        .into_iter()
        .map(|(id, newest, indexed, hidden)| (id, Versions { newest, indexed, is_hidden: hidden.is_some() }))
        .collect();
    let belongs = |id: &Uuid| {
        found.get(id).is_some_and(|passage| {
            documents.get(&passage.document).is_some_and(|versions| versions.include(passage.version))
        })
    };
    Ok(passages.into_iter().filter(|id| !belongs(id)).collect())
}

/// The versions of a document whose passages may be in the index.
#[derive(Clone, Copy, Debug)]
struct Versions {
    /// Of the text that readers see.
    newest: i32,
    /// That the index is to hold.
    indexed: i32,
    /// Its bookmark was deleted.
    is_hidden: bool,
}

impl Versions {
    /// Whether a passage of this version may be there: it is to be held, or is being put in.
    fn include(self, version: i32) -> bool {
        version == self.indexed || (version == self.newest && !self.is_hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_that_are_held_or_come_in_stay() {
        let changing = Versions { newest: 3, indexed: 2, is_hidden: false };
        let lost = Versions { newest: 3, indexed: 0, is_hidden: false };

        assert!(changing.include(2) && changing.include(3));
        assert!(lost.include(3));
    }

    #[test]
    fn passages_of_old_texts_and_deleted_documents_go() {
        let ready = Versions { newest: 3, indexed: 3, is_hidden: false };
        let taken_out = Versions { newest: 3, indexed: 0, is_hidden: true };
        let to_be_taken_out = Versions { newest: 3, indexed: 3, is_hidden: true };

        assert!(!ready.include(2));
        assert!(!taken_out.include(3));
        assert!(to_be_taken_out.include(3), "its job takes it out");
    }
}
