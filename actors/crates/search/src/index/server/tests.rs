//! The index on a server fulfils the contract, and ranks as the embedded one does.
//!
//! They run against the test server. With `CARREL_TEST_QDRANT=http://host:6334`, and `CARREL_TEST_QDRANT_KEY` if it needs a key, they run
//! against a real server too, each in a separate collection that is deleted afterwards.

mod ranking;

use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::{CreateFieldIndexCollection, KeywordIndexParams, PayloadIndexParams};
use test_qdrant::{ServerOptions, TestQdrant};
use values::time::Timestamp;

use super::*;
use crate::index::contract::{
    DIMENSIONS, contract_tests, dense_query, embedding, embedding_b, found_ids, id, models, point,
    sorted_languages, tenant, word_query, words,
};
use crate::index::{AuditReason, EdgeIndex, VectorModel, VectorModels, copy_passages};

/// Long enough for a server on a busy machine.
const SEARCH_DEADLINE: Duration = Duration::from_secs(10);

fn model(name: &str) -> VectorModels {
    VectorModels::new([VectorModel { name: name.to_owned(), dimensions: DIMENSIONS }])
}

fn settings(url: &str, key: Option<String>) -> ServerSettings {
    let name = format!("carrel-test-{}", Uuid::new_v4());
    let collection = CollectionSettings { name, shards: 1, replication_factor: 1, write_consistency: 1 };
    let owner = "a-database".to_owned();
    ServerSettings { url: url.to_owned(), key, search_deadline: SEARCH_DEADLINE, owner, collection }
}

fn open(settings: ServerSettings, models: VectorModels) -> Result<ServerIndex, IndexError> {
    ServerIndex::open(&ServerStore::new(settings, models)?)
}

fn with_new_server(rule: fn(&dyn PassageIndex)) {
    let server = TestQdrant::start().unwrap();
    rule(&open(settings(&server.url(), None), models()).unwrap());
}

contract_tests!(with_new_server);

/// The same rules against a real server, where one is given.
mod real {
    use super::*;

    /// Deletes its collection when it is dropped.
    struct TestCollection(ServerIndex);

    impl Drop for TestCollection {
        fn drop(&mut self) {
            let name = self.0.collection_name();
            let deleted = self
                .0
                .store
                .connection()
                .call(WRITE_DEADLINE, |client| async move { client.delete_collection(name).await });
            if let Err(error) = deleted {
                eprintln!("the test collection was not deleted: {error}");
            }
        }
    }

    /// Returns the settings of the real server; `None` without one, which is said once for each test.
    pub fn server_settings() -> Option<ServerSettings> {
        let Ok(url) = std::env::var("CARREL_TEST_QDRANT") else {
            eprintln!("NOT TESTED against a real Qdrant server: CARREL_TEST_QDRANT is not set");
            return None;
        };
        Some(settings(&url, std::env::var("CARREL_TEST_QDRANT_KEY").ok()))
    }

    pub fn with_real_server(rule: fn(&dyn PassageIndex)) {
        let Some(settings) = server_settings() else { return };
        let collection = TestCollection(open(settings, models()).unwrap());
        rule(&collection.0);
    }

    contract_tests!(with_real_server);

    #[test]
    fn both_engines_rank_alike() {
        with_real_server(ranking::ranks_as_the_embedded_index);
    }
}

#[test]
fn both_engines_rank_alike() {
    with_new_server(ranking::ranks_as_the_embedded_index);
}

#[test]
fn index_is_the_same_after_a_move_there_and_back() {
    let server = TestQdrant::start().unwrap();
    let remote = open(settings(&server.url(), None), models()).unwrap();
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let local = EdgeIndex::open(one.path(), models()).unwrap();
    let embedded = |n: u16| {
        let dense = [embedding(vec![f32::from(n), 3.0, 1.5, -2.0]), embedding_b([1.0, f32::from(n), -2.0])];
        // Some have the vectors of one model alone.
        Point { dense: dense.into_iter().skip(usize::from(n % 2)).collect(), ..point(n.into()) }
    };
    local.upsert(&tenant(), (1..=150).map(embedded).collect()).unwrap();
    local.upsert(&Tenant::of(id(2)), vec![Point { language: Language::Thai, ..point(400) }]).unwrap();
    let original = local.read_points(None, 1_000).unwrap();

    let moved = copy_passages(&local, &remote, &|_| {}).unwrap();
    let back = EdgeIndex::open(other.path(), models()).unwrap();
    copy_passages(&remote, &back, &|_| {}).unwrap();

    assert_eq!((moved.passages, moved.users, original.points.len()), (151, 2, 151));
    assert_eq!(remote.read_points(None, 1_000).unwrap(), original);
    assert_eq!(back.read_points(None, 1_000).unwrap(), original);
    assert_eq!(found_ids(&remote, &tenant(), &word_query(9)), [id(9)]);
}

#[test]
fn index_is_opened_again_with_what_it_holds() {
    let server = TestQdrant::start().unwrap();
    let settings = settings(&server.url(), None);
    let index = open(settings.clone(), model("a")).unwrap();
    index.upsert(&tenant(), vec![Point { language: Language::Thai, ..point(1) }]).unwrap();
    drop(index);

    let index = open(settings, model("a")).unwrap();

    assert_eq!(found_ids(&index, &tenant(), &word_query(1)), [id(1)]);
    assert_eq!(index.languages(&tenant()).unwrap(), [Language::Thai]);
}

#[test]
fn languages_that_another_node_writes_are_known_after_a_recount() {
    let server = TestQdrant::start().unwrap();
    let settings = settings(&server.url(), None);
    let (index, other) = (open(settings.clone(), model("a")).unwrap(), open(settings, model("a")).unwrap());
    index.upsert(&tenant(), vec![Point { language: Language::Thai, ..point(1) }]).unwrap();
    assert_eq!(other.languages(&tenant()).unwrap(), [Language::Thai]);
    index.upsert(&tenant(), vec![Point { language: Language::Dutch, ..point(2) }]).unwrap();
    assert_eq!(other.languages(&tenant()).unwrap(), [Language::Thai]);

    other.forget_languages(&tenant());

    assert_eq!(sorted_languages(&other, &tenant()), sorted_languages(&index, &tenant()));
    assert_eq!(other.languages(&tenant()).unwrap().len(), 2);
}

#[test]
fn another_model_gets_a_separate_vector() {
    let server = TestQdrant::start().unwrap();
    let settings = settings(&server.url(), None);
    let index = open(settings.clone(), model("b")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();

    let index = open(settings.clone(), model("a")).unwrap();

    index
        .upsert(&tenant(), vec![Point { dense: vec![embedding(vec![1.0; DIMENSIONS])], ..point(2) }])
        .unwrap();
    assert_eq!(found_ids(&index, &tenant(), &dense_query()), [id(2)]);
    let wider = VectorModel { name: "a".to_owned(), dimensions: DIMENSIONS + 1 };
    let wider = VectorModels::new([wider]);
    assert!(matches!(open(settings, wider), Err(IndexError::Open(_))));
}

#[test]
fn collection_of_another_format_is_refused() {
    let server = TestQdrant::start().unwrap();
    let settings = settings(&server.url(), None);
    let index = open(settings.clone(), VectorModels::default()).unwrap();
    let keyword = IndexParams::KeywordIndexParams(KeywordIndexParams::default());
    let request = CreateFieldIndexCollection {
        collection_name: index.collection_name(),
        wait: Some(true),
        field_name: "lang".to_owned(),
        field_index_params: Some(PayloadIndexParams { index_params: Some(keyword) }),
        ..CreateFieldIndexCollection::default()
    };
    index
        .store
        .connection()
        .call(WRITE_DEADLINE, |client| async move { client.create_field_index(request).await })
        .unwrap();

    let refused = open(settings, VectorModels::default()).err();

    let Some(IndexError::Open(cause)) = refused else { panic!("it was opened") };
    assert!(cause.to_string().contains("`lang`"), "{cause}");
}

#[test]
fn collection_of_another_database_is_refused() {
    let server = TestQdrant::start().unwrap();
    let settings = settings(&server.url(), None);
    open(settings.clone(), VectorModels::default()).unwrap();

    let refused =
        open(ServerSettings { owner: "another".to_owned(), ..settings.clone() }, VectorModels::default())
            .err();

    let Some(IndexError::Open(cause)) = refused else { panic!("it was opened") };
    assert!(cause.to_string().contains("another database"), "{cause}");
    assert!(open(settings, VectorModels::default()).is_ok());
}

#[test]
fn old_server_or_wrong_key_is_refused() {
    let old = ServerOptions { version: "1.18.2".to_owned(), ..ServerOptions::default() };
    let old = TestQdrant::with_options(old).unwrap();
    let locked = ServerOptions { key: Some("right".to_owned()), ..ServerOptions::default() };
    let locked = TestQdrant::with_options(locked).unwrap();
    let open = |server: &TestQdrant, key: Option<&str>| {
        open(settings(&server.url(), key.map(str::to_owned)), VectorModels::default()).err()
    };

    assert!(matches!(open(&old, None), Some(IndexError::Open(_))));
    assert!(matches!(open(&locked, Some("wrong")), Some(IndexError::Unreachable { .. })));
    assert!(open(&locked, Some("right")).is_none());
}

#[test]
fn server_that_stops_is_unreachable_until_it_is_back() {
    let mut server = TestQdrant::start().unwrap();
    let index = open(settings(&server.url(), None), model("a")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();

    server.stop();

    let failed = index.search(&tenant(), &word_query(1)).unwrap_err();
    assert!(matches!(failed, IndexError::Unreachable { .. }) && !failed.is_damage());
    assert!(matches!(index.upsert(&tenant(), vec![point(2)]), Err(IndexError::Unreachable { .. })));
    assert!(index.is_in_place());

    server.restart().unwrap();

    assert_eq!(found_ids(&index, &tenant(), &word_query(1)), [id(1)]);
}

#[test]
fn collection_that_is_gone_is_no_damage() {
    let server = TestQdrant::start().unwrap();
    let index = open(settings(&server.url(), None), model("a")).unwrap();

    server.wipe();

    assert!(matches!(index.search(&tenant(), &word_query(1)), Err(IndexError::Blocked)));
    assert!(!index.is_in_place() && !index.resume());
}

#[test]
fn marker_is_lost_with_its_collection() {
    let server = TestQdrant::start().unwrap();
    let store = ServerStore::new(settings(&server.url(), None), VectorModels::default()).unwrap();
    ServerIndex::open(&store).unwrap();
    assert_eq!(store.read_marker().unwrap(), None);
    let marker = Marker::first(Timestamp::from_millis(1_714_996_800_000));

    store.write_marker(&marker).unwrap();
    assert_eq!(store.read_marker().unwrap(), Some(marker.clone()));
    server.wipe();

    assert!(matches!(store.read_marker(), Err(IndexError::Blocked)));
    let opened = ServerIndex::open_or_postpone(&store, Some(&marker)).unwrap();
    assert_eq!((opened.audit_reason, opened.is_reached), (Some(AuditReason::Missing), true));
}

#[test]
fn index_is_opened_by_the_first_request_that_is_answered() {
    let mut server = TestQdrant::start().unwrap();
    server.stop();
    let store = ServerStore::new(settings(&server.url(), None), model("a")).unwrap();

    let opened = ServerIndex::open_or_postpone(&store, None).unwrap();

    assert!(!opened.is_reached && opened.index.is_in_place());
    assert!(matches!(opened.index.count(), Err(IndexError::Unreachable { .. })));
    server.restart().unwrap();
    assert_eq!(opened.index.count().unwrap(), 0);
    assert_eq!(server.requests("create_collection"), 1);
}

#[test]
fn abandoned_index_is_searched_and_never_written() {
    let server = TestQdrant::start().unwrap();
    let index = open(settings(&server.url(), None), model("a")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();

    index.abandon();

    assert!(matches!(index.upsert(&tenant(), vec![point(2)]), Err(IndexError::Abandoned)));
    assert!(matches!(index.delete_tenant(&tenant()), Err(IndexError::Abandoned)));
    assert_eq!(found_ids(&index, &tenant(), &word_query(1)), [id(1)]);
    assert!(index.resume());
    index.upsert(&tenant(), vec![point(2)]).unwrap();
}

#[test]
fn many_passages_are_written_in_several_requests() {
    let server = TestQdrant::start().unwrap();
    let index = open(settings(&server.url(), None), model("a")).unwrap();
    let passages = |word| (1..=600).map(move |number| Point { sparse: words(&[word]), ..point(number) });

    index.upsert(&tenant(), passages(9).collect()).unwrap();

    assert_eq!((index.count().unwrap(), server.requests("upsert_points")), (600, 3));
    let missing: Vec<Uuid> = (1..=1_500).map(id).collect();
    assert_eq!(index.find_missing(&missing).unwrap().len(), 900);
}
