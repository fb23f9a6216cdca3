//! Documents whose vectors come later than their words, because the service that embeds cannot be used now.

use database::padded;
use entity::document;
use errors::Error;
use library::context::CoreContext;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, QueryFilter};
use values::id::{DocumentId, UserId};

/// Returns whether a document may be indexed by its words now and get its vectors later: the index does not have the words of its text yet.
pub(super) fn can_postpone_vectors(document: &document::Model) -> bool {
    document.indexed_version < document.version
}

/// Has documents whose text is not in the index yet indexed by their words only, and embedded later by a job of the backlog. Their rows
/// record it, so a restart does not change it. The index has lost nothing: search by meaning continues for their owner.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn postpone_vectors(
    core: &CoreContext,
    user: UserId,
    documents: Vec<&mut document::Model>,
) -> Result<(), Error> {
    let ids: Vec<DocumentId> = documents.iter().map(|document| document.id).collect();
    document::Entity::update_owned(user)
        .col_expr(document::Column::HasPostponedVectors, Expr::value(true))
        .filter(document::Column::Id.is_in(padded(&ids)))
        .filter(Expr::col(document::Column::IndexedVersion).lt(Expr::col(document::Column::Version)))
        .exec(core.db.write())
        .await?;
    for document in documents {
        document.has_postponed_vectors = true;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use values::kind::ContentType;
    use values::time::Timestamp;

    use super::*;
    use crate::ingest::index_state::{IndexState, is_words_only};

    #[test]
    fn vectors_wait_only_for_words_that_are_not_indexed() {
        let noon = Timestamp::from_millis(1_714_996_800_000);
        let user = UserId(uuid::Uuid::nil());
        let document = document::Model::pending(user, ContentType::Article, "Herons".to_owned(), noon);
        for (version, indexed_version, can_postpone) in [(1, 0, true), (2, 1, true), (2, 2, false)] {
            let of_versions = document::Model { version, indexed_version, ..document.clone() };
            let postponed = document::Model { has_postponed_vectors: true, ..of_versions.clone() };

            assert_eq!(can_postpone_vectors(&of_versions), can_postpone, "{version} {indexed_version}");
            assert!(!is_words_only(&of_versions));
            assert_eq!(is_words_only(&postponed), can_postpone, "{version} {indexed_version}");
        }
    }

    #[test]
    fn postponed_vectors_are_awaited_and_not_lost() {
        let noon = Timestamp::from_millis(1_714_996_800_000);
        let row = document::Model::pending(
            UserId(uuid::Uuid::nil()),
            ContentType::Article,
            "Herons".to_owned(),
            noon,
        );
        let row = document::Model { version: 1, has_postponed_vectors: true, ..row };

        let without_vectors = IndexState::of_indexed(&row, 3, None, true);
        let embedded = IndexState::of_indexed(&row, 3, Some("a".to_owned()), true);

        assert_eq!(without_vectors.lost_at, None);
        assert!(without_vectors.awaits_vectors(true) && !without_vectors.awaits_vectors(false));
        assert!(!embedded.awaits_vectors(true));
    }
}
