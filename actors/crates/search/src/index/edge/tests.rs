//! The embedded index keeps the contract of every index, and its files outlive what ends a process.

use std::path::Path;

use super::*;
use crate::index::contract::{self, LENGTH, asking, found, id, me, meaning, point};

fn model(name: &str) -> Option<Model> {
    Some(Model { name: name.to_owned(), length: LENGTH })
}

fn with_new_index(test: fn(&dyn PassageIndex)) {
    let folder = tempfile::tempdir().unwrap();
    test(&EdgeIndex::open(folder.path(), model("a")).unwrap());
}

macro_rules! keeps {
    ($($rule:ident),* $(,)?) => {
        $(#[test] fn $rule() { with_new_index(contract::$rule) })*
    };
}

keeps!(
    both_legs_find,
    nothing_finds_nothing,
    tenants_never_meet,
    a_word_is_as_rare_as_in_the_tenants_own_library,
    filters_narrow,
    labels_change_alone,
    an_old_version_goes,
    twice_is_once,
    meaning_may_come_later,
    a_vector_of_another_length_is_refused,
    a_library_knows_its_languages,
    a_leg_is_as_deep_as_asked,
    passages_are_listed_compared_and_removed_by_id,
);

#[test]
fn a_folder_opens_again_with_all_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    index.upsert(&me(), vec![point(1)]).unwrap();
    drop(index);

    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();

    assert_eq!(found(&index, &me(), &asking(1)), [id(1)]);
    assert_eq!(index.languages(&me()).unwrap(), [Language::English]);
}

#[test]
fn what_was_never_committed_outlives_a_process_that_is_killed() {
    let (folder, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    for number in 1..=50 {
        index.upsert(&me(), vec![Point { dense: Some(vec![1.0; LENGTH]), ..point(number) }]).unwrap();
    }
    index.delete_document(&me(), id(50), None).unwrap();

    // What another process would find, had this one ended here.
    copy(folder.path(), left.path());
    let index = EdgeIndex::open(left.path(), model("a")).unwrap();

    assert_eq!(index.count().unwrap(), 49);
    assert_eq!(found(&index, &me(), &asking(49)), [id(49)]);
    assert_eq!(found(&index, &me(), &Plan { depth: 50, ..meaning() }).len(), 49);
}

#[test]
fn another_model_gets_a_vector_of_its_own_beside_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), None).unwrap();
    index.upsert(&me(), vec![point(1)]).unwrap();
    drop(index);

    let index = EdgeIndex::open(folder.path(), Some(Model { name: "b".to_owned(), length: 2 })).unwrap();

    index.upsert(&me(), vec![Point { dense: Some(vec![1.0, 0.0]), ..point(1) }]).unwrap();
    index.upsert(&me(), vec![Point { dense: Some(vec![0.0, 1.0]), ..point(2) }]).unwrap();
    let plan = Plan { dense: Some(vec![1.0, 0.0]), depth: 10, ..Plan::default() };
    assert_eq!(found(&index, &me(), &plan), [id(1), id(2)]);
    drop(index);

    let index = EdgeIndex::open(folder.path(), Some(Model { name: "b".to_owned(), length: 2 })).unwrap();
    assert_eq!(found(&index, &me(), &plan), [id(1), id(2)]);
}

#[test]
fn packing_loses_nothing_and_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let wide = Some(Model { name: "wide".to_owned(), length: 384 });
    let index = EdgeIndex::open(folder.path(), wide.clone()).unwrap();
    let passage = |n: u32| Point {
        dense: Some((0..384).map(|i| ((n * 31 + i * (n + 7)) % 997) as f32 - 498.0).collect()),
        sparse: contract::words(&[n % 10, 1_000 + n]),
        ..point(n)
    };
    for start in (0..3_200).step_by(400) {
        index.upsert(&me(), (start..start + 400).map(passage).collect()).unwrap();
    }
    index.delete_document(&me(), id(5), None).unwrap();
    let plan = Plan { dense: passage(77).dense, ..asking(1_077) };
    let before = index.search(&me(), &plan).unwrap();

    assert!(index.maintain().unwrap());
    index.commit().unwrap();

    assert_eq!(index.search(&me(), &plan).unwrap(), before);
    assert_eq!(index.count().unwrap(), 3_199);
    drop(index);
    let index = EdgeIndex::open(folder.path(), wide).unwrap();
    assert_eq!(index.search(&me(), &plan).unwrap(), before);
    assert!(!index.maintain().unwrap());
}

#[test]
fn a_folder_is_open_in_one_place_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let _open = EdgeIndex::open(folder.path(), None).unwrap();

    assert!(matches!(EdgeIndex::open(folder.path(), None), Err(IndexError::Open(_))));
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
    old.upsert(&me(), vec![point(1)]).unwrap();
    old.commit().unwrap();

    old.abandon();

    assert!(matches!(old.upsert(&me(), vec![point(2)]), Err(IndexError::Abandoned)));
    assert!(matches!(old.commit(), Err(IndexError::Abandoned)));
    assert!(!old.is_in_place());
    assert_eq!(found(&old, &me(), &asking(1)), [id(1)]);

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
    index.upsert(&me(), vec![point(1)]).unwrap();
    index.commit().unwrap();
    std::fs::rename(&folder, &elsewhere).unwrap();
    index.abandon();
    drop(EdgeIndex::open(&folder, model("a")).unwrap());
    assert!(!index.resume(), "another index is in its place");

    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&elsewhere, &folder).unwrap();

    assert!(index.resume() && index.is_in_place());
    index.upsert(&me(), vec![point(2)]).unwrap();
    index.commit().unwrap();
    drop(index);
}

#[test]
fn blocked_index_is_loaded_again_by_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    index.upsert(&me(), vec![point(1)]).unwrap();
    index.shard.block();
    assert!(matches!(index.maintain(), Err(IndexError::Blocked)));

    index.upsert(&me(), vec![point(2)]).unwrap();

    assert!(!index.shard.is_blocked());
    assert_eq!(index.count().unwrap(), 2);
}

#[test]
fn index_that_cannot_be_loaded_again_is_damaged_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("edge_config.json");
    let index = EdgeIndex::open(folder.path(), model("a")).unwrap();
    index.upsert(&me(), vec![point(1)]).unwrap();
    let whole = std::fs::read(&config).unwrap();
    std::fs::write(&config, b"garbage").unwrap();
    index.shard.block();

    assert!(index.upsert(&me(), vec![point(2)]).unwrap_err().is_damage());
    assert!(index.count().unwrap_err().is_damage());

    std::fs::write(&config, whole).unwrap();
    index.upsert(&me(), vec![point(2)]).unwrap();
    assert_eq!(index.count().unwrap(), 2);
}

#[test]
fn blocked_index_is_not_written_while_it_is_packed_or_out_of_its_place() {
    let home = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (home.path().join("index"), home.path().join("elsewhere"));
    let index = EdgeIndex::open(&folder, model("a")).unwrap();
    index.upsert(&me(), vec![point(1)]).unwrap();
    index.shard.block();

    let packer = index.packer();
    assert!(matches!(index.upsert(&me(), vec![point(2)]), Err(IndexError::Blocked)));
    drop(packer);
    std::fs::rename(&folder, &elsewhere).unwrap();
    std::fs::create_dir(&folder).unwrap();
    assert!(matches!(index.upsert(&me(), vec![point(2)]), Err(IndexError::Blocked)));

    assert_eq!(found(&index, &me(), &asking(1)), [id(1)]);
    index.abandon();
}
