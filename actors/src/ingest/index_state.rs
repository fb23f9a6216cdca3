//! What the row of a document says of its passages in the index.

use database::padded;
use entity::document;
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{DocumentId, UserId};
use values::kind::DocumentStatus;
use values::time::Timestamp;

/// Returns whether a document is indexed by its words only. Documents that the index lost are restored for search by words first: this
/// takes milliseconds per document, vectors take seconds.
pub(super) fn is_words_only(document: &document::Model) -> bool {
    document.index_lost_at.is_some() && document.indexed_version == 0
}

/// The state of a document of which the index has all passages, or of several documents with the same state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IndexState {
    /// The version of the text whose passages are in the index.
    pub version: i32,
    /// The number of passages.
    pub passages: i32,
    /// The model that made the vectors; none if there are no vectors.
    pub model: Option<String>,
    /// When the index lost vectors of the document that are not restored yet.
    pub lost_at: Option<Timestamp>,
}

impl IndexState {
    /// Returns the state of a document once the passages of its version, with vectors of `model`, are in the index. `has_model` says
    /// whether this server has a model at present.
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
        Self { version: document.version, passages, model, lost_at }
    }

    /// Writes the state of documents, which are ready then. Returns whether all of them still have this version of their texts; the row of
    /// one with a newer text, of which the index has nothing yet, stays as it is.
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
            .col_expr(document::Column::IndexedPassages, Expr::value(self.passages))
            .col_expr(document::Column::IndexedAt, Expr::value(Some(now)))
            .col_expr(document::Column::IndexLostAt, Expr::value(self.lost_at))
            .col_expr(document::Column::Status, Expr::value(DocumentStatus::Ready))
            .col_expr(document::Column::Error, Expr::value(None::<String>))
            .filter(document::Column::Id.is_in(padded(documents)))
            .filter(document::Column::Version.eq(self.version))
            .exec(txn)
            .await?;
        Ok(updated.rows_affected == documents.len() as u64)
    }
}
