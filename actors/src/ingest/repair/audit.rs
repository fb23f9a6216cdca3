//! Compares the index with the rows, in both directions and page by page. Documents whose passages are missing are indexed
//! again, and passages that have no row are removed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use entity::{chunk, document};
use errors::Error;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::{ChunkId, DocumentId, UserId};
use values::time::Timestamp;

use super::context::RepairContext;
use super::rows::{self, IndexedDocument};
use super::watch::StalePeriod;

/// Documents that are compared at a time. With ten passages each, their rows are read in a few milliseconds.
const MAX_PAGE_DOCUMENTS: u64 = 100;
/// Passages of the documents that are compared at a time. One document may have tens of thousands: it is compared alone.
const MAX_PAGE_PASSAGES: i64 = 5000;
/// Rows of passages that are read at a time, of each document of a page.
const SLICE_ORDINALS: u16 = 1000;
/// Passages that are looked up in the index, or listed by it, at a time.
const BATCH_PASSAGES: usize = 1000;

/// When a comparison may be possible again: the lock is checked every two seconds.
const LOCK_RETRY_DELAY: Duration = Duration::from_secs(2);

/// The result of a comparison, whose repair has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Documents that are being indexed again.
    pub documents_lost: u64,
    /// Passages that were removed from the index, because it is not to hold them.
    pub passages_removed: u64,
}

/// Compares the whole index with the rows, the newest documents first. Documents that were indexed within the stale period
/// count as lost, whatever the index holds of them.
///
/// # Errors
/// [`Error::Busy`] when this server stops being the maintainer meanwhile; the errors of the database and the index.
pub(super) async fn compare(ctx: &RepairContext, stale: Option<StalePeriod>) -> Result<Findings, Error> {
    let documents_lost = find_lost(ctx, stale).await?;
    let passages_removed = remove_strays(ctx).await?;
    Ok(Findings { documents_lost, passages_removed })
}

/// Ends a comparison once another server maintains its index: the rows no longer describe this one.
fn ensure_maintainer(ctx: &RepairContext) -> Result<(), Error> {
    if ctx.index_watch.is_maintainer() { Ok(()) } else { Err(Error::Busy(LOCK_RETRY_DELAY)) }
}

async fn find_lost(ctx: &RepairContext, stale: Option<StalePeriod>) -> Result<u64, Error> {
    // Nothing needs to be looked up in an empty index.
    let is_empty = ctx.retrieval.engine().count().await? == 0;
    let (mut before, mut lost) = (None, 0);
    loop {
        ensure_maintainer(ctx)?;
        let page = cut_page(load_indexed_documents(ctx, before).await?);
        let Some(last) = page.last() else { return Ok(lost) };
        before = Some(last.id);
        let missing = if is_empty { HashSet::new() } else { find_incomplete(ctx, &page).await? };
        let now = ctx.core.clock.now();
        let is_stale =
            |document: &IndexedDocument| stale.is_some_and(|stale| stale.includes(document.indexed_at, now));
        let is_lost =
            |document: &IndexedDocument| is_empty || missing.contains(&document.id) || is_stale(document);
        let gone: Vec<IndexedDocument> = page.into_iter().filter(is_lost).collect();
        if !gone.is_empty() {
            lost += rows::mark_lost(&ctx.core.db, &gone, now).await?;
            ctx.job_signal.notify();
        }
    }
}

/// Loads the next visible documents that the index is to hold, newest first.
async fn load_indexed_documents(
    ctx: &RepairContext,
    before: Option<DocumentId>,
) -> Result<Vec<IndexedDocument>, Error> {
    use document::Column;
    let is_expected =
        Condition::any().add(Column::IndexedVersion.gt(0)).add(Column::HasMetadataPoint.eq(true));
    let mut query = document::Entity::visible_of_every_user().filter(is_expected);
    if let Some(before) = before {
        query = query.filter(Column::Id.lt(before));
    }
    let rows = query
        .order_by_desc(Column::Id)
        .limit(MAX_PAGE_DOCUMENTS)
        .select_only()
        .column(Column::Id)
        .column(Column::UserId)
        .column(Column::IndexedVersion)
        .column(Column::IndexedPoints)
        .column(Column::HasMetadataPoint)
        .column(Column::IndexedAt)
        .into_tuple::<(DocumentId, UserId, i32, i32, bool, Option<Timestamp>)>()
        .all(ctx.core.db.read())
        .await?;
    let documents = rows.into_iter().map(|(id, user, version, points, has_metadata_point, indexed_at)| {
        IndexedDocument { id, user, version, points, has_metadata_point, indexed_at }
    });
    Ok(documents.collect())
}

/// Cuts a page to its first documents that together have at most as many passages as are compared at
/// a time; at least one document remains.
fn cut_page(mut page: Vec<IndexedDocument>) -> Vec<IndexedDocument> {
    let mut passages = 0;
    let within = page.iter().take_while(|document| {
        passages += i64::from(document.points);
        passages <= MAX_PAGE_PASSAGES
    });
    let within = within.count();
    // One document at least: a longer one would never be compared.
    page.truncate(within.max(1));
    page
}

/// Returns those of the documents of which the index lacks a passage.
async fn find_incomplete(
    ctx: &RepairContext,
    page: &[IndexedDocument],
) -> Result<HashSet<DocumentId>, Error> {
    let with_metadata = page.iter().filter(|document| document.has_metadata_point);
    // Their ids are those of their documents.
    let metadata: Vec<Uuid> = with_metadata.map(|document| document.id.0).collect();
    let mut lacking = HashSet::new();
    if !metadata.is_empty() {
        lacking.extend(ctx.retrieval.engine().missing(metadata).await?.into_iter().map(DocumentId));
    }
    let longest = page.iter().map(|document| document.points).max().unwrap_or(0);
    for ordinals in ordinal_slices(longest) {
        let expected = load_expected_passages(ctx, page, ordinals).await?;
        let ids: Vec<Uuid> = expected.keys().copied().collect();
        for asked in ids.chunks(BATCH_PASSAGES) {
            let missing = ctx.retrieval.engine().missing(asked.to_vec()).await?;
            lacking.extend(missing.iter().filter_map(|id| expected.get(id).copied()));
        }
    }
    Ok(lacking)
}

/// Divides the ordinals of a number of passages into slices.
fn ordinal_slices(passages: i32) -> impl Iterator<Item = Range<i32>> {
    let starts = (0..passages).step_by(usize::from(SLICE_ORDINALS));
    starts.map(|start| start..start.saturating_add(i32::from(SLICE_ORDINALS)))
}

/// Loads the passages with these ordinals that the index is to hold of the documents.
async fn load_expected_passages(
    ctx: &RepairContext,
    page: &[IndexedDocument],
    ordinals: Range<i32>,
) -> Result<HashMap<Uuid, DocumentId>, Error> {
    let versions: HashMap<DocumentId, i32> =
        page.iter().map(|document| (document.id, document.version)).collect();
    let distinct: HashSet<i32> = versions.values().copied().collect();
    // With the versions, so that the database finds a slice of a long document by its index `chunk_ordinal`, without reading the
    // rest.
    let slice = Condition::all()
        .add(chunk::Column::DocumentId.is_in(versions.keys().copied()))
        .add(chunk::Column::Version.is_in(distinct))
        .add(chunk::Column::Ordinal.gte(ordinals.start))
        .add(chunk::Column::Ordinal.lt(ordinals.end));
    let rows = load_passage_rows(ctx, slice).await?.into_iter();
    let expected = rows.filter(|(_, passage)| versions.get(&passage.document) == Some(&passage.version));
    Ok(expected.map(|(id, passage)| (id, passage.document)).collect())
}

/// A passage as stored in its row.
struct PassageRow {
    document: DocumentId,
    version: i32,
}

/// Loads the rows of passages, by their ids.
async fn load_passage_rows(
    ctx: &RepairContext,
    which: Condition,
) -> Result<HashMap<Uuid, PassageRow>, Error> {
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

/// Removes passages from the index that have no row, or that the index is not to hold. Returns their number.
async fn remove_strays(ctx: &RepairContext) -> Result<u64, Error> {
    let (mut from, mut removed) = (None, 0);
    loop {
        ensure_maintainer(ctx)?;
        // The index is read before the rows: a row is written before its passage is indexed, so no passage that is indexed meanwhile
        // counts as a stray.
        let page = ctx.retrieval.engine().passages(from, BATCH_PASSAGES).await?;
        let strays = find_strays(ctx, page.ids).await?;
        if !strays.is_empty() {
            removed += strays.len() as u64;
            ctx.retrieval.delete_passages(strays).await?;
        }
        from = page.next;
        if from.is_none() {
            return Ok(removed);
        }
    }
}

async fn find_strays(ctx: &RepairContext, passages: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
    if passages.is_empty() {
        return Ok(passages);
    }
    let listed = chunk::Column::Id.is_in(passages.iter().copied().map(ChunkId));
    let found = load_passage_rows(ctx, Condition::all().add(listed)).await?;
    // Every other one is a metadata passage, whose id is that of its document, or a stray.
    let document_of = |id: &Uuid| found.get(id).map_or(DocumentId(*id), |passage| passage.document);
    let ids: HashSet<DocumentId> = passages.iter().map(document_of).collect();
    let documents: HashMap<DocumentId, IndexableVersions> = document::Entity::with_hidden_of_every_user()
        .filter(document::Column::Id.is_in(ids))
        .select_only()
        .column(document::Column::Id)
        .column(document::Column::Version)
        .column(document::Column::IndexedVersion)
        .column(document::Column::HiddenAt)
        .column(document::Column::HasMetadataPoint)
        .column(document::Column::UnindexedSince)
        .into_tuple::<(DocumentId, i32, i32, Option<Timestamp>, bool, Option<Timestamp>)>()
        .all(ctx.core.db.read())
        .await?
        .into_iter()
        .map(|(id, newest, indexed, hidden, has_metadata_point, unindexed)| {
            let (is_hidden, is_unindexed) = (hidden.is_some(), unindexed.is_some());
            (id, IndexableVersions { newest, indexed, is_hidden, has_metadata_point, is_unindexed })
        })
        .collect();
    let belongs = |id: &Uuid| {
        documents.get(&document_of(id)).is_some_and(|versions| match found.get(id) {
            Some(passage) => versions.include(passage.version),
            None => versions.include_metadata(),
        })
    };
    Ok(passages.into_iter().filter(|id| !belongs(id)).collect())
}

/// The versions of a document whose passages may be in the index.
#[derive(Clone, Copy, Debug)]
struct IndexableVersions {
    /// The version of the text that readers see.
    newest: i32,
    /// The version that the index is to hold.
    indexed: i32,
    /// Whether its bookmark was deleted.
    is_hidden: bool,
    /// Whether the index is to hold its metadata passage.
    has_metadata_point: bool,
    /// Whether the index lacks a change of it.
    is_unindexed: bool,
}

impl IndexableVersions {
    /// Returns whether a passage of this version may be in the index: it is to be there, or is being indexed.
    fn include(self, version: i32) -> bool {
        version == self.indexed || (version == self.newest && !self.is_hidden)
    }

    /// Returns whether its metadata passage may be in the index: it is to be there, or is being indexed.
    fn include_metadata(self) -> bool {
        self.has_metadata_point || (self.is_unindexed && !self.is_hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: IndexableVersions = IndexableVersions {
        newest: 3,
        indexed: 3,
        is_hidden: false,
        has_metadata_point: true,
        is_unindexed: false,
    };

    /// Returns the numbers of passages of the documents that remain on a page of these.
    fn cut(passages: &[i32]) -> Vec<i32> {
        let document = |points: &i32| IndexedDocument {
            id: DocumentId(Uuid::nil()),
            user: UserId(Uuid::nil()),
            version: 1,
            points: *points,
            has_metadata_point: false,
            indexed_at: None,
        };
        cut_page(passages.iter().map(document).collect()).iter().map(|document| document.points).collect()
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
    fn ordinal_slices_include_each_ordinal_once() {
        let slices = |passages| ordinal_slices(passages).map(|slice| (slice.start, slice.end));

        assert_eq!(slices(0).count(), 0);
        assert_eq!(slices(1).collect::<Vec<_>>(), [(0, 1000)]);
        assert_eq!(slices(1001).collect::<Vec<_>>(), [(0, 1000), (1000, 2000)]);
    }

    #[test]
    fn indexed_and_incoming_passages_are_not_strays() {
        let changing = IndexableVersions { indexed: 2, ..READY };
        let lost = IndexableVersions { indexed: 0, ..READY };

        assert!(changing.include(2) && changing.include(3));
        assert!(lost.include(3));
    }

    #[test]
    fn passages_of_old_texts_and_deleted_documents_are_strays() {
        let removed = IndexableVersions { indexed: 0, is_hidden: true, ..READY };
        let to_be_removed = IndexableVersions { is_hidden: true, ..READY };

        assert!(!READY.include(2));
        assert!(!removed.include(3));
        assert!(to_be_removed.include(3), "its job removes it");
    }

    #[test]
    fn metadata_passages_of_unindexed_documents_are_no_strays() {
        let unrecorded = IndexableVersions { has_metadata_point: false, is_unindexed: true, ..READY };
        let never_indexed = IndexableVersions { has_metadata_point: false, ..READY };
        let deleted = IndexableVersions { is_hidden: true, ..unrecorded };

        assert!(READY.include_metadata());
        assert!(unrecorded.include_metadata(), "its row is written after it");
        assert!(!never_indexed.include_metadata());
        assert!(!deleted.include_metadata());
    }
}
