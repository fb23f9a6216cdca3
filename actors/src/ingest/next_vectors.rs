//! Adds the vectors of the next model to documents that the index has already, during a change of models. Their words, their labels and the
//! vectors that are searched meanwhile stay.

use database::padded;
use entity::{chunk, document};
use errors::Error;
use library::context::CoreContext;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use search::index::PassageEmbedding;
use values::id::{DocumentId, UserId};
use values::kind::BudgetGroup;

use super::indexing_context::IndexingContext;
use super::passage_embedding::{model_use, prepend_title};
use crate::ai::budget;
use crate::retrieval::{EmbedOutcome, VectorBatch};

/// Passages of a document that get vectors.
pub(super) struct EmbeddedPassages<'a> {
    /// The document.
    pub document: &'a document::Model,
    /// All of its passages, or the next of many.
    pub passages: &'a [chunk::Model],
    /// Whether these are the last passages.
    pub last: bool,
}

/// The result of adding vectors to documents.
pub(super) enum AddVectorsOutcome {
    /// The index has the vectors.
    Added {
        /// The model that made them.
        model: String,
    },
    /// The index lacks some of the passages, or there is no next model any more. The rows of the documents say now that they have no vectors,
    /// so that they are indexed as a whole.
    NeedsFullIndexing,
}

/// Embeds passages of a user's documents with the next model, and adds the vectors to the index.
///
/// # Errors
/// [`Error::Busy`] when the model cannot be used now; [`Error::Internal`] when the database, the model or the index fails.
pub(super) async fn add_next_vectors(
    ctx: &IndexingContext,
    user: UserId,
    documents: &[EmbeddedPassages<'_>],
) -> Result<AddVectorsOutcome, Error> {
    let to_text = |embedded: &EmbeddedPassages<'_>, row: &chunk::Model| {
        prepend_title(&embedded.document.title, &row.text)
    };
    let texts = documents.iter().flat_map(|of| of.passages.iter().map(move |row| to_text(of, row))).collect();
    let vectors = match ctx.retrieval.engine().embed_with_next(texts).await? {
        EmbedOutcome::Embedded(vectors) => vectors,
        EmbedOutcome::WithoutModel => return clear_models(&ctx.core, user, documents).await,
        EmbedOutcome::Unavailable { retry_after } => return Err(Error::Busy(retry_after)),
    };
    let (spent, model) = (model_use(&vectors), vectors.model);
    let mut computed = vectors.vectors.into_iter();
    let to_batch = |of: &EmbeddedPassages<'_>| {
        let mut embeddings = Vec::new();
        for (row, computed) in of.passages.iter().zip(&mut computed) {
            let to_embedding = |embedding| PassageEmbedding { passage: row.id.0, embedding };
            embeddings.extend(computed.into_iter().map(to_embedding));
        }
        let (document, version) = (of.document.id, i64::from(of.document.version));
        VectorBatch { document, version, embeddings, last: of.last }
    };
    let batches = documents.iter().map(to_batch).collect();
    let is_complete = ctx.retrieval.set_vectors(user, batches).await?;
    // Charge the tokens even if the index lacks passages: the model has used them.
    let month = ctx.core.clock.now().month();
    budget::spend(ctx.core.db.write(), user, month, BudgetGroup::Embedding, spent).await?;
    if is_complete {
        Ok(AddVectorsOutcome::Added { model })
    } else {
        clear_models(&ctx.core, user, documents).await
    }
}

/// Records that documents have no vectors.
async fn clear_models(
    core: &CoreContext,
    user: UserId,
    documents: &[EmbeddedPassages<'_>],
) -> Result<AddVectorsOutcome, Error> {
    let ids: Vec<DocumentId> = documents.iter().map(|of| of.document.id).collect();
    document::Entity::update_owned(user)
        .col_expr(document::Column::EmbeddingModel, Expr::value(None::<String>))
        .filter(document::Column::Id.is_in(padded(&ids)))
        .exec(core.db.write())
        .await?;
    Ok(AddVectorsOutcome::NeedsFullIndexing)
}
