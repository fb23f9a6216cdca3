//! Puts the metadata passages of documents into the index that lacks a change of them: of a title, a URL, an excerpt, tags or highlights.
//! Also replaces the labels of passages whose document is a bookmark or a feed entry since then.
//!
//! The intent is the column `unindexed_since` of the document ([`library::documents::mark_unindexed`]), so a change costs no job. A
//! document whose text is being stored or indexed, or waits for that as one that a user waits for, is left to that job, which writes the
//! metadata passage too. All others are indexed here, whatever has become of their text: a page that waits, or whose fetch has failed, is
//! found by its metadata, and so is a document whose job waits in a backlog, where it may stay for hours. That job writes the metadata
//! again, as of a later state: it reads it when it runs, and no document is indexed here whose job runs. A document whose job of indexing
//! was given up stays unindexed afterwards, so that search reads its text from the database.
//!
//! Each document is read once for a change, unless its job in the backlog runs at the moment: its row says that it is left to its job
//! (`awaits_index_job`) until the database clears that when the job ends, or that the index has the metadata. Both take the document out of
//! the index `document_unindexed_metadata`, by which this task finds its work.
//!
//! The passage is written before the row says so. After a crash in between it is written again. It has no vectors then; that of a page whose
//! fetch has failed gets them from another task (`metadata_vectors`), so that nothing here waits for a model.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use concurrency::Lane;
use database::{Db, compare_rows, padded};
use entity::document;
use errors::Error;
use library::documents::{mark_unindexed, unindexed_after_metadata};
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::{BinOper, Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, Select};
use search::index::Point;
use tokio::time::sleep;
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::time::Timestamp;

use super::repair::RepairContext;
use crate::retrieval::{Annotations, MetadataSource, labels_of};

/// Documents of a user that are indexed together. Users take turns after each such page.
const PAGE_DOCUMENTS: u64 = 256;
/// Time between two rounds of pages, in which other work has the database and the index.
const PAGE_PAUSE: Duration = Duration::from_millis(50);

/// The condition, in SQL, that the metadata of an unindexed document is to be indexed here: the document is not left to a job, and the index
/// may lack its metadata. Of a document whose job was given up the index lacks the text, which no task can change, and the metadata only
/// until it was written once after the last change. It is spelled as in the partial index `document_unindexed_metadata`, so that the
/// planners use it.
pub const METADATA_IS_DUE: &str = r#"NOT "awaits_index_job" AND ("version" <= "indexed_version" OR "indexed_at" IS NULL OR "indexed_at" <= "unindexed_since")"#;

/// Where a page of the unindexed documents of a user ends: the `unindexed_since` and the id of its last document.
type PageEnd = (Timestamp, DocumentId);

/// Indexes the metadata of all documents that are unindexed and have no job that does it, those of each user from the newest change to the
/// oldest. Ends early, without an error, when this server does not maintain the index any more, or a disk has too little space.
///
/// # Errors
/// The database or the index fails, or the index refused documents, after all others were indexed. What was not indexed stays unindexed.
pub async fn run(ctx: &RepairContext) -> Result<(), Error> {
    let (mut ends, mut refusal): (HashMap<UserId, PageEnd>, Option<Error>) = (HashMap::new(), None);
    loop {
        let (mut last_user, mut has_more) = (UserId(Uuid::nil()), false);
        while let Some(user) = next_user(ctx, last_user).await? {
            if !ctx.may_change_index() {
                return Ok(());
            }
            let page = select_page(user, ends.get(&user).copied());
            let page: Vec<PageEnd> = page.into_tuple().all(ctx.core.db.read()).await?;
            if let Some(end) = page.last() {
                ends.insert(user, *end);
            }
            has_more |= page.len() as u64 == PAGE_DOCUMENTS;
            refusal = index_page(ctx, user, &page).await?.or(refusal);
            last_user = user;
        }
        if !has_more {
            return refusal.map_or(Ok(()), Err);
        }
        sleep(PAGE_PAUSE).await;
    }
}

/// Returns the user with documents whose metadata is to be indexed who follows another in the order of the ids.
async fn next_user(ctx: &RepairContext, after: UserId) -> Result<Option<UserId>, DbErr> {
    let next = document::Entity::visible_of_every_user()
        .filter(document::Column::UnindexedSince.is_not_null())
        .filter(Expr::cust(METADATA_IS_DUE))
        .filter(document::Column::UserId.gt(after))
        .order_by_asc(document::Column::UserId)
        .select_only()
        .column(document::Column::UserId);
    next.into_tuple().one(ctx.core.db.read()).await
}

fn select_page(user: UserId, after: Option<PageEnd>) -> Select<document::Entity> {
    use document::Column;
    let mut page = document::Entity::newest_unindexed_of(user).filter(Expr::cust(METADATA_IS_DUE));
    if let Some((since, id)) = after {
        let columns = [Column::UnindexedSince.into_expr(), Column::Id.into_expr()];
        let end = [Expr::value(since), Expr::value(id)];
        page = page.filter(compare_rows(columns, BinOper::SmallerThan, end));
    }
    page.limit(PAGE_DOCUMENTS).select_only().columns([Column::UnindexedSince, Column::Id])
}

/// Selects those of these documents that are indexed here. Their rows and jobs are read by one statement: a document that gets a text later is
/// unindexed since another time, and a job that runs later reads a state that is at least as new.
fn select_not_left_to_jobs(user: UserId, ids: &[DocumentId]) -> Select<document::Entity> {
    document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(ids)))
        .filter(jobs::leaves_metadata_to_no_job())
}

/// Leaves those of these documents to their jobs for which one waits or runs that a user waits for: they are read here again once it has ended.
/// Documents of jobs that another transaction changes at this moment are left at a later time.
async fn leave_to_jobs(db: &Db, user: UserId, ids: &[DocumentId]) -> Result<(), Error> {
    // On PostgreSQL it locks the owner first, as the transactions do in which these jobs end.
    let txn = begin_owned(db, user).await?;
    let waiting = jobs::lock_urgent_index_jobs(&txn, user, ids).await?;
    if !waiting.is_empty() {
        document::Entity::update_owned(user)
            .col_expr(document::Column::AwaitsIndexJob, Expr::value(true))
            .filter(document::Column::Id.is_in(padded(&waiting)))
            .filter(document::Column::AwaitsIndexJob.eq(false))
            .exec(&txn)
            .await?;
    }
    txn.commit().await?;
    Ok(())
}

/// Indexes the documents of a page. Returns the error of the last document that the index refused.
async fn index_page(ctx: &RepairContext, user: UserId, page: &[PageEnd]) -> Result<Option<Error>, Error> {
    let ids: Vec<DocumentId> = page.iter().map(|(_, id)| *id).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let mut documents = select_not_left_to_jobs(user, &ids).all(ctx.core.db.read()).await?;
    let own: HashSet<DocumentId> = documents.iter().map(|document| document.id).collect();
    let others: Vec<DocumentId> = ids.into_iter().filter(|id| !own.contains(id)).collect();
    if !others.is_empty() {
        leave_to_jobs(&ctx.core.db, user, &others).await?;
    }
    documents.retain(|document| document.unindexed_since.is_some());
    if documents.is_empty() {
        return Ok(None);
    }
    let rows: Vec<&document::Model> = documents.iter().collect();
    let mut annotations = Annotations::load(&ctx.core.db, user, &rows).await?;
    let sources = rows.iter().filter_map(|row| MetadataSource::of(row, &mut annotations));
    let sources: Vec<MetadataSource> = sources.collect();
    let to_points = move || sources.into_iter().map(MetadataSource::into_point).collect::<Vec<_>>();
    let points = ctx.core.workers.run(Lane::Background, to_points).await?;

    let (mut with_passage, mut without): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|document| document.has_metadata_passage());
    remove_passages(ctx, user, &without).await?;
    let mut refused = upsert(ctx, user, points).await?;
    refused.extend(update_labels(ctx, user, with_passage.iter().chain(&without)).await?);
    with_passage.retain(|document| !refused.iter().any(|(id, _)| *id == document.id));
    without.retain(|document| !refused.iter().any(|(id, _)| *id == document.id));
    let hidden = record(ctx, user, &with_passage, &without).await?;
    if !hidden.is_empty() {
        // They were deleted meanwhile, and may have been removed from the index before the change above.
        ctx.retrieval.delete_passages(hidden.iter().map(|id| id.0).collect()).await?;
        // Those that were restored since then may have been indexed before the removal.
        let txn = begin_owned(&ctx.core.db, user).await?;
        mark_unindexed(&txn, user, &hidden, ctx.core.clock.now()).await?;
        txn.commit().await?;
    }
    Ok(refused.into_iter().next_back().map(|(_, error)| error))
}

/// Puts metadata passages into the index: together or, if the index refuses that, one by one. Returns the documents that it refused, each
/// with the error.
async fn upsert(
    ctx: &RepairContext,
    user: UserId,
    points: Vec<Point>,
) -> Result<Vec<(DocumentId, Error)>, Error> {
    if points.is_empty() {
        return Ok(Vec::new());
    }
    match ctx.retrieval.upsert_metadata_together(user, points.clone()).await {
        Ok(()) => return Ok(Vec::new()),
        Err(error @ (Error::StorageFull | Error::Busy(_))) => return Err(error),
        // The cause may be one of the documents, which must not keep the others out of the index. Damage counts only if one alone meets it.
        Err(_) => {}
    }
    let mut refused = Vec::new();
    for point in points {
        let id = DocumentId(point.document);
        match ctx.retrieval.upsert_metadata(user, point).await {
            Ok(()) => {}
            Err(error @ Error::Internal(_)) => refused.push((id, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}

/// Returns whether the labels of the passages of a text in the index may be former ones. They change without the text only when an entry
/// becomes a bookmark, or none any more, or a saved page becomes an entry. The document of a bookmark may be none of an entry any more,
/// because its feed was unfollowed before this task saw the bookmark: the index does not have its metadata passage then.
fn may_have_former_labels(document: &document::Model) -> bool {
    let is_or_was_entry =
        document.entry_id.is_some() || document.bookmark_id.is_some() && !document.has_metadata_point;
    is_or_was_entry && document.indexed_version > 0
}

/// Replaces the labels of the passages of texts that are in the index. Returns the documents that the index refused, each with the error.
async fn update_labels<'a>(
    ctx: &RepairContext,
    user: UserId,
    documents: impl Iterator<Item = &'a &'a document::Model>,
) -> Result<Vec<(DocumentId, Error)>, Error> {
    let mut refused = Vec::new();
    for document in documents.filter(|document| may_have_former_labels(document)) {
        match ctx.retrieval.update_labels(user, document.id, labels_of(document)).await {
            Ok(()) => {}
            Err(error @ Error::Internal(_)) => refused.push((document.id, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}

/// Removes the metadata passages of documents that have none any more, such as entries that were bookmarks. The rows change first, so that
/// the index never holds less than they say.
async fn remove_passages(
    ctx: &RepairContext,
    user: UserId,
    without: &[&document::Model],
) -> Result<(), Error> {
    if without.is_empty() {
        return Ok(());
    }
    let ids: Vec<DocumentId> = without.iter().map(|document| document.id).collect();
    let points = document::Column::IndexedPoints;
    let txn = begin_owned(&ctx.core.db, user).await?;
    document::Entity::update_owned(user)
        .col_expr(document::Column::HasMetadataPoint, Expr::value(false))
        .col_expr(points, points.into_expr().sub(1_i32))
        .filter(document::Column::Id.is_in(padded(&ids)))
        .filter(document::Column::HasMetadataPoint.eq(true))
        .exec(&txn)
        .await?;
    txn.commit().await?;
    // Also of those without a passage as of their rows: a change that was interrupted may have left one.
    ctx.retrieval.delete_passages(ids.into_iter().map(|id| id.0).collect()).await
}

/// Records what was written to the index. Returns the ids of the documents with a passage that are hidden or gone by now.
async fn record(
    ctx: &RepairContext,
    user: UserId,
    with_passage: &[&document::Model],
    without: &[&document::Model],
) -> Result<Vec<DocumentId>, Error> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, user).await?;
    for (since, ids) in by_change(with_passage) {
        record_passages(&txn, user, &ids, since, now).await?;
    }
    for (since, ids) in by_change(without) {
        record_labels(&txn, user, &ids, since, now).await?;
    }
    let ids: Vec<DocumentId> = with_passage.iter().map(|document| document.id).collect();
    if ids.is_empty() {
        txn.commit().await?;
        return Ok(ids);
    }
    let visible = document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(&ids)))
        .select_only()
        .column(document::Column::Id);
    let visible: HashSet<DocumentId> =
        visible.into_tuple::<DocumentId>().all(&txn).await?.into_iter().collect();
    txn.commit().await?;
    Ok(ids.into_iter().filter(|id| !visible.contains(id)).collect())
}

async fn record_passages(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[DocumentId],
    since: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    use document::Column;
    let (points, now) = (Column::IndexedPoints, after_change(since, now));
    let with_passage = Expr::case(Column::HasMetadataPoint.eq(true), points.into_expr())
        .finally(points.into_expr().add(1_i32));
    // A metadata passage with vectors has none any more; those of a text stay.
    let model = Expr::case(Column::Version.eq(0), Expr::value(None::<String>))
        .finally(Column::EmbeddingModel.into_expr());
    document::Entity::update_owned(user)
        .col_expr(Column::HasMetadataPoint, Expr::value(true))
        .col_expr(points, with_passage.into())
        .col_expr(Column::EmbeddingModel, model.into())
        .col_expr(Column::IndexedAt, Expr::value(Some(now)))
        .col_expr(Column::UnindexedSince, unindexed_after_metadata(since, now))
        .filter(Column::Id.is_in(padded(ids)))
        .filter(Column::HiddenAt.is_null())
        .exec(txn)
        .await?;
    Ok(())
}

/// Returns the time at which the state of a document since a change was written: after that change, also when the clock was set back, as
/// [`METADATA_IS_DUE`] requires.
fn after_change(since: Timestamp, now: Timestamp) -> Timestamp {
    Ord::max(now, Timestamp::from_millis(since.millis().saturating_add(1)))
}

/// Records that the labels of documents without a metadata passage were written to the index.
async fn record_labels(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[DocumentId],
    since: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let now = after_change(since, now);
    document::Entity::update_owned(user)
        .col_expr(document::Column::IndexedAt, Expr::value(Some(now)))
        .col_expr(document::Column::UnindexedSince, unindexed_after_metadata(since, now))
        .filter(document::Column::Id.is_in(padded(ids)))
        .exec(txn)
        .await?;
    Ok(())
}

/// Groups documents by the time of their last change, which many have in common after an import or the renaming of a tag.
fn by_change(documents: &[&document::Model]) -> BTreeMap<Timestamp, Vec<DocumentId>> {
    let mut groups: BTreeMap<Timestamp, Vec<DocumentId>> = BTreeMap::new();
    for document in documents {
        if let Some(since) = document.unindexed_since {
            groups.entry(since).or_default().push(document.id);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use entity::user;
    use jobs::{ClaimOrder, ClaimedJob, JobKind, LeaseOwner, Priority, SlotBudget, Track};
    use sea_orm::{DbBackend, EntityTrait, IntoActiveModel, QueryTrait};
    use values::id::{BookmarkId, EntryId};
    use values::kind::ContentType;
    use values::plan::Plan;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    async fn open_database(folder: &tempfile::TempDir) -> Db {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Db::open(&url).await.unwrap()
    }

    /// Adds a user with a document that is unindexed since noon.
    async fn add_document(db: &Db) -> (UserId, DocumentId) {
        let owner = UserId::new(NOON);
        let row = user::Model::new(owner, format!("{owner}@reader.example"), String::new(), Plan::Pro, NOON);
        user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let document = document::Model::pending(owner, ContentType::Article, "Herons".to_owned(), NOON);
        let id = document.id;
        let insert = document::Entity::insert(document.into_active_model());
        insert.exec_without_returning(db.write()).await.unwrap();
        (owner, id)
    }

    async fn read(db: &Db, owner: UserId, id: DocumentId) -> document::Model {
        document::Entity::one_visible_to(owner, id).one(db.read()).await.unwrap().unwrap()
    }

    async fn claim_one(db: &Db) -> ClaimedJob {
        let claimed = jobs::claim(
            db,
            LeaseOwner(Uuid::from_u128(1)),
            Track::Library,
            ClaimOrder::InteractiveFirst,
            NOON,
            SlotBudget::unrestricted(1),
        );
        claimed.await.unwrap().jobs.remove(0)
    }

    #[actix::test]
    async fn recorded_passage_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, id) = add_document(&db).await;

        record_passages(db.write(), owner, &[id], NOON, NOON).await.unwrap();
        let first = read(&db, owner, id).await;
        record_passages(db.write(), owner, &[id], NOON, NOON).await.unwrap();

        assert_eq!((first.indexed_points, first.has_metadata_point, first.unindexed_since), (1, true, None));
        assert_eq!(read(&db, owner, id).await.indexed_points, 1);
    }

    #[actix::test]
    async fn written_metadata_of_a_page_without_a_text_has_no_vectors() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let ((owner, dead), (other, text)) = (add_document(&db).await, add_document(&db).await);
        for (user, id, version) in [(owner, dead, 0), (other, text, 1)] {
            document::Entity::update_owned(user)
                .col_expr(document::Column::Version, Expr::value(version))
                .col_expr(document::Column::EmbeddingModel, Expr::value("a"))
                .filter(document::Column::Id.eq(id))
                .exec(db.write())
                .await
                .unwrap();

            record_passages(db.write(), user, &[id], NOON, NOON).await.unwrap();
        }

        assert_eq!(read(&db, owner, dead).await.embedding_model, None);
        assert_eq!(read(&db, other, text).await.embedding_model.as_deref(), Some("a"));
    }

    #[actix::test]
    async fn recorded_labels_have_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, id) = add_document(&db).await;
        let later = NOON + Duration::from_secs(1);

        record_labels(db.write(), owner, &[id], NOON, later).await.unwrap();

        let row = read(&db, owner, id).await;
        assert_eq!((row.indexed_at, row.unindexed_since), (Some(later), None));
        assert_eq!((row.indexed_points, row.has_metadata_point), (0, false));
    }

    #[actix::test]
    async fn text_that_the_index_lacks_stays_unindexed() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, id) = add_document(&db).await;
        document::Entity::update_owned(owner)
            .col_expr(document::Column::Version, Expr::value(1))
            .filter(document::Column::Id.eq(id))
            .exec(db.write())
            .await
            .unwrap();
        let page =
            async || -> Vec<PageEnd> { select_page(owner, None).into_tuple().all(db.read()).await.unwrap() };
        assert_eq!(page().await, [(NOON, id)]);

        record_passages(db.write(), owner, &[id], NOON, NOON).await.unwrap();

        assert_eq!(read(&db, owner, id).await.unindexed_since, Some(NOON));
        assert!(page().await.is_empty(), "its metadata is indexed once");
        mark_unindexed(db.write(), owner, &[id], NOON).await.unwrap();
        assert_eq!(page().await.len(), 1, "and again after a change");
    }

    #[actix::test]
    async fn document_that_waits_for_its_job_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, waiting) = add_document(&db).await;
        let (other, without_job) = add_document(&db).await;
        let kind = JobKind::Index;
        jobs::enqueue(db.write(), owner, kind, waiting.0, Priority::Now, NOON).await.unwrap();
        let page =
            async || -> Vec<PageEnd> { select_page(owner, None).into_tuple().all(db.read()).await.unwrap() };
        assert_eq!(page().await, [(NOON, waiting)]);

        leave_to_jobs(&db, owner, &[waiting]).await.unwrap();
        leave_to_jobs(&db, other, &[without_job]).await.unwrap();

        assert!(page().await.is_empty());
        assert!(!read(&db, other, without_job).await.awaits_index_job);
        mark_unindexed(db.write(), owner, &[waiting], NOON).await.unwrap();
        assert!(page().await.is_empty(), "a change is left to the job too");
        let job = claim_one(&db).await;
        assert!(jobs::give_up(db.write(), &job.row, "refused", NOON).await.unwrap());
        assert_eq!(page().await.len(), 1, "the job did not index it");
    }

    #[actix::test]
    async fn document_is_left_to_a_backlog_job_only_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, id) = add_document(&db).await;
        let is_own = async || {
            let own = select_not_left_to_jobs(owner, &[id]).all(db.read()).await.unwrap();
            !own.is_empty()
        };
        assert!(is_own().await, "no job");

        jobs::enqueue(db.write(), owner, JobKind::Index, id.0, Priority::Backlog, NOON).await.unwrap();
        leave_to_jobs(&db, owner, &[id]).await.unwrap();
        assert!(is_own().await && !read(&db, owner, id).await.awaits_index_job);

        let job = claim_one(&db).await;
        leave_to_jobs(&db, owner, &[id]).await.unwrap();
        assert!(!is_own().await && !read(&db, owner, id).await.awaits_index_job);

        assert!(jobs::finish(db.write(), &job.row, NOON).await.unwrap());
        assert!(is_own().await);
    }

    #[actix::test]
    async fn change_during_the_write_stays_unindexed() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, id) = add_document(&db).await;
        mark_unindexed(db.write(), owner, &[id], NOON).await.unwrap();

        record_passages(db.write(), owner, &[id], NOON, NOON).await.unwrap();

        let since = read(&db, owner, id).await.unindexed_since;
        assert!(since.is_some_and(|since| since > NOON), "{since:?}");
    }

    /// A job that wrote the later state before clears only the time that it has read.
    #[actix::test]
    async fn change_during_the_write_gets_another_time() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, id) = add_document(&db).await;
        let later = NOON + Duration::from_secs(1);
        for now in [NOON, later, later + Duration::from_secs(1)] {
            mark_unindexed(db.write(), owner, &[id], later).await.unwrap();
            let read_by_job = read(&db, owner, id).await.unindexed_since;

            record_passages(db.write(), owner, &[id], NOON, now).await.unwrap();

            let since = read(&db, owner, id).await.unindexed_since;
            assert!(since > read_by_job, "{since:?} after {read_by_job:?}");
        }
    }

    #[actix::test]
    async fn write_over_a_later_state_is_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, id) = add_document(&db).await;
        record_passages(db.write(), owner, &[id], NOON, NOON).await.unwrap();
        let later = NOON + Duration::from_secs(1);

        record_passages(db.write(), owner, &[id], NOON, later).await.unwrap();

        assert_eq!(read(&db, owner, id).await.unindexed_since, Some(later));
    }

    #[test]
    fn entry_or_bookmark_that_was_one_may_have_former_labels() {
        let page = document::Model {
            indexed_version: 1,
            ..document::Model::pending(UserId(Uuid::nil()), ContentType::Article, "Herons".to_owned(), NOON)
        };
        let entry = document::Model { entry_id: Some(EntryId(Uuid::nil())), ..page.clone() };
        let detached = document::Model { bookmark_id: Some(BookmarkId(Uuid::nil())), ..page.clone() };
        let saved = document::Model { has_metadata_point: true, ..detached.clone() };
        let without_text = document::Model { indexed_version: 0, ..entry.clone() };

        assert!(may_have_former_labels(&entry) && may_have_former_labels(&detached));
        for document in [page, saved, without_text] {
            assert!(!may_have_former_labels(&document), "{document:?}");
        }
    }

    #[actix::test]
    async fn pages_and_their_jobs_are_found_by_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let user = UserId::new(NOON);
        let ids: Vec<DocumentId> = (0..200).map(|id| DocumentId(Uuid::from_u128(id))).collect();

        let page = select_page(user, Some((NOON, DocumentId(Uuid::nil())))).build(DbBackend::Sqlite);
        let page = QueryPlan::of(&db, page).await.unwrap();
        let documents = select_not_left_to_jobs(user, &ids).build(DbBackend::Sqlite);
        let documents = QueryPlan::of(&db, documents).await.unwrap();

        let is_range = page.has_step("document_unindexed_metadata (user_id=?");
        assert!(is_range && !page.has_step("TEMP B-TREE"), "{page:#?}");
        assert!(documents.has_step("document_user (user_id=? AND id=?)"), "{documents:#?}");
        assert!(documents.has_step("job_subject (subject=?)"), "{documents:#?}");
    }
}
