//! Tests of searches that wait for a service that embeds.

use std::fs;
use std::sync::{Condvar, Mutex};

use futures_util::poll;
use inference::embedder::{Calibration, EmbedError, Embedder, Embeddings, QueryWeight};
use library::bookmarks::BookmarkConditions;
use library::clock::TestClock;
use search::index::{EdgeIndex, VectorModels};

use super::test_library::{NOON, add_user, open_database, point};
use super::*;

/// A service that answers each query once it is released.
#[derive(Default)]
struct HeldService {
    is_released: Mutex<bool>,
    released: Condvar,
    asked: Mutex<usize>,
}

impl HeldService {
    fn release(&self) {
        *self.is_released.lock().unwrap() = true;
        self.released.notify_all();
    }
}

impl Embedder for HeldService {
    fn model(&self) -> &str {
        "held"
    }

    fn dimensions(&self) -> usize {
        1
    }

    fn embed(&self, _: &[&str]) -> Result<Embeddings, EmbedError> {
        Ok(Embeddings::default())
    }

    fn embed_query(&self, _: &str) -> Result<Vec<f32>, EmbedError> {
        *self.asked.lock().unwrap() += 1;
        let is_released = self.is_released.lock().unwrap();
        drop(self.released.wait_while(is_released, |is_released| !*is_released).unwrap());
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

    fn query_deadline(&self) -> Option<Duration> {
        Some(Duration::from_secs(3600))
    }
}

/// An index with one passage of a user, searched by the vectors of a service.
struct ServiceSearch {
    retrieval: Retrieval,
    service: Arc<HeldService>,
    owner: UserId,
    other: UserId,
    _folder: tempfile::TempDir,
}

impl ServiceSearch {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (owner, other) = (add_user(&db).await, add_user(&db).await);
        let path = folder.path().join("index");
        fs::create_dir(&path).unwrap();
        let model = VectorModel { name: "held".to_owned(), dimensions: 1 };
        let index = EdgeIndex::open(&path, VectorModels::new([model])).unwrap();
        index.upsert(&Tenant::of(owner.0), vec![point(1, 1, "a heron on 2024-06-06")]).unwrap();
        let (clock, service) = (Arc::new(TestClock::at(NOON)), Arc::new(HeldService::default()));
        let (on, workers) = (actix::Arbiter::current(), Workers::new(1));
        let words = VocabularyFiles::new(folder.path(), disk::DiskSpace::default());
        let retrieval =
            Retrieval::start(&on, db, clock, workers, Some(Arc::new(index)), Pause::default(), words);
        retrieval.engine().set_model(service.clone());
        Self { retrieval, service, owner, other, _folder: folder }
    }
}

fn query(words: &str) -> SearchQuery {
    SearchQuery {
        query: ParsedQuery::of(words),
        within: Filter::default(),
        bookmarks: BookmarkConditions::default(),
        limit: 6,
    }
}

#[actix::test]
async fn query_that_waits_for_a_service_holds_up_no_other() {
    let ServiceSearch { retrieval, service, owner, other, _folder } = ServiceSearch::start().await;
    let mut waiting: Vec<_> =
        (0..2 * max_searches()).map(|_| Box::pin(retrieval.search(other, query("egret")))).collect();
    for search in &mut waiting {
        assert!(poll!(search).is_pending());
    }

    // A date is searched for by its words.
    let found = retrieval.search(owner, query("2024-06-06")).await.unwrap();

    assert_eq!(found.hits.len(), 1);
    service.release();
    for search in waiting {
        search.await.unwrap();
    }
}

#[actix::test]
async fn service_embeds_the_query_of_a_request_once() {
    let ServiceSearch { retrieval, service, owner, _folder, .. } = ServiceSearch::start().await;
    service.release();
    let request = retrieval.begin_request();

    for _ in 0..2 {
        let found = retrieval.search_within(&request, owner, query("heron")).await.unwrap();
        assert!(!found.lexical_only && found.hits.len() == 1);
    }

    assert_eq!(*service.asked.lock().unwrap(), 1);
    for by_words in ["2024-06-06", "\"a heron\"", "-heron"] {
        retrieval.search_within(&request, owner, query(by_words)).await.unwrap();
    }
    assert_eq!(*service.asked.lock().unwrap(), 1);
}

#[actix::test]
async fn incomplete_index_may_lack_what_is_not_found() {
    let ServiceSearch { retrieval, owner, other, _folder, .. } = ServiceSearch::start().await;
    let rebuilding = Completeness::Rebuilding { documents_left: 1, documents_total: 1 };
    for (state, expected) in [
        (Completeness::Complete, false),
        (Completeness::Checking, true),
        (Completeness::MaintainedElsewhere, true),
        // None of the lost documents is the user's.
        (rebuilding, false),
    ] {
        retrieval.engine().set_completeness(state);
        for user in [owner, other] {
            let found = retrieval.search(user, query("2024-06-06")).await.unwrap();
            assert_eq!(found.may_lack_passages, expected, "{state:?}");
        }
    }
}
