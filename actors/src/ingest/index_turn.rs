//! The turns of a job that indexes a long document. All of them must put vectors of one model into the index: the row of the document names the
//! model of all of its passages.

use entity::{chunk, document, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};

use super::indexing_context::IndexingContext;

/// Passages that a job indexes before it yields: seconds of work for the model. In between, a book yields to other
/// documents, and one that was deleted meanwhile is given up.
const TURN_PASSAGES: u64 = 32;

/// The passages of a document that one turn of a job puts into the index.
pub(super) struct IndexTurn {
    /// The document, which has a text.
    pub document: document::Model,
    /// Its passages of this turn, in order.
    pub passages: Vec<chunk::Model>,
    /// Whether other turns follow.
    pub has_more: bool,
    /// The passage with which the next turn begins, or the number of passages of the document.
    pub next: i32,
}

impl IndexTurn {
    /// Reads the passages that follow those of the former turns of a job.
    ///
    /// # Errors
    /// [`DbErr`] when the database fails.
    pub async fn load(
        ctx: &IndexingContext,
        job: &job::Model,
        document: document::Model,
    ) -> Result<Self, DbErr> {
        let mut passages = chunk::Entity::owned_by(job.user_id)
            .filter(chunk::Column::DocumentId.eq(document.id))
            .filter(chunk::Column::Version.eq(document.version))
            .filter(chunk::Column::Ordinal.gte(job.progress))
            .order_by_asc(chunk::Column::Ordinal)
            // One more than a turn, to learn without a count whether it is the last.
            .limit(TURN_PASSAGES + 1)
            .all(ctx.core.db.read())
            .await?;
        let has_more = passages.len() as u64 > TURN_PASSAGES;
        passages.truncate(TURN_PASSAGES as usize);
        let next = passages.last().map_or(job.progress, |last| last.ordinal.saturating_add(1));
        Ok(Self { document, passages, has_more, next })
    }

    /// Returns whether the job takes several turns.
    pub fn is_one_of_several(&self, job: &job::Model) -> bool {
        self.has_more || job.progress > 0
    }

    /// Returns whether the passages of former turns lack the vectors of `model`, which those of this one have, so that the document cannot
    /// be said to have them: between two turns a model may be loaded, or the searched one change.
    pub fn follows_turns_without(&self, job: &job::Model, model: Option<&String>) -> bool {
        job.progress > 0 && model.is_some() && model != self.document.turn_model.as_ref()
    }

    /// Records that the passages of the turns so far have vectors of `model`, or that some have none. The next turn compares it with its own.
    ///
    /// # Errors
    /// [`DbErr`] when the database fails.
    pub async fn record_model(&self, ctx: &IndexingContext, model: Option<String>) -> Result<(), DbErr> {
        if model == self.document.turn_model {
            return Ok(());
        }
        document::Entity::update_owned(self.document.user_id)
            .col_expr(document::Column::TurnModel, Expr::value(model))
            .filter(document::Column::Id.eq(self.document.id))
            .exec(ctx.core.db.write())
            .await
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use values::id::UserId;
    use values::kind::ContentType;
    use values::time::Timestamp;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn turn_after(model: Option<&str>) -> IndexTurn {
        let user = UserId(Uuid::nil());
        let row = document::Model::pending(user, ContentType::Article, "Herons".to_owned(), NOON);
        let document = document::Model { turn_model: model.map(str::to_owned), ..row };
        IndexTurn { document, passages: Vec::new(), has_more: false, next: 40 }
    }

    fn job_at(progress: i32) -> job::Model {
        let job = job::Model::queued(UserId(Uuid::nil()), "index", Uuid::nil(), (1, 0), NOON);
        job::Model { progress, ..job }
    }

    #[test]
    fn later_turn_with_another_model_follows_turns_without_it() {
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let follows = |turn: &IndexTurn, model| turn.follows_turns_without(&job_at(32), model);

        assert!(follows(&turn_after(Some("a")), Some(&b)));
        assert!(follows(&turn_after(None), Some(&a)), "the model was loaded after the first turn");
        assert!(!follows(&turn_after(Some("a")), Some(&a)));
        assert!(!follows(&turn_after(Some("a")), None), "the row is to say that there are no vectors");
        assert!(!turn_after(Some("a")).follows_turns_without(&job_at(0), Some(&b)), "the first turn");
    }

    #[test]
    fn job_with_progress_or_more_passages_takes_several_turns() {
        let first = IndexTurn { has_more: true, ..turn_after(None) };

        assert!(first.is_one_of_several(&job_at(0)) && turn_after(None).is_one_of_several(&job_at(32)));
        assert!(!turn_after(None).is_one_of_several(&job_at(0)));
    }
}
