//! What the row of a document says of its passages in the index.

use database::padded;
use entity::document;
use errors::Error;
use library::documents::unindexed_after_text;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{DocumentId, UserId};
use values::kind::DocumentStatus;
use values::time::Timestamp;

/// Returns whether a document is indexed by its words only: the index does not have the words of its text, and its vectors were lost or are
/// postponed. Documents that the index lost are restored for search by words first: this takes milliseconds per document, vectors take seconds.
pub(super) fn is_words_only(document: &document::Model) -> bool {
    let is_words_first = document.index_lost_at.is_some() || document.has_postponed_vectors;
    is_words_first && document.indexed_version < document.version
}

/// The state of a document of which the index has all passages, or of several documents with the same state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IndexState {
    /// The version of the text whose passages are in the index.
    pub version: i32,
    /// The number of passages in the index, the metadata passage included.
    pub points: i32,
    /// Whether the metadata passage is in the index.
    pub has_metadata_point: bool,
    /// The `unindexed_since` of the state of the document that was written to the index.
    pub unindexed_since: Option<Timestamp>,
    /// The model that made the vectors; none if there are no vectors.
    pub model: Option<String>,
    /// When the index lost vectors of the document that are not restored yet.
    pub lost_at: Option<Timestamp>,
    /// Whether the vectors, which the index never had, are postponed.
    pub has_postponed_vectors: bool,
}

impl IndexState {
    /// Returns the state of a document once the passages of its version, with vectors of `model`, and its metadata passage are in the index.
    /// `passages` are those of its text. `has_model` says whether this server has a model at present.
    pub fn of_indexed(
        document: &document::Model,
        passages: i32,
        model: Option<String>,
        has_model: bool,
    ) -> Self {
        // The model may be loaded after the start of the server. If there has never been one, no vectors are expected.
        let is_awaiting_vectors =
            model.is_none() && (!is_words_only(document) || document.embedding_model.is_some() || has_model);
        let lost_at = document.index_lost_at.filter(|_| is_awaiting_vectors);
        let has_metadata_point = document.has_metadata_passage();
        Self {
            version: document.version,
            points: passages.saturating_add(i32::from(has_metadata_point)),
            has_metadata_point,
            unindexed_since: document.unindexed_since,
            has_postponed_vectors: model.is_none() && document.has_postponed_vectors,
            model,
            lost_at,
        }
    }

    /// Returns whether a job is to add vectors to documents in this state: this server has a model, and they were lost or are postponed.
    pub fn awaits_vectors(&self, has_model: bool) -> bool {
        has_model && (self.lost_at.is_some() || self.has_postponed_vectors)
    }

    /// Writes the state of documents, which are ready then. Returns whether all of them still have this version of their texts; the row of
    /// one with a newer text, of which the index has nothing yet, stays as it is. A change of the metadata since the document was read stays
    /// unindexed.
    pub async fn write(
        &self,
        txn: &impl ConnectionTrait,
        user: UserId,
        documents: &[DocumentId],
        now: Timestamp,
    ) -> Result<bool, Error> {
        let updated = document::Entity::update_owned(user)
            .col_expr(document::Column::IndexedVersion, Expr::value(self.version))
            .col_expr(document::Column::EmbeddingModel, Expr::value(self.model.clone()))
            .col_expr(document::Column::IndexedPoints, Expr::value(self.points))
            .col_expr(document::Column::HasMetadataPoint, Expr::value(self.has_metadata_point))
            .col_expr(document::Column::UnindexedSince, unindexed_after_text(self.unindexed_since))
            // The job ends in this transaction. Otherwise its end would write the row once more.
            .col_expr(document::Column::AwaitsIndexJob, Expr::value(false))
            .col_expr(document::Column::IndexedAt, Expr::value(Some(now)))
            .col_expr(document::Column::IndexLostAt, Expr::value(self.lost_at))
            // The words are in place. The row names no model, by which vectors are missed whose job is lost.
            .col_expr(document::Column::HasPostponedVectors, Expr::value(false))
            .col_expr(document::Column::Status, Expr::value(DocumentStatus::Ready))
            .col_expr(document::Column::Error, Expr::value(None::<String>))
            .filter(document::Column::Id.is_in(padded(documents)))
            .filter(document::Column::Version.eq(self.version))
            .exec(txn)
            .await?;
        Ok(updated.rows_affected == documents.len() as u64)
    }
}
