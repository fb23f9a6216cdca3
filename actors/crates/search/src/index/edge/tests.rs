//! The embedded index fulfils the contract, and its files survive what ends a process.

mod unused;
mod word_counts;

use std::path::Path;

use values::kind::ContentType;

use super::*;
use crate::index::contract::{
    DIMENSIONS, contract_tests, dense_query, embedding, found_ids, id, models, point, sorted_languages,
    tenant, word_query, words,
};
use crate::index::passage::Embedding;
use crate::index::query::Filter;
use crate::index::vector_model::VectorModel;

fn model(name: &str) -> VectorModels {
    VectorModels::new([VectorModel { name: name.to_owned(), dimensions: DIMENSIONS }])
}

fn with_new_index(rule: fn(&dyn PassageIndex)) {
    let folder = tempfile::tempdir().unwrap();
    rule(&EdgeIndex::open(folder.path(), models()).unwrap());
}

contract_tests!(with_new_index);

#[test]
fn reopened_index_has_everything_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    drop(index);

    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();

    assert_eq!(found_ids(&index, &tenant(), &word_query(1)), [id(1)]);
    assert_eq!(index.languages(&tenant()).unwrap(), [Language::English]);
}

/// The languages of passages that an earlier process wrote are found by their labels, those of this one are noted.
#[test]
fn reopened_index_finds_its_languages_by_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    let languages = Language::ALL.into_iter().filter(|language| *language != Language::Greek);
    let passages = (1..).zip(languages).map(|(number, language)| Point {
        document: id(90),
        language,
        labels: Labels { content_type: ContentType::Pdf, ..point(1).labels },
        ..point(number)
    });
    index.upsert(&tenant(), passages.collect()).unwrap();
    index.upsert(&Tenant::of(id(2)), vec![Point { language: Language::Greek, ..point(200) }]).unwrap();
    index.update_labels(&tenant(), id(90), &point(1).labels).unwrap();
    let written = sorted_languages(&index, &tenant());
    assert_eq!(written.len(), Language::ALL.len() - 1);
    drop(index);

    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();

    assert_eq!(sorted_languages(&index, &tenant()), written);
    assert_eq!(sorted_languages(&index, &Tenant::of(id(2))), [Language::Greek]);
    index
        .update_labels(&tenant(), id(90), &Labels { content_type: ContentType::Note, ..point(1).labels })
        .unwrap();
    let filter = Filter { content_type: Some(ContentType::Note), ..Filter::default() };
    assert_eq!(found_ids(&index, &tenant(), &IndexQuery { filter, ..word_query(18) }), [id(18)]);
}

#[test]
fn abandoned_or_blocked_index_does_not_skip_a_label_update() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    let update = || index.update_labels(&tenant(), id(1), &point(1).labels);
    index.shard.block();

    update().unwrap();

    assert!(!index.shard.is_blocked());
    index.abandon();
    assert!(matches!(update(), Err(IndexError::Abandoned)));
}

#[test]
fn uncommitted_writes_outlive_a_killed_process() {
    let (folder, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    for number in 1..=50 {
        index
            .upsert(&tenant(), vec![Point { dense: vec![embedding(vec![1.0; DIMENSIONS])], ..point(number) }])
            .unwrap();
    }
    index.delete_document(&tenant(), id(50), None).unwrap();

    // What another process would find if this one were killed here.
    copy(folder.path(), left.path());
    let index = EdgeIndex::open(left.path(), model("a")).unwrap();

    assert_eq!(index.count().unwrap(), 49);
    assert_eq!(found_ids(&index, &tenant(), &word_query(49)), [id(49)]);
    assert_eq!(found_ids(&index, &tenant(), &IndexQuery { depth: 50, ..dense_query() }).len(), 49);
}

/// An embedding of the model `b`.
fn embedding_b(first: f32) -> Embedding {
    Embedding { model: "b".to_owned(), vector: vec![first, 1.0, 0.0, 0.0] }
}

#[test]
fn another_model_gets_a_separate_vector() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    drop(index);

    let index = EdgeIndex::open(folder.path(), model("b")).unwrap();

    index.upsert(&tenant(), vec![Point { dense: vec![embedding_b(0.0)], ..point(1) }]).unwrap();
    index.upsert(&tenant(), vec![Point { dense: vec![embedding_b(1.0)], ..point(2) }]).unwrap();
    let query = IndexQuery { dense: Some(embedding_b(0.0)), depth: 10, ..IndexQuery::default() };
    assert_eq!(found_ids(&index, &tenant(), &query), [id(1), id(2)]);
    drop(index);

    let index = EdgeIndex::open(folder.path(), model("b")).unwrap();
    assert_eq!(found_ids(&index, &tenant(), &query), [id(1), id(2)]);
}

#[test]
fn optimizing_changes_no_search_result() {
    let folder = tempfile::tempdir().unwrap();
    let wide = VectorModels::new([VectorModel { name: "a".to_owned(), dimensions: 384 }]);
    let index = EdgeIndex::open(folder.path(), wide.clone()).unwrap();
    let passage = |n: u32| Point {
        dense: vec![embedding((0..384).map(|i| ((n * 31 + i * (n + 7)) % 997) as f32 - 498.0).collect())],
        sparse: words(&[n % 10, 1_000 + n]),
        ..point(n)
    };
    // 3,200 vectors of 384 floats are 4.9 MB, more than a segment may grow to in memory.
    for start in (0..3_200).step_by(400) {
        index.upsert(&tenant(), (start..start + 400).map(passage).collect()).unwrap();
    }
    index.delete_document(&tenant(), id(5), None).unwrap();
    let search_all = |index: &EdgeIndex| {
        [77, 500, 3_000].map(|n| {
            let query = IndexQuery { dense: passage(n).dense.pop(), depth: 100, ..word_query(1_000 + n) };
            let mut hits = index.search(&tenant(), &query).unwrap();
            assert!(hits.lexical.len() == 1 && hits.dense.len() == 100);
            // Which of those with the lowest score are within the depth is open.
            let lowest = hits.dense.last().unwrap().score;
            hits.dense.retain(|hit| hit.score > lowest);
            assert!(hits.dense.len() > 90);
            hits
        })
    };
    // Exact: segments in memory have no quantized vectors.
    let before = search_all(&index);

    assert!(index.maintain().unwrap());
    index.commit().unwrap();

    assert_eq!(search_all(&index), before);
    assert_eq!(index.count().unwrap(), 3_199);
    drop(index);
    let index = EdgeIndex::open(folder.path(), wide).unwrap();
    assert_eq!(search_all(&index), before);
    assert!(!index.maintain().unwrap());
    // The quantized vectors serve a search among the passages of one of several tenants too.
    index.upsert(&Tenant::of(id(2)), vec![Point { dense: passage(77).dense, ..point(9_999) }]).unwrap();
    assert_eq!(search_all(&index), before);
}

#[test]
fn folder_can_be_opened_once_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let _open = EdgeIndex::open(folder.path(), VectorModels::default()).unwrap();

    assert!(matches!(EdgeIndex::open(folder.path(), VectorModels::default()), Err(IndexError::Open(_))));
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn removed_or_replaced_folder_is_not_in_place() {
    let home = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (home.path().join("index"), home.path().join("elsewhere"));
    let index = EdgeIndex::open(&folder, model("a")).unwrap();
    assert!(index.is_in_place());

    std::fs::rename(&folder, &elsewhere).unwrap();
    assert!(!index.is_in_place());

    std::fs::create_dir(&folder).unwrap();
    copy(&elsewhere, &folder);
    assert!(!index.is_in_place());
}

#[test]
fn abandoned_index_is_searched_and_never_written() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("index");
    let old = EdgeIndex::open(&folder, model("a")).unwrap();
    old.upsert(&tenant(), vec![point(1)]).unwrap();
    old.commit().unwrap();

    old.abandon();

    assert!(matches!(old.upsert(&tenant(), vec![point(2)]), Err(IndexError::Abandoned)));
    assert!(matches!(old.commit(), Err(IndexError::Abandoned)));
    assert!(!old.is_in_place());
    assert_eq!(found_ids(&old, &tenant(), &word_query(1)), [id(1)]);

    std::fs::rename(&folder, home.path().join("aside")).unwrap();
    let new = EdgeIndex::open(&folder, model("a")).unwrap();
    drop(old);
    drop(new);
    assert_eq!(EdgeIndex::open(&folder, model("a")).unwrap().count().unwrap(), 0);
}

#[test]
fn abandoned_index_is_written_again_once_its_folder_is_back() {
    let home = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (home.path().join("index"), home.path().join("elsewhere"));
    let index = EdgeIndex::open(&folder, model("a")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    index.commit().unwrap();
    std::fs::rename(&folder, &elsewhere).unwrap();
    index.abandon();
    drop(EdgeIndex::open(&folder, model("a")).unwrap());
    assert!(!index.resume(), "another index is in its place");

    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&elsewhere, &folder).unwrap();

    assert!(index.resume() && index.is_in_place());
    index.upsert(&tenant(), vec![point(2)]).unwrap();
    index.commit().unwrap();
    drop(index);
}

#[test]
fn blocked_index_is_reloaded_by_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    index.shard.block();
    assert!(matches!(index.maintain(), Err(IndexError::Blocked)));

    index.upsert(&tenant(), vec![point(2)]).unwrap();

    assert!(!index.shard.is_blocked());
    assert_eq!(index.count().unwrap(), 2);
}

#[test]
fn index_that_cannot_be_reloaded_is_damaged_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("edge_config.json");
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    let whole = std::fs::read(&config).unwrap();
    std::fs::write(&config, b"garbage").unwrap();
    index.shard.block();

    assert!(index.upsert(&tenant(), vec![point(2)]).unwrap_err().is_damage());
    assert!(index.count().unwrap_err().is_damage());

    std::fs::write(&config, whole).unwrap();
    index.upsert(&tenant(), vec![point(2)]).unwrap();
    assert_eq!(index.count().unwrap(), 2);
}

#[test]
fn blocked_index_is_not_reloaded_while_optimized_or_moved() {
    let home = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (home.path().join("index"), home.path().join("elsewhere"));
    let index = EdgeIndex::open(&folder, model("a")).unwrap();
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    index.shard.block();

    let optimizing = index.lock_optimizing();
    assert!(matches!(index.upsert(&tenant(), vec![point(2)]), Err(IndexError::Blocked)));
    drop(optimizing);
    std::fs::rename(&folder, &elsewhere).unwrap();
    std::fs::create_dir(&folder).unwrap();
    assert!(matches!(index.upsert(&tenant(), vec![point(2)]), Err(IndexError::Blocked)));

    assert_eq!(found_ids(&index, &tenant(), &word_query(1)), [id(1)]);
    index.abandon();
}
