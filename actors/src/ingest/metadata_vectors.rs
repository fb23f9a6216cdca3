//! Adds the vectors of metadata passages. A page that could not be fetched has no text, so what it is about is said by its title, its excerpt,
//! and the tags and highlights of its bookmark. All other documents are found by the meaning of their texts.
//!
//! A metadata passage is written by its words alone (`metadata_task`), and gets its vectors here afterwards: search finds it by its words
//! although a service embeds slowly or does not answer. Users take turns. The work is found by the rows (`unembedded_metadata`), so a crash
//! loses nothing, and what failed is tried again by the next run.
//!
//! Metadata gets the vectors of each model that is loaded, as texts do: during a change of models those of both, and of the one that is
//! searched alone while the next one is not loaded or cannot be used. The row names the later of them: one that names
//! the next model lacks no vectors, one that names another model lacks those of the next, and one that names none lacks all.

use std::collections::BTreeMap;

use database::padded;
use entity::document;
use errors::Error;
use library::documents::mark_unindexed;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use search::index::PassageEmbedding;
use values::groups::group_by_user;
use values::id::{DocumentId, UserId};
use values::kind::BudgetGroup;
use values::time::Timestamp;

use super::passage_embedding::model_use;
use super::repair::RepairContext;
use super::unembedded_metadata;
use crate::ai::budget;
use crate::retrieval::{Annotations, EmbedOutcome, MetadataSource, VectorBatch, Vectors};

/// Metadata passages of a user that are embedded together, before the next user's: at most seconds of work for a model.
const MAX_EMBEDDED_TOGETHER: usize = 48;

/// Adds vectors of the latest loaded model to the metadata passages that lack them, with those of the searched one where these are missing too.
/// Ends early, without an error, when no model is loaded, it cannot be used now, this server does not maintain the index any more, or a disk has
/// too little space.
///
/// # Errors
/// The database, the model or the index fails. What was not embedded is found again.
pub async fn run(ctx: &RepairContext) -> Result<(), Error> {
    while let Some(latest) = ctx.retrieval.engine().latest_loaded() {
        let next = ctx.retrieval.engine().model_names().next;
        let found = unembedded_metadata::find_indexed(&ctx.core.db, latest.model(), next.as_deref()).await?;
        let mut turns: Vec<(UserId, Vec<DocumentId>)> = group_by_user(found).into_iter().collect();
        let (mut has_progress, mut failure) = (false, None);
        while !turns.is_empty() {
            for (user, documents) in &mut turns {
                if !ctx.may_change_index() {
                    return Ok(());
                }
                let rest = documents.split_off(documents.len().min(MAX_EMBEDDED_TOGETHER));
                let first = std::mem::replace(documents, rest);
                match add_vectors(ctx, *user, &first).await {
                    Ok(Progress::Unavailable) => return Ok(()),
                    Ok(progress) => has_progress |= progress == Progress::Added,
                    // The cause may be one of these documents, which must not keep the others without vectors.
                    Err(error) => failure = Some(error),
                }
            }
            turns.retain(|(_, documents)| !documents.is_empty());
        }
        if let Some(error) = failure {
            return Err(error);
        }
        if !has_progress {
            return Ok(());
        }
    }
    Ok(())
}

/// The outcome of embedding some metadata passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// At least one of them has vectors of the latest loaded model now.
    Added,
    /// None of them has: they changed meanwhile, the index lacks one, or only the former model embedded them.
    Unchanged,
    /// There is no model, or it cannot be used now.
    Unavailable,
}

/// Embeds the metadata of documents of a user, and adds the vectors to their metadata passages: first to those that lack the vectors that are
/// searched.
async fn add_vectors(ctx: &RepairContext, user: UserId, ids: &[DocumentId]) -> Result<Progress, Error> {
    let rows = document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(ids)))
        .filter(document::Column::UnindexedSince.is_null())
        .all(ctx.core.db.read())
        .await?;
    let lacks_next_only =
        |row: &&document::Model| ctx.retrieval.engine().lacks_next_vectors(row.embedding_model.as_deref());
    let (of_next, of_all): (Vec<_>, Vec<_>) = rows.iter().partition(lacks_next_only);
    let mut progress = Progress::Unchanged;
    for (rows, lacking) in [(of_all, LackingVectors::All), (of_next, LackingVectors::Next)] {
        match add_lacking(ctx, user, rows, lacking).await? {
            Progress::Unavailable => return Ok(Progress::Unavailable),
            Progress::Added => progress = Progress::Added,
            Progress::Unchanged => {}
        }
    }
    Ok(progress)
}

/// The vectors that metadata passages lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LackingVectors {
    /// Those of all models that are loaded.
    All,
    /// Those of the next model alone.
    Next,
}

/// Adds the vectors that these documents lack.
async fn add_lacking(
    ctx: &RepairContext,
    user: UserId,
    rows: Vec<&document::Model>,
    lacking: LackingVectors,
) -> Result<Progress, Error> {
    if rows.is_empty() {
        return Ok(Progress::Unchanged);
    }
    let mut annotations = Annotations::load(&ctx.core.db, user, &rows).await?;
    let embedded = rows.into_iter().filter_map(|row| Some((row, MetadataSource::of(row, &mut annotations)?)));
    let (rows, texts): (Vec<&document::Model>, Vec<String>) =
        embedded.map(|(row, source)| (row, source.embedded_text())).unzip();
    if rows.is_empty() {
        return Ok(Progress::Unchanged);
    }
    let Some(computed) = compute(ctx, lacking, texts).await? else { return Ok(Progress::Unavailable) };
    // Charge the tokens even if the index fails later: the model has used them.
    let (month, spent) = (ctx.core.clock.now().month(), model_use(&computed));
    budget::spend(ctx.core.db.write(), user, month, BudgetGroup::Embedding, spent).await?;
    let Vectors { model, vectors, .. } = computed;
    let batches = rows.iter().zip(vectors).map(|(row, vectors)| {
        let to_embedding = |embedding| PassageEmbedding { passage: row.id.0, embedding };
        let embeddings = vectors.into_iter().map(to_embedding).collect();
        VectorBatch { document: row.id, version: i64::from(row.version), embeddings, last: false }
    });
    if ctx.retrieval.set_vectors(user, batches.collect()).await? {
        let is_recorded = record(ctx, user, &rows, &model).await?;
        let latest = ctx.retrieval.engine().latest_loaded();
        let is_latest = latest.is_some_and(|latest| latest.model() == model);
        return Ok(if is_recorded && is_latest { Progress::Added } else { Progress::Unchanged });
    }
    // The index lacks one of the passages, which are written again first.
    let ids: Vec<DocumentId> = rows.iter().map(|row| row.id).collect();
    let txn = begin_owned(&ctx.core.db, user).await?;
    mark_unindexed(&txn, user, &ids, ctx.core.clock.now()).await?;
    txn.commit().await?;
    Ok(Progress::Unchanged)
}

/// Returns the vectors of texts; `None` if the models cannot be used now.
async fn compute(
    ctx: &RepairContext,
    lacking: LackingVectors,
    texts: Vec<String>,
) -> Result<Option<Vectors>, Error> {
    let engine = ctx.retrieval.engine();
    let outcome = match lacking {
        LackingVectors::All => engine.embed(texts).await?,
        LackingVectors::Next => engine.embed_with_next(texts).await?,
    };
    match outcome {
        EmbedOutcome::Embedded(vectors) => Ok(Some(vectors)),
        // The service has logged why it cannot be used.
        EmbedOutcome::WithoutModel | EmbedOutcome::Unavailable { .. } => Ok(None),
    }
}

/// Records by which model metadata passages in the index are embedded, also those whose texts the service of the model refuses. The passage of
/// a document that changed meanwhile may have been written again without vectors, or has vectors of the former state: it is embedded again.
/// Returns whether there is one that did not change.
async fn record(
    ctx: &RepairContext,
    user: UserId,
    rows: &[&document::Model],
    model: &str,
) -> Result<bool, Error> {
    let mut is_recorded = false;
    for (indexed_at, ids) in by_indexed_at(rows) {
        let recorded = document::Entity::update_owned(user)
            .col_expr(document::Column::EmbeddingModel, Expr::value(Some(model.to_owned())))
            .filter(document::Column::Id.is_in(padded(&ids)))
            .filter(document::Column::UnindexedSince.is_null())
            .filter(document::Column::IndexedAt.eq(indexed_at))
            // The passages of a text that arrived meanwhile are embedded by its job.
            .filter(document::Column::Version.eq(0))
            .exec(ctx.core.db.write())
            .await?;
        is_recorded |= recorded.rows_affected > 0;
    }
    Ok(is_recorded)
}

/// Groups documents by the time at which their metadata was written to the index, which many have in common after an import.
fn by_indexed_at(rows: &[&document::Model]) -> BTreeMap<Timestamp, Vec<DocumentId>> {
    let mut groups: BTreeMap<Timestamp, Vec<DocumentId>> = BTreeMap::new();
    for row in rows {
        if let Some(indexed_at) = row.indexed_at {
            groups.entry(indexed_at).or_default().push(row.id);
        }
    }
    groups
}
