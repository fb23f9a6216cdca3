//! Compares the index with the rows, both ways and page by page: documents whose passages are not there are put in again,
//! and passages that are in no row are taken out.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use entity::id::{ChunkId, DocumentId, UserId};
use entity::time::Timestamp;
use entity::{chunk, document};
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::rows::{self, IndexedDocument};
use super::watch::StalePeriod;
use crate::ingest::context::IngestContext;
use errors::Error;

/// Documents that are compared at a time: with ten passages each that is a read of a few milliseconds.
const MAX_PAGE_DOCUMENTS: u64 = 100;
/// Passages of the documents that are compared at a time. One document may have tens of thousands: it is compared alone.
const MAX_PAGE_PASSAGES: i64 = 5000;
/// Rows of passages that are read at a time, of each document of a page.
const ORDINALS_AT_ONCE: u16 = 1000;
/// Passages that the index is asked for, or lists, at a time.
const PASSAGES_AT_ONCE: usize = 1000;

/// When the comparison may be possible again: the lock is looked at every two seconds.
const LOCK_RETRY: Duration = Duration::from_secs(2);

/// What a comparison found, and has begun to mend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Documents that are being put in again.
    pub documents_lost: u64,
    /// Passages that were taken out.
    pub passages_removed: u64,
}

/// Compares the whole index with the rows. Documents that the index was told of within the stale period count as lost,
/// whatever it holds of them. The newest documents come first.
pub(super) async fn compare(ctx: &IngestContext, stale: Option<StalePeriod>) -> Result<Findings, Error> {
    let documents_lost = find_lost(ctx, stale).await?;
    let passages_removed = remove_strays(ctx).await?;
    Ok(Findings { documents_lost, passages_removed })
}

/// Ends a comparison once another service maintains the index: the rows no longer describe this one.
fn must_be_maintainer(ctx: &IngestContext) -> Result<(), Error> {
    if ctx.index_watch.is_maintainer() { Ok(()) } else { Err(Error::Busy(LOCK_RETRY)) }
}

async fn find_lost(ctx: &IngestContext, stale: Option<StalePeriod>) -> Result<u64, Error> {
    // An empty index need not be asked for each passage.
    let is_empty = ctx.retrieval.count().await? == 0;
    let (mut before, mut lost) = (None, 0);
    loop {
        must_be_maintainer(ctx)?;
        let page = cut_page(held_documents(ctx, before).await?);
        let Some(last) = page.last() else { return Ok(lost) };
        before = Some(last.id);
        let missing = if is_empty { HashSet::new() } else { with_missing_passages(ctx, &page).await? };
        let now = ctx.core.clock.now();
        let is_stale =
            |held: &IndexedDocument| stale.is_some_and(|stale| stale.includes(held.indexed_at, now));
        let is_lost = |held: &IndexedDocument| is_empty || missing.contains(&held.id) || is_stale(held);
        let gone: Vec<IndexedDocument> = page.into_iter().filter(is_lost).collect();
        if !gone.is_empty() {
            lost += rows::mark_lost(&ctx.core.db, &gone, now).await?;
            ctx.job_signal.notify();
        }
    }
}

/// The next documents in sight that the index is to hold, newest first.
async fn held_documents(ctx: &IngestContext, before: Option<DocumentId>) -> Result<Vec<IndexedDocument>, Error> {
    use document::Column;
    let mut held = document::Entity::of_every_user().filter(Column::IndexedVersion.gt(0));
    if let Some(before) = before {
        held = held.filter(Column::Id.lt(before));
    }
    let rows = held
        .order_by_desc(Column::Id)
        .limit(MAX_PAGE_DOCUMENTS)
        .select_only()
        .column(Column::Id)
        .column(Column::UserId)
        .column(Column::IndexedVersion)
        .column(Column::IndexedPassages)
        .column(Column::IndexedAt)
        .into_tuple::<(DocumentId, UserId, i32, i32, Option<Timestamp>)>()
        .all(ctx.core.db.read())
        .await?;
    let held = rows.into_iter().map(|(id, user, version, passages, indexed_at)| IndexedDocument {
        id,
        user,
        version,
        passages,
        indexed_at,
    });
    Ok(held.collect())
}

/// The first documents of a page that have no more passages together than are compared at a time; at least one.
fn cut_page(mut page: Vec<IndexedDocument>) -> Vec<IndexedDocument> {
    let mut passages = 0;
    let within = page.iter().take_while(|held| {
        passages += i64::from(held.passages);
        passages <= MAX_PAGE_PASSAGES
    });
    let within = within.count();
    page.truncate(within.max(1));
    page
}

/// Those of the documents of which the index lacks a passage.
async fn with_missing_passages(ctx: &IngestContext, page: &[IndexedDocument]) -> Result<HashSet<DocumentId>, Error> {
    let longest = page.iter().map(|held| held.passages).max().unwrap_or(0);
    let mut lacking = HashSet::new();
    for ordinals in ordinal_slices(longest) {
        let expected = expected_passages(ctx, page, ordinals).await?;
        let ids: Vec<Uuid> = expected.keys().copied().collect();
        for asked in ids.chunks(PASSAGES_AT_ONCE) {
            let missing = ctx.retrieval.missing(asked.to_vec()).await?;
            lacking.extend(missing.iter().filter_map(|id| expected.get(id).copied()));
        }
    }
    Ok(lacking)
}

/// The ordinals of so many passages, slice by slice.
fn ordinal_slices(passages: i32) -> impl Iterator<Item = Range<i32>> {
    let starts = (0..passages).step_by(usize::from(ORDINALS_AT_ONCE));
    starts.map(|start| start..start.saturating_add(i32::from(ORDINALS_AT_ONCE)))
}

/// The passages with these ordinals that the index is to hold of the documents.
async fn expected_passages(
    ctx: &IngestContext,
    page: &[IndexedDocument],
    ordinals: Range<i32>,
) -> Result<HashMap<Uuid, DocumentId>, Error> {
    let versions: HashMap<DocumentId, i32> = page.iter().map(|held| (held.id, held.version)).collect();
    let distinct: HashSet<i32> = versions.values().copied().collect();
    // With the versions, so that the index `chunk_place` leads to a slice of a long document without a pass over the rest.
    let slice = Condition::all()
        .add(chunk::Column::DocumentId.is_in(versions.keys().copied()))
        .add(chunk::Column::Version.is_in(distinct))
        .add(chunk::Column::Ordinal.gte(ordinals.start))
        .add(chunk::Column::Ordinal.lt(ordinals.end));
    let rows = passages_in_rows(ctx, slice).await?.into_iter();
    let expected = rows.filter(|(_, passage)| versions.get(&passage.document) == Some(&passage.version));
    Ok(expected.map(|(id, passage)| (id, passage.document)).collect())
}

/// A passage as stored in its row.
struct PassageRow {
    document: DocumentId,
    version: i32,
}

/// The rows of passages, by their ids.
async fn passages_in_rows(ctx: &IngestContext, which: Condition) -> Result<HashMap<Uuid, PassageRow>, Error> {
    let rows = chunk::Entity::of_every_user()
        .filter(which)
        .select_only()
        .column(chunk::Column::Id)
        .column(chunk::Column::DocumentId)
        .column(chunk::Column::Version)
        .into_tuple::<(ChunkId, DocumentId, i32)>()
        .all(ctx.core.db.read())
        .await?;
    Ok(rows.into_iter().map(|(id, document, version)| (id.0, PassageRow { document, version })).collect())
}

/// Takes passages out of the index that are in no row, or in one that the index is not to hold; how many.
async fn remove_strays(ctx: &IngestContext) -> Result<u64, Error> {
    let (mut from, mut removed) = (None, 0);
    loop {
        must_be_maintainer(ctx)?;
        // The index before the rows: a row is there before its passage, so none that comes in meanwhile is taken for a stray.
        let page = ctx.retrieval.passages(from, PASSAGES_AT_ONCE).await?;
        let strays = strays(ctx, page.ids).await?;
        if !strays.is_empty() {
            removed += strays.len() as u64;
            ctx.retrieval.remove(strays).await?;
        }
        from = page.next;
        if from.is_none() {
            return Ok(removed);
        }
    }
}

async fn strays(ctx: &IngestContext, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
    let listed = chunk::Column::Id.is_in(passages.iter().copied().map(ChunkId));
    let found = passages_in_rows(ctx, Condition::all().add(listed)).await?;
    let ids: HashSet<DocumentId> = found.values().map(|passage| passage.document).collect();
    let documents: HashMap<DocumentId, Versions> = document::Entity::of_every_user_with_hidden()
        .filter(document::Column::Id.is_in(ids))
        .select_only()
        .column(document::Column::Id)
        .column(document::Column::Version)
        .column(document::Column::IndexedVersion)
        .column(document::Column::HiddenAt)
        .into_tuple::<(DocumentId, i32, i32, Option<Timestamp>)>()
        .all(ctx.core.db.read())
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

    /// The numbers of passages of the documents that stay on a page of these.
    fn cut(passages: &[i32]) -> Vec<i32> {
        let document = |passages: &i32| IndexedDocument {
            id: DocumentId(Uuid::nil()),
            user: UserId(Uuid::nil()),
            version: 1,
            passages: *passages,
            indexed_at: None,
        };
        cut_page(passages.iter().map(document).collect()).iter().map(|held| held.passages).collect()
    }

    #[test]
    fn page_has_few_passages_or_one_document() {
        assert!(cut(&[]).is_empty());
        assert_eq!(cut(&[10, 0, 20]), [10, 0, 20]);
        assert_eq!(cut(&[4000, 1000, 1]), [4000, 1000]);
        assert_eq!(cut(&[80_000, 1]), [80_000]);
        assert_eq!(cut(&[i32::MAX, i32::MAX]), [i32::MAX]);
    }

    #[test]
    fn slices_of_ordinals_hold_each_once() {
        let slices = |passages| ordinal_slices(passages).map(|slice| (slice.start, slice.end));

        assert_eq!(slices(0).count(), 0);
        assert_eq!(slices(1).collect::<Vec<_>>(), [(0, 1000)]);
        assert_eq!(slices(1001).collect::<Vec<_>>(), [(0, 1000), (1000, 2000)]);
    }

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
