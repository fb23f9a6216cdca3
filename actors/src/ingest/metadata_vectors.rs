//! Vectors of metadata passages. A page that could not be fetched has no text, so what it is about is said by its title, its excerpt, and the
//! tags and highlights of its bookmark. All other documents are found by the meaning of their texts.

use std::collections::{BTreeMap, HashMap};

use database::padded;
use entity::document;
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use search::index::Point;
use tracing::warn;
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::kind::{BudgetGroup, DocumentStatus};

use super::passage_embedding::model_use;
use super::repair::RepairContext;
use crate::ai::budget;
use crate::retrieval::{EmbedOutcome, Vectors};

/// Metadata passages that are embedded together: at most seconds of work for the model.
const MAX_EMBEDDED_TOGETHER: usize = 48;

/// Documents whose metadata passages got vectors, by the model that made them; also those whose texts the service of the model refuses. During
/// a change of models the next one may fail for some of them.
pub(super) type EmbeddedMetadata = BTreeMap<String, Vec<DocumentId>>;

/// Returns whether the metadata passage of a document has vectors.
pub(super) fn has_vectors(document: &document::Model) -> bool {
    document.version == 0 && document.status == DocumentStatus::Failed && document.has_metadata_passage()
}

/// Embeds the texts of points, by the ids of these, and adds the vectors to the points. Returns which were embedded: points whose texts cannot
/// be embedded now are found by their words.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn embed(
    ctx: &RepairContext,
    user: UserId,
    points: &mut [Point],
    mut texts: HashMap<Uuid, String>,
) -> Result<EmbeddedMetadata, Error> {
    let mut embedded = EmbeddedMetadata::new();
    let mut points: Vec<&mut Point> =
        points.iter_mut().filter(|point| texts.contains_key(&point.id)).collect();
    for batch in points.chunks_mut(MAX_EMBEDDED_TOGETHER) {
        let batch_texts = batch.iter().filter_map(|point| texts.remove(&point.id)).collect();
        let Some(computed) = compute(ctx, batch_texts).await else { break };
        // Charge the tokens even if the index fails later: the model has used them.
        let (month, spent) = (ctx.core.clock.now().month(), model_use(&computed));
        budget::spend(ctx.core.db.write(), user, month, BudgetGroup::Embedding, spent).await?;
        let Vectors { model, vectors, .. } = computed;
        embedded.entry(model).or_default().extend(batch.iter().map(|point| DocumentId(point.document)));
        for (point, vector) in batch.iter_mut().zip(vectors) {
            point.dense = vector;
        }
    }
    Ok(embedded)
}

/// Returns the embeddings of texts; `None` if there is no model, or if it cannot be used now.
async fn compute(ctx: &RepairContext, texts: Vec<String>) -> Option<Vectors> {
    match ctx.retrieval.engine().embed(texts).await {
        Ok(EmbedOutcome::Embedded(vectors)) => Some(vectors),
        // The service has logged why it cannot be used.
        Ok(EmbedOutcome::WithoutModel | EmbedOutcome::Unavailable { .. }) => None,
        Err(error) => {
            warn!(
                cause = error.chain(),
                "the titles of pages without a text could not be embedded; they are found by their words"
            );
            None
        }
    }
}

/// Records with the documents by which model their metadata passages in the index are embedded.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn record(
    ctx: &RepairContext,
    user: UserId,
    embedded: EmbeddedMetadata,
) -> Result<(), Error> {
    for (model, documents) in embedded {
        document::Entity::update_owned(user)
            .col_expr(document::Column::EmbeddingModel, Expr::value(Some(model)))
            .filter(document::Column::Id.is_in(padded(&documents)))
            // The passages of a text that arrived meanwhile are embedded by its job.
            .filter(document::Column::Version.eq(0))
            .exec(ctx.core.db.write())
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use values::id::BookmarkId;
    use values::kind::ContentType;
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn documents_without_a_text_that_failed_have_vectors() {
        let noon = Timestamp::from_millis(1_714_996_800_000);
        let row =
            document::Model::pending(UserId(Uuid::nil()), ContentType::Article, "Herons".to_owned(), noon);
        let waiting = document::Model { bookmark_id: Some(BookmarkId::new(noon)), ..row };
        let dead = document::Model { status: DocumentStatus::Failed, ..waiting.clone() };
        let with_text = document::Model { version: 1, ..dead.clone() };
        let note = document::Model { content_type: ContentType::Note, ..dead.clone() };

        assert!(has_vectors(&dead));
        assert!(![waiting, with_text, note].iter().any(has_vectors));
    }
}
