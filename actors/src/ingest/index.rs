//! Puts a document's passages into the index; with that it is ready.

use entity::id::{DocumentId, UserId};
use entity::kind::{BudgetGroup, DocumentStatus};
use entity::{bookmark, chunk, collection_bookmark, document, job};
use runtime::Lane;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use search::index::{Labels, Language, Point, Source};
use search::lexical;

use super::attempt::JobError;
use super::forget;
use super::queue::{self, Priority, JobKind};
use crate::ai::budget::{self, Spent};
use crate::ingest::context::IngestContext;
use errors::Error;
use library::owned_transaction::begin_owned;
use crate::retrieval::{Put, Vectors};

/// Passages that one turn of the job puts in, seconds of work for the model: in between a book gives way to others, and
/// one that was deleted meanwhile is given up.
const A_TURN: u64 = 32;
/// Passages that somebody waits for: a long chapter. The rest of a book comes with the backlog.
const LONG: i32 = 256;

/// Runs the job: the passages of its next turn. What the version before said is found until the last of them is in.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let found =
        document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).one(ctx.core.db.read()).await?;
    let Some(document) = found.filter(|document| document.hidden_at.is_none()) else {
        forget::unlist(ctx, job.user_id, [id]).await?;
        ctx.retrieval.forget(job.user_id, id).await?;
        jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
        return Ok(());
    };
    let mut rows = chunk::Entity::owned_by(job.user_id)
        .filter(chunk::Column::DocumentId.eq(id))
        .filter(chunk::Column::Version.eq(document.version))
        .filter(chunk::Column::Ordinal.gte(job.done))
        .order_by_asc(chunk::Column::Ordinal)
        .limit(A_TURN + 1)
        .all(ctx.core.db.read())
        .await?;
    let more = rows.len() as u64 > A_TURN;
    rows.truncate(A_TURN as usize);
    let next = rows.last().map_or(job.done, |last| last.ordinal.saturating_add(1));
    let labels = labels(ctx, &document).await?;
    // What the index lost comes back by its words first, which takes milliseconds a document where vectors take seconds.
    let is_words_only = document.index_lost_at.is_some() && document.indexed_version == 0;
    let vectors = if is_words_only {
        None
    } else {
        let texts = rows.iter().map(|row| with_title(&document.title, &row.text)).collect();
        ctx.retrieval.embed(texts).await?
    };
    let model = vectors.as_ref().map(|made| made.model.clone());
    let spent = vectors.as_ref().map(spent);
    let points = points(ctx, &document, labels, rows, vectors).await?;
    let version = i64::from(document.version);
    ctx.retrieval.put(Put { user: job.user_id, document: id, version, points, last: !more }).await?;
    if let Some(spent) = spent {
        // Used is used, whatever becomes of the job.
        let month = ctx.core.clock.now().month();
        budget::spend(ctx.core.db.write(), job.user_id, month, BudgetGroup::Embedding, spent).await?;
    }
    if more {
        // From then on nobody waits for it any more than for any other backlog.
        let priority = if next < LONG { Priority::of(job) } else { Priority::Backlog };
        jobs::yield_job(ctx.core.db.write(), job, next, priority, ctx.core.clock.now()).await?;
        ctx.job_signal.notify();
        return Ok(());
    }
    // The model may be loaded after the start of the service. If there has never been one, no vectors are expected.
    let is_awaiting_vectors = document.index_lost_at.is_some()
        && model.is_none()
        && (!is_words_only || document.vectors_of.is_some() || ctx.retrieval.model().is_some());
    finish(ctx, job, &document, Indexed { model, passages: next, is_awaiting_vectors }).await
}

/// What the index holds of a document from now on.
struct Indexed {
    /// The model that made the vectors; none where there are none.
    model: Option<String>,
    /// How many passages.
    passages: i32,
    /// Whether the index has lost vectors of the document that are not restored yet.
    is_awaiting_vectors: bool,
}

fn spent(made: &Vectors) -> Spent {
    let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    Spent { times: whole(made.vectors.len()), tokens: whole(made.tokens) }
}

/// Ready, unless a newer text came in meanwhile: then the job that waits for it says so.
async fn finish(
    ctx: &IngestContext,
    job: &job::Model,
    document: &document::Model,
    indexed: Indexed,
) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        if is_gone(&txn, job.user_id, document.id).await? {
            // The account was removed meanwhile, and its jobs with it.
            drop(txn);
            ctx.retrieval.forget(job.user_id, document.id).await?;
            return Err(JobError::LeaseLost);
        }
        // What this try put in may have taken the place of a newer version: the index is made once more.
        jobs::enqueue(&txn, job.user_id, JobKind::Index, job.subject, Priority::Now, now).await?;
        txn.commit().await?;
        return Err(JobError::LeaseLost);
    }
    // A bookmark that was ready and stays so has not changed for those who ask for changes.
    if document.status != DocumentStatus::Ready || document.error.is_some() {
        // The bookmark before its document, as whoever deletes it takes them: nobody waits in a circle.
        bookmark::Entity::touch_for_document(&txn, job.user_id, document.id, now).await?;
    }
    let lost_at = document.index_lost_at.filter(|_| indexed.is_awaiting_vectors);
    let updated = document::Entity::update_many()
        .col_expr(document::Column::IndexedVersion, Expr::value(document.version))
        .col_expr(document::Column::VectorsOf, Expr::value(indexed.model))
        .col_expr(document::Column::IndexedPassages, Expr::value(indexed.passages))
        .col_expr(document::Column::IndexedAt, Expr::value(Some(now)))
        .col_expr(document::Column::IndexLostAt, Expr::value(lost_at))
        .col_expr(document::Column::Status, Expr::value(DocumentStatus::Ready))
        .col_expr(document::Column::Error, Expr::value(None::<String>))
        .filter(document::Column::UserId.eq(job.user_id))
        .filter(document::Column::Id.eq(document.id))
        .filter(document::Column::Version.eq(document.version))
        .exec(&txn)
        .await?;
    let gone = updated.rows_affected == 0 && is_gone(&txn, job.user_id, document.id).await?;
    chunk::Entity::delete_many()
        .filter(chunk::Column::UserId.eq(job.user_id))
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.lt(document.version))
        .exec(&txn)
        .await?;
    if lost_at.is_some() && updated.rows_affected > 0 && ctx.retrieval.model().is_some() {
        // After the words of all other documents. Without a model, loading one queues the vectors.
        jobs::enqueue(&txn, job.user_id, JobKind::Index, job.subject, Priority::Backlog, now).await?;
    }
    txn.commit().await?;
    if gone {
        // Its feed was left meanwhile: what this try put in came behind what took it out.
        ctx.retrieval.forget(job.user_id, document.id).await?;
    }
    Ok(())
}

async fn is_gone(db: &impl ConnectionTrait, user: UserId, id: DocumentId) -> Result<bool, Error> {
    let row = document::Entity::of(user).filter(document::Column::Id.eq(id)).one(db).await?;
    Ok(row.is_none())
}

/// What a passage means is told by its title too: measured, it is worth more than a point of nDCG.
fn with_title(title: &str, text: &str) -> String {
    if title.is_empty() { text.to_owned() } else { format!("{title}. {text}") }
}

async fn points(
    ctx: &IngestContext,
    document: &document::Model,
    labels: Labels,
    rows: Vec<chunk::Model>,
    vectors: Option<Vectors>,
) -> Result<Vec<Point>, Error> {
    let (title, id, version) = (document.title.clone(), document.id.0, i64::from(document.version));
    let told = document.language.clone();
    ctx.core.workers
        .run(Lane::Background, move || {
            let mut vectors = vectors.map(|made| made.vectors.into_iter());
            let point = |row: chunk::Model| {
                let language = language(told.as_deref(), &row.text);
                Point {
                    id: row.id.0,
                    document: id,
                    version,
                    labels: labels.clone(),
                    language,
                    sparse: lexical::analyze_passage(&title, &row.text, language),
                    dense: vectors.as_mut().and_then(Iterator::next),
                }
            };
            rows.into_iter().map(point).collect()
        })
        .await
        .map_err(Error::from)
}

fn language(told: Option<&str>, text: &str) -> Language {
    told.and_then(Language::from_code).unwrap_or_else(|| lexical::detect_language(text))
}

/// What the document's passages are filed under.
pub async fn labels(ctx: &IngestContext, document: &document::Model) -> Result<Labels, Error> {
    let source = if document.entry_id.is_some() && document.bookmark_id.is_none() {
        Source::Feeds
    } else {
        Source::Bookmarks
    };
    let collections = match document.bookmark_id {
        Some(bookmark) => {
            let own = collection_bookmark::Entity::owned_by(document.user_id);
            let rows =
                own.filter(collection_bookmark::Column::BookmarkId.eq(bookmark)).all(ctx.core.db.read()).await?;
            rows.into_iter().map(|row| row.collection_id.0).collect()
        }
        None => Vec::new(),
    };
    let feed = document.feed_id.map(|feed| feed.0);
    Ok(Labels { source, feed, collections })
}

/// Files a document's passages anew.
pub async fn relabel(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    if let Some(document) = readable(ctx, job.user_id, id).await? {
        let labels = labels(ctx, &document).await?;
        ctx.retrieval.relabel(job.user_id, id, labels).await?;
        document::Entity::update_many()
            .col_expr(document::Column::IndexedAt, Expr::value(Some(ctx.core.clock.now())))
            .filter(document::Column::UserId.eq(job.user_id))
            .filter(document::Column::Id.eq(id))
            .exec(ctx.core.db.write())
            .await?;
    }
    jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
    Ok(())
}

async fn readable(ctx: &IngestContext, user: UserId, id: DocumentId) -> Result<Option<document::Model>, Error> {
    Ok(document::Entity::one_of(user, id).one(ctx.core.db.read()).await?)
}

/// A document that cannot be put in is not awaited any more where the index lost it: the document says why.
pub async fn give_up(db: &impl ConnectionTrait, job: &job::Model) -> Result<(), DbErr> {
    document::Entity::update_many()
        .col_expr(document::Column::IndexLostAt, Expr::value(None::<i64>))
        .filter(document::Column::UserId.eq(job.user_id))
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .exec(db)
        .await
        .map(drop)
}
