//! Follows a change of the embedding model: when all documents have the vectors of the next model, these are searched, and those of the
//! former model are deleted.

use std::time::Duration;

use database::Db;
use errors::Error;
use tracing::info;
use values::time::Timestamp;

use super::context::RepairContext;
use super::model_rows;
use super::watch::{ModelChangeState, WatchState, has_passed};
use crate::ingest::model::IndexedModels;
use crate::ingest::reindex;
use crate::retrieval::{Completeness, Retrieval};
use crate::service_state::{self, ServiceStateKey};

/// Interval of counts of the documents that lack vectors of the next model. A count looks for a job of each of them.
const COUNT_INTERVAL: Duration = Duration::from_secs(30);
/// Documents are enqueued again when none of them got vectors of the next model for this long.
const STUCK_CHANGE_TIME: Duration = Duration::from_secs(60);
/// Interval at which documents without vectors of the searched model are enqueued.
const ENQUEUE_INTERVAL: Duration = Duration::from_secs(60);
/// Time from the change of the searched model to the deletion of the vectors of the former one: longer than a search takes, and longer than
/// other servers on the database take to notice the change.
const DELETION_DELAY: Duration = Duration::from_secs(60);

/// The record of the models, with its row, which a change must find.
pub(super) struct ModelRecord {
    row: String,
    models: IndexedModels,
}

/// Reads the record, and takes over which models are searched and embedded with: another server, or an earlier start of this one, may have
/// changed it. Returns `None` if there is no record yet.
pub(super) async fn follow_record(db: &Db, retrieval: &Retrieval) -> Result<Option<ModelRecord>, Error> {
    let Some(row) = service_state::read_directly(db, ServiceStateKey::IndexedModels).await? else {
        return Ok(None);
    };
    let Some(models) = IndexedModels::from_row(&row) else { return Ok(None) };
    if retrieval.engine().model_names() != models.names() {
        retrieval.engine().use_models(models.names());
    }
    Ok(Some(ModelRecord { row, models }))
}

/// Continues a change of the model, if there is one: counts what is left to embed, searches by the next model once nothing is, and deletes the
/// vectors of models that are not searched any more.
pub(super) async fn follow_change(
    ctx: &RepairContext,
    state: &mut WatchState,
    record: ModelRecord,
) -> Result<(), Error> {
    let state = &mut state.model_change;
    let engine = ctx.retrieval.engine();
    let Some(next) = record.models.next.clone() else {
        engine.set_outdated_documents(0);
        state.counted_at = None;
        enqueue_without_vectors(ctx, state, &record.models.searched.name).await?;
        return delete_retired(ctx, state, record).await;
    };
    follow_progress(ctx, state, &next.name).await?;
    if engine.latest_embedder().is_none() {
        // The model is not loaded yet.
        return Ok(());
    }
    // An index that lost passages is completed first: the rows may say more than it has.
    let is_complete = engine.completeness() == Completeness::Complete;
    if is_complete && !model_rows::has_outdated(ctx.core.db.read(), &next.name).await? {
        return activate_next_model(ctx, state, &record).await;
    }
    // A model that was given up before it was complete need not wait for this one.
    delete_retired(ctx, state, record).await
}

/// Counts the documents that lack vectors of the next model. Enqueues those without a job if their number does not change.
async fn follow_progress(ctx: &RepairContext, state: &mut ModelChangeState, next: &str) -> Result<(), Error> {
    let (engine, now) = (ctx.retrieval.engine(), ctx.core.clock.elapsed());
    if !has_passed(state.counted_at, COUNT_INTERVAL, now) {
        return Ok(());
    }
    let left = model_rows::count_outdated(ctx.core.db.read(), next).await?;
    engine.set_outdated_documents(left);
    state.counted_at = Some(now);
    if left != state.outdated_documents {
        (state.outdated_documents, state.outdated_since) = (left, now);
    } else if has_passed(Some(state.outdated_since), STUCK_CHANGE_TIME, now)
        && engine.latest_embedder().is_some()
    {
        state.outdated_since = now;
        model_rows::enqueue_outdated(&ctx.core.db, next, ctx.core.clock.now()).await?;
        ctx.job_signal.notify();
    }
    Ok(())
}

/// Enqueues documents that have no vectors of the searched model although it is loaded here: another server, which has other settings and so does
/// not have it, indexed them by their words, or it could not be used for a while.
async fn enqueue_without_vectors(
    ctx: &RepairContext,
    state: &mut ModelChangeState,
    searched: &str,
) -> Result<(), Error> {
    let now = ctx.core.clock.elapsed();
    let enqueued_at = *state.enqueued_at.get_or_insert(now);
    if !has_passed(Some(enqueued_at), ENQUEUE_INTERVAL, now) || ctx.retrieval.engine().embedder().is_none() {
        return Ok(());
    }
    state.enqueued_at = Some(now);
    if model_rows::enqueue_outdated(&ctx.core.db, searched, ctx.core.clock.now()).await? > 0 {
        ctx.job_signal.notify();
    }
    Ok(())
}

/// Lets the next model be searched.
async fn activate_next_model(
    ctx: &RepairContext,
    state: &mut ModelChangeState,
    record: &ModelRecord,
) -> Result<(), Error> {
    let Some(switched) = record.models.switched() else { return Ok(()) };
    // Searches use the former model until now, so each of the retired ones is kept for as long again.
    state.retired_since = None;
    let model = switched.searched.name.clone();
    if replace_record(ctx, record, switched).await?.is_some() {
        info!(
            model.name = model,
            "all documents have the vectors of the next embedding model; they are searched now"
        );
    }
    ctx.retrieval.engine().set_outdated_documents(0);
    follow_record(&ctx.core.db, &ctx.retrieval).await.map(drop)
}

impl ModelChangeState {
    /// Returns the retired model whose vectors are to be deleted at this time, if there is one.
    fn due_deletion<'a>(&mut self, models: &'a IndexedModels, now: Duration) -> Option<&'a str> {
        let Some(first) = models.retired.first() else {
            self.retired_since = None;
            return None;
        };
        let since = *self.retired_since.get_or_insert(now);
        has_passed(Some(since), DELETION_DELAY, now).then_some(first.as_str())
    }
}

/// Deletes the vectors of models that are not searched any more, a while after that began.
async fn delete_retired(
    ctx: &RepairContext,
    state: &mut ModelChangeState,
    record: ModelRecord,
) -> Result<(), Error> {
    if record.models.deleting.is_some() {
        // It was begun at an earlier check, or by a process that ended.
        return delete_vectors(ctx, state, record).await;
    }
    let Some(name) = state.due_deletion(&record.models, ctx.core.clock.elapsed()) else { return Ok(()) };
    // First of all: a server that starts with this model from now on waits. One that has started since the record was read has changed it.
    let deleting = record.models.with_deletion_of(name);
    match replace_record(ctx, &record, deleting).await? {
        Some(record) => delete_vectors(ctx, state, record).await,
        None => Ok(()),
    }
}

/// Deletes the vectors of the model whose deletion is recorded.
async fn delete_vectors(
    ctx: &RepairContext,
    state: &mut ModelChangeState,
    record: ModelRecord,
) -> Result<(), Error> {
    let Some(name) = &record.models.deleting else { return Ok(()) };
    // The rows first: none may claim vectors that the index lacks.
    if clear_retired_model(&ctx.core.db, &record.models, name, ctx.core.clock.now()).await? {
        ctx.job_signal.notify();
    }
    ctx.retrieval.delete_model(name.clone()).await?;
    // Another one may have been searched until later than this one.
    state.retired_since = None;
    if replace_record(ctx, &record, record.models.without_retired(name)).await?.is_some() {
        info!(model.name = name, "deleted the vectors of an embedding model that is not used any more");
    }
    Ok(())
}

/// Records that no document has vectors of a retired model, and enqueues the texts that lack those of the latest one. Returns whether a document
/// had some.
pub(super) async fn clear_retired_model(
    db: &Db,
    models: &IndexedModels,
    name: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    if model_rows::clear_embedding_model(db, name).await? == 0 {
        return Ok(false);
    }
    let latest = models.next.as_ref().unwrap_or(&models.searched);
    reindex::enqueue_missing_vectors(db, &latest.name, now).await?;
    Ok(true)
}

/// Replaces the record, unless another server has changed it meanwhile. Returns the new one if it was replaced.
async fn replace_record(
    ctx: &RepairContext,
    record: &ModelRecord,
    models: IndexedModels,
) -> Result<Option<ModelRecord>, Error> {
    let (db, key, row) = (ctx.core.db.write(), ServiceStateKey::IndexedModels, models.to_row()?);
    let is_replaced = service_state::replace(db, key, &record.row, row.clone()).await?;
    Ok(is_replaced.then_some(ModelRecord { row, models }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::model::IndexedModel;

    fn record(retired: &[&str]) -> IndexedModels {
        IndexedModels {
            searched: IndexedModel { name: "c".to_owned(), dimensions: 4, endpoint: None },
            next: None,
            retired: retired.iter().map(|name| (*name).to_owned()).collect(),
            deleting: None,
        }
    }

    #[test]
    fn each_retired_model_is_kept_for_the_whole_delay() {
        let mut state = ModelChangeState::default();
        let (start, both) = (Duration::from_secs(7), record(&["b", "a"]));
        assert_eq!(state.due_deletion(&both, start), None);
        assert_eq!(state.due_deletion(&both, start + DELETION_DELAY), Some("b"));

        state.retired_since = None;

        let (end, one) = (start + DELETION_DELAY + Duration::from_secs(2), record(&["a"]));
        assert_eq!(state.due_deletion(&one, end), None);
        assert_eq!(state.due_deletion(&one, end + DELETION_DELAY), Some("a"));
    }

    #[test]
    fn delay_begins_again_after_a_time_without_retired_models() {
        let mut state = ModelChangeState::default();
        assert_eq!(state.due_deletion(&record(&["a"]), Duration::ZERO), None);

        assert_eq!(state.due_deletion(&record(&[]), DELETION_DELAY), None);

        assert_eq!(state.due_deletion(&record(&["a"]), DELETION_DELAY), None);
    }
}
