//! Unloading an index frees its memory and changes no answer.

mod files;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

/// An index in a folder that can be moved, which holds passage 1.
struct FilledIndex {
    index: EdgeIndex,
    home: tempfile::TempDir,
}

impl FilledIndex {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(&home.path().join("index"), model("a")).unwrap();
        index.upsert(&tenant(), vec![point(1)]).unwrap();
        Self { index, home }
    }

    fn unloaded() -> Self {
        let filled = Self::new();
        unload(&filled.index);
        filled
    }

    /// An unloaded index in whose place is the folder of another one. Its own folder was moved.
    fn replaced() -> Self {
        let filled = Self::unloaded();
        fs::rename(filled.folder(), filled.moved_folder()).unwrap();
        drop(EdgeIndex::open(&filled.folder(), model("a")).unwrap());
        filled
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("index")
    }

    fn moved_folder(&self) -> PathBuf {
        self.home.path().join("moved")
    }

    fn stays_loaded(&self, unused_for: Duration) -> bool {
        !self.index.unload_unused(unused_for).unwrap() && !self.index.shard.is_unloaded()
    }

    /// Makes the disk look as if it had no space for the index.
    fn fill_disk(&mut self) {
        self.index.shard.folder_mut().min_free_to_add = u64::MAX;
    }
}

fn unload(index: &EdgeIndex) {
    assert!(index.unload_unused(Duration::ZERO).unwrap());
    assert!(index.shard.is_unloaded());
}

#[test]
fn unloaded_index_is_searched() {
    let filled = FilledIndex::unloaded();

    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(1)), [id(1)]);
}

#[test]
fn documents_are_found_in_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    let found = filled.index.find_documents(&tenant(), &[id(1)]).unwrap();

    assert_eq!(found, HashMap::from([(id(1), id(1))]));
}

#[test]
fn languages_are_found_in_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    assert_eq!(filled.index.languages(&tenant()).unwrap(), [Language::English]);
}

#[test]
fn passages_are_added_to_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    filled.index.upsert(&tenant(), vec![point(2), point(3)]).unwrap();

    assert_eq!(filled.index.count().unwrap(), 3);
    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(3)), [id(3)]);
}

#[test]
fn labels_are_updated_in_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    let labels = Labels { content_type: ContentType::Pdf, ..point(1).labels };
    filled.index.update_labels(&tenant(), id(1), &labels).unwrap();

    let filter = Filter { content_type: Some(ContentType::Pdf), ..Filter::default() };
    assert_eq!(found_ids(&filled.index, &tenant(), &IndexQuery { filter, ..word_query(1) }), [id(1)]);
}

#[test]
fn document_is_deleted_from_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    filled.index.delete_document(&tenant(), id(1), None).unwrap();

    assert_eq!(filled.index.count().unwrap(), 0);
}

#[test]
fn passages_of_an_unloaded_index_are_counted_exactly() {
    let filled = FilledIndex::unloaded();

    assert_eq!(filled.index.count().unwrap(), 1);
}

#[test]
fn change_before_another_unload_is_found_after_it() {
    let filled = FilledIndex::unloaded();
    filled.index.upsert(&tenant(), vec![point(2)]).unwrap();

    unload(&filled.index);

    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(2)), [id(2)]);
}

#[test]
fn tenant_added_after_unload_is_kept_apart() {
    let filled = FilledIndex::new();
    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(1)), [id(1)]);
    unload(&filled.index);

    filled.index.upsert(&Tenant::of(id(2)), vec![Point { sparse: words(&[1]), ..point(2) }]).unwrap();

    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(1)), [id(1)]);
    assert_eq!(found_ids(&filled.index, &Tenant::of(id(2)), &word_query(1)), [id(2)]);
}

#[test]
fn estimate_does_not_load_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    assert_eq!(filled.index.estimate_count().unwrap(), 1);
    assert!(filled.index.shard.is_unloaded());
}

#[test]
fn packing_does_not_load_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    assert!(!filled.index.maintain().unwrap());
    assert!(filled.index.shard.is_unloaded());
}

#[test]
fn commit_does_not_load_an_unloaded_index() {
    let filled = FilledIndex::unloaded();

    filled.index.commit().unwrap();

    assert!(filled.index.shard.is_unloaded() && filled.index.is_in_place());
}

#[test]
fn writes_before_an_unload_are_in_the_files() {
    let filled = FilledIndex::unloaded();
    let left = tempfile::tempdir().unwrap();

    // What another process would find if this one were killed here.
    copy(&filled.folder(), left.path());

    let index = EdgeIndex::open(left.path(), model("a")).unwrap();
    assert_eq!(found_ids(&index, &tenant(), &word_query(1)), [id(1)]);
}

#[test]
fn searches_during_unloads_all_succeed() {
    let filled = FilledIndex::unloaded();
    let is_done = AtomicBool::new(false);
    let search_until_done = || {
        while !is_done.load(Ordering::SeqCst) {
            assert_eq!(found_ids(&filled.index, &tenant(), &word_query(1)), [id(1)]);
            assert_eq!(filled.index.estimate_count().unwrap(), 1);
            // Between searches the index is not in use, so that it can be unloaded.
            thread::sleep(Duration::from_millis(1));
        }
    };

    thread::scope(|scope| {
        let searches: Vec<_> = (0..3).map(|_| scope.spawn(search_until_done)).collect();
        // An unload after another one means that a search has loaded the index in between. A failed search ends its thread.
        let mut unloads = 0;
        while unloads < 3 && searches.iter().all(|search| !search.is_finished()) {
            match filled.index.unload_unused(Duration::ZERO) {
                Ok(true) => unloads += 1,
                Ok(false) => thread::yield_now(),
                Err(_) => break,
            }
        }
        is_done.store(true, Ordering::SeqCst);
        for search in searches {
            search.join().unwrap();
        }
        assert_eq!(unloads, 3);
    });
}

#[test]
fn recently_used_index_stays_loaded() {
    assert!(FilledIndex::new().stays_loaded(Duration::from_secs(3600)));
}

#[test]
fn index_stays_loaded_while_it_is_packed() {
    let filled = FilledIndex::new();
    let _optimizing = filled.index.lock_optimizing();

    assert!(filled.stays_loaded(Duration::ZERO));
}

#[test]
fn index_stays_loaded_while_it_is_written() {
    let filled = FilledIndex::new();
    let _writing = filled.index.lock_writing();

    assert!(filled.stays_loaded(Duration::ZERO));
}

#[test]
fn index_stays_loaded_after_a_failed_write() {
    let filled = FilledIndex::new();
    filled.index.shard.block();
    assert!(filled.stays_loaded(Duration::ZERO));

    filled.index.upsert(&tenant(), vec![point(2)]).unwrap();

    unload(&filled.index);
}

#[test]
fn index_stays_loaded_while_it_is_abandoned() {
    let filled = FilledIndex::new();
    filled.index.abandon();
    assert!(filled.stays_loaded(Duration::ZERO));

    assert!(filled.index.resume());

    unload(&filled.index);
}

#[test]
fn index_stays_loaded_while_its_folder_is_elsewhere() {
    let filled = FilledIndex::new();
    fs::rename(filled.folder(), filled.moved_folder()).unwrap();
    assert!(filled.stays_loaded(Duration::ZERO));

    fs::rename(filled.moved_folder(), filled.folder()).unwrap();

    unload(&filled.index);
}

#[test]
fn index_on_a_nearly_full_disk_is_loaded_again() {
    let mut filled = FilledIndex::unloaded();
    filled.index.min_free_to_unload = u64::MAX;

    for _ in 0..2 {
        assert!(filled.stays_loaded(Duration::ZERO));
    }
}

#[test]
fn index_without_space_to_pack_is_unloaded() {
    let mut filled = FilledIndex::new();
    filled.fill_disk();
    assert!(matches!(filled.index.maintain(), Err(IndexError::Full)));

    unload(&filled.index);
}

#[test]
fn unloaded_index_without_space_to_load_refuses_reads() {
    let mut filled = FilledIndex::unloaded();
    filled.fill_disk();

    assert!(matches!(filled.index.search(&tenant(), &word_query(1)), Err(IndexError::Full)));
    assert!(filled.index.shard.is_unloaded());
}

#[test]
fn estimate_is_refused_without_space_to_load_the_index() {
    let mut filled = FilledIndex::unloaded();
    filled.fill_disk();

    assert!(matches!(filled.index.estimate_count(), Err(IndexError::Full)));
}

#[test]
fn loaded_index_without_space_is_searched_and_counted() {
    let mut filled = FilledIndex::new();
    filled.fill_disk();

    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(1)), [id(1)]);
    assert_eq!(filled.index.estimate_count().unwrap(), 1);
}
