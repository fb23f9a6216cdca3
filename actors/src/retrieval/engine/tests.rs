//! Tests of the search engine.

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use futures_util::poll;
use inference::embedder::{Calibration, Embeddings, EndpointFault, QueryWeight};
use search::index::{EdgeIndex, EngineFault, Filter, VectorModels};
use search::query_syntax::ParsedQuery;
use values::id::DocumentId;
use values::time::Timestamp;

use library::bookmarks::BookmarkConditions;
use library::clock::TestClock;

use super::index_failure::engine_error;
use super::*;

#[tokio::test]
async fn comparison_does_not_wait_behind_the_long_lane() {
    let folder = tempfile::tempdir().unwrap();
    let index = Arc::new(EdgeIndex::open(folder.path(), VectorModels::default()).unwrap());
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
    let workers = Workers::new(1);
    let engine = Engine::new(Some(index), clock, Pause::default(), workers.clone());
    let (release, held) = mpsc::channel::<()>();
    let mut embedding = Box::pin(workers.run(Lane::Long, move || held.recv().is_ok()));
    assert!(poll!(&mut embedding).is_pending());

    let passage = Uuid::from_u128(1);
    let missing = tokio::time::timeout(SEARCH_TIMEOUT, engine.missing(vec![passage])).await;
    let page = tokio::time::timeout(SEARCH_TIMEOUT, engine.passages(None, 1)).await;

    assert_eq!(missing.unwrap().unwrap(), [passage]);
    assert_eq!(page.unwrap().unwrap(), PassagePage::default());
    release.send(()).unwrap();
    assert!(embedding.await.unwrap());
}

fn make_query(words: &str) -> SearchQuery {
    SearchQuery {
        query: ParsedQuery::of_text(words),
        within: Filter::default(),
        bookmarks: BookmarkConditions::default(),
        limit: 10,
    }
}

async fn search_heron(engine: &Engine) -> Result<RankedHits, Error> {
    engine.search(UserId(Uuid::nil()), make_query("heron"), &UnindexedDocuments::default(), false, None).await
}

#[tokio::test]
async fn engine_without_an_index_refuses_requests_until_it_gets_one() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
    let engine = Engine::new(None, clock, Pause::default(), Workers::new(1));

    let searched = search_heron(&engine).await.unwrap_err();
    let changed = engine.change(None, |index| index.delete_passages(&[])).await.unwrap_err();

    for refused in [searched, changed] {
        assert!(matches!(refused, Error::StorageFailed(StorageFailure::NoIndex)), "{refused:?}");
    }
    assert_eq!(engine.probe().await.unwrap(), IndexProbe::Missing);
    assert!(!engine.has_index() && !engine.is_in_place() && !engine.has_damage_failures());

    engine.replace_index(Arc::new(EdgeIndex::open(folder.path(), VectorModels::default()).unwrap()));

    assert!(engine.has_index() && engine.is_in_place());
    assert!(search_heron(&engine).await.unwrap().hits.is_empty());
}

#[tokio::test]
async fn failures_count_for_a_day_whatever_succeeds_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let index = Arc::new(EdgeIndex::open(folder.path(), VectorModels::default()).unwrap());
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
    let engine = Engine::new(Some(index), clock.clone(), Pause::default(), Workers::new(1));
    for _ in 0..2 {
        let failed = engine.change::<()>(None, |_| Err(engine_error(EngineFault::Damage))).await;
        assert!(failed.is_err());
        engine.probe().await.unwrap();
        clock.advance(FAILURE_WINDOW / 2);
    }

    assert_eq!(engine.damage_failures(), 1, "the first is a day old");
    clock.advance(FAILURE_WINDOW);
    assert_eq!(engine.damage_failures(), 0);
    assert!(engine.has_damage_failures());
}

fn open_index(folder: &Path) -> EdgeIndex {
    fs::create_dir(folder).unwrap();
    EdgeIndex::open(folder, VectorModels::default()).unwrap()
}

/// An engine whose index can be replaced.
struct DamagedEngine {
    engine: Engine,
    folder: tempfile::TempDir,
}

impl DamagedEngine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let index = Arc::new(open_index(&folder.path().join("first")));
        let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
        Self { engine: Engine::new(Some(index), clock, Pause::default(), Workers::new(1)), folder }
    }

    fn replace_index(&self) {
        self.engine.replace_damaged_index(Arc::new(open_index(&self.folder.path().join("second"))));
    }

    /// Returns the error of a change of a document that fails in this way.
    async fn fail_change(&self, document: u128, failure: fn() -> IndexError) -> Error {
        let request = RequestKey::UpsertPassages(DocumentId(Uuid::from_u128(document)), 1, None);
        self.engine.change::<()>(Some(request), move |_| Err(failure())).await.unwrap_err()
    }
}

fn is_blocked(error: &Error) -> bool {
    matches!(error, Error::StorageFailed(StorageFailure::Transient))
}

#[tokio::test]
async fn document_that_fails_on_two_indexes_uses_up_attempts() {
    let damaged = DamagedEngine::new();
    for _ in 0..3 {
        assert!(is_blocked(&damaged.fail_change(1, || IndexError::Panicked).await));
    }
    assert_eq!(damaged.engine.damage_failures(), 3);

    damaged.replace_index();

    let other = damaged.fail_change(2, || IndexError::Panicked).await;
    assert!(is_blocked(&other), "{other:?}");
    assert_eq!(damaged.engine.damage_failures(), 1);
    for _ in 0..3 {
        let failed = damaged.fail_change(1, || IndexError::Panicked).await;
        assert!(matches!(failed, Error::Internal(_)), "{failed:?}");
    }
    assert_eq!(damaged.engine.damage_failures(), 1, "it does not count again");
    let disk_failed = damaged.fail_change(1, || engine_error(EngineFault::DiskFailure)).await;
    assert!(is_blocked(&disk_failed), "{disk_failed:?}");
}

#[tokio::test]
async fn failure_of_changes_together_does_not_count_as_damage() {
    let damaged = DamagedEngine::new();
    let request = RequestKey::UpsertPassages(DocumentId(Uuid::from_u128(1)), 1, None);

    let failed = damaged.engine.change_together::<()>(vec![request], |_| Err(IndexError::Panicked)).await;

    assert!(is_blocked(&failed.unwrap_err()));
    assert_eq!(damaged.engine.damage_failures(), 0);
}

#[tokio::test]
async fn index_that_its_change_keeps_from_loading_uses_up_attempts() {
    let damaged = DamagedEngine::new();
    let load_failed = || IndexError::LoadFailed(EngineFault::Damage);
    damaged.fail_change(1, || IndexError::Panicked).await;
    // The index cannot be loaded because of the other document.
    assert!(matches!(damaged.fail_change(2, load_failed).await, Error::Busy(_)));

    damaged.replace_index();
    damaged.fail_change(1, || IndexError::Panicked).await;

    assert!(matches!(damaged.fail_change(1, load_failed).await, Error::Internal(_)));
    assert!(matches!(damaged.fail_change(2, load_failed).await, Error::Busy(_)));
}

/// An engine whose index is unloaded. `folder` is that of the index.
fn engine_of_unloaded_index(folder: &Path) -> Engine {
    let index = EdgeIndex::open(folder, VectorModels::default()).unwrap();
    assert!(index.unload_unused(Duration::ZERO).unwrap());
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
    Engine::new(Some(Arc::new(index)), clock, Pause::default(), Workers::new(1))
}

#[tokio::test]
async fn unloaded_index_is_healthy_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine_of_unloaded_index(folder.path());

    assert_eq!(engine.probe().await.unwrap(), IndexProbe::Available { passages: 0 });
    assert!(engine.is_in_place() && !engine.maintain().await.unwrap());
    engine.commit().await.unwrap();

    assert!(search_heron(&engine).await.unwrap().hits.is_empty());
}

#[tokio::test]
async fn index_damaged_while_unloaded_counts_as_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine_of_unloaded_index(folder.path());
    fs::write(folder.path().join("edge_config.json"), b"garbage").unwrap();

    let failed = search_heron(&engine).await.unwrap_err();

    assert!(is_blocked(&failed), "{failed:?}");
    assert_eq!(engine.probe().await.unwrap(), IndexProbe::LoadFailed(EngineFault::Damage));
    assert_eq!(engine.damage_failures(), 2, "the search and the probe");
}

#[tokio::test]
async fn index_that_is_in_use_stays_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let index = Arc::new(EdgeIndex::open(folder.path(), VectorModels::default()).unwrap());
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
    let engine = Engine::new(Some(index.clone()), clock, Pause::default(), Workers::new(1));

    assert!(!engine.unload_unused().await.unwrap());

    assert!(index.unload_unused(Duration::ZERO).unwrap(), "it was loaded until now");
}

/// A model with vectors of length 1 that can be used or not.
struct NamedModel {
    name: &'static str,
    is_available: bool,
}

impl Embedder for NamedModel {
    fn model(&self) -> &str {
        self.name
    }

    fn dimensions(&self) -> usize {
        1
    }

    fn embed(&self, texts: &[&str]) -> Result<Embeddings, EmbedError> {
        if !self.is_available {
            let fault = EndpointFault::Refused(503);
            return Err(EmbedError::Unavailable { fault, retry_after: Duration::ZERO });
        }
        Ok(Embeddings { vectors: vec![vec![1.0]; texts.len()], tokens: texts.len() })
    }

    fn embed_query(&self, _: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(vec![1.0])
    }

    fn query_weight(&self, _: &str) -> QueryWeight {
        QueryWeight::FULL
    }

    fn knows_each_word(&self, _: &str) -> Option<bool> {
        None
    }

    fn calibration(&self) -> Calibration {
        Calibration::STANDARD
    }
}

#[tokio::test]
async fn change_of_models_does_not_wait_for_a_model_that_is_gone() {
    let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
    let engine = Engine::new(None, clock, Pause::default(), Workers::new(1));
    engine.use_models(ModelNames { searched: Some("a".to_owned()), next: Some("b".to_owned()) });
    let models_of = |outcome: EmbedOutcome| match outcome {
        EmbedOutcome::Embedded(Vectors { vectors, .. }) => {
            vectors.into_iter().flatten().map(|embedding| embedding.model).collect::<Vec<_>>()
        }
        EmbedOutcome::WithoutModel | EmbedOutcome::Unavailable { .. } => Vec::new(),
    };
    let texts = || vec!["heron".to_owned()];
    // Whether each model can be used, and the models that embed then: all, and one alone.
    for (available, of_all, of_one) in [
        ([true, true], vec!["a", "b"], vec!["a"]),
        ([true, false], vec!["a"], vec!["a"]),
        ([false, true], vec!["b"], vec!["b"]),
        ([false, false], vec![], vec![]),
    ] {
        for (name, is_available) in ["a", "b"].into_iter().zip(available) {
            engine.set_model(Arc::new(NamedModel { name, is_available }));
        }

        assert_eq!(models_of(engine.embed(texts()).await.unwrap()), of_all, "{available:?}");
        assert_eq!(models_of(engine.embed_with_one(texts()).await.unwrap()), of_one, "{available:?}");
    }
}
