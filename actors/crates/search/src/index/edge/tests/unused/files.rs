//! The files of an unloaded index: no other process opens them, another folder at their path is not used, and damage is found.

use std::collections::BTreeMap;
use std::fs::File;

use super::*;
use crate::index::fault::EngineFault;

/// The content of every file of a folder, by its path.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, content);
        }
    }
    found
}

#[test]
fn folder_of_an_unloaded_index_stays_locked() {
    let filled = FilledIndex::unloaded();

    assert!(matches!(EdgeIndex::open(&filled.folder(), model("a")), Err(IndexError::Open(_))));
}

#[test]
fn folder_of_an_index_that_fails_to_load_stays_locked() {
    let filled = FilledIndex::unloaded();
    let config = filled.folder().join("edge_config.json");
    let whole = fs::read(&config).unwrap();
    fs::write(&config, b"garbage").unwrap();
    assert!(filled.index.search(&tenant(), &word_query(1)).unwrap_err().is_damage());

    fs::write(&config, whole).unwrap();

    assert!(matches!(EdgeIndex::open(&filled.folder(), model("a")), Err(IndexError::Open(_))));
}

#[test]
fn log_locked_by_other_process_is_not_damage() {
    let filled = FilledIndex::unloaded();
    // Locks belong to open files, so another open file of this process excludes the engine as one of another process does.
    filled.index.folder().unlock_log();
    let other = File::open(filled.folder().join("wal")).unwrap();
    other.lock().unwrap();

    let failed = filled.index.search(&tenant(), &word_query(1)).unwrap_err();

    assert!(matches!(failed, IndexError::LoadFailed(EngineFault::Environment)), "{failed:?}");
    drop(other);
    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(1)), [id(1)]);
}

#[test]
fn requests_of_an_unloaded_index_leave_another_folder_as_it_is() {
    let filled = FilledIndex::replaced();
    let foreign = contents(&filled.folder());

    assert!(matches!(filled.index.search(&tenant(), &word_query(1)), Err(IndexError::Blocked)));
    assert!(matches!(filled.index.upsert(&tenant(), vec![point(2)]), Err(IndexError::Blocked)));
    assert!(!filled.index.unload_unused(Duration::ZERO).unwrap());

    assert!(!filled.index.is_in_place() && contents(&filled.folder()) == foreign);
}

#[test]
fn abandoned_unloaded_index_refuses_requests() {
    let filled = FilledIndex::replaced();
    let foreign = contents(&filled.folder());

    filled.index.abandon();

    assert!(matches!(filled.index.search(&tenant(), &word_query(1)), Err(IndexError::Abandoned)));
    assert!(matches!(filled.index.upsert(&tenant(), vec![point(2)]), Err(IndexError::Abandoned)));
    assert!(!filled.index.resume() && contents(&filled.folder()) == foreign);
}

#[test]
fn abandoned_unloaded_index_is_searched_once_its_folder_is_back() {
    let filled = FilledIndex::replaced();
    filled.index.abandon();
    fs::remove_dir_all(filled.folder()).unwrap();
    fs::rename(filled.moved_folder(), filled.folder()).unwrap();

    assert!(filled.index.resume());

    assert_eq!(found_ids(&filled.index, &tenant(), &word_query(1)), [id(1)]);
}

#[test]
fn unloaded_index_that_is_dropped_writes_nothing() {
    let filled = FilledIndex::unloaded();
    let (folder, before) = (filled.folder(), contents(&filled.folder()));
    let FilledIndex { index, home: _home } = filled;

    drop(index);

    assert!(contents(&folder) == before);
    let index = EdgeIndex::open(&folder, model("a")).unwrap();
    assert_eq!(found_ids(&index, &tenant(), &word_query(1)), [id(1)]);
}

#[test]
fn files_damaged_while_unloaded_are_damage_until_replaced() {
    let filled = FilledIndex::unloaded();
    let config = filled.folder().join("edge_config.json");
    let whole = fs::read(&config).unwrap();
    fs::write(&config, b"garbage").unwrap();

    for _ in 0..2 {
        let failed = filled.index.search(&tenant(), &word_query(1)).unwrap_err();
        assert!(matches!(failed, IndexError::LoadFailed(_)) && failed.is_damage());
        assert!(filled.index.estimate_count().unwrap_err().is_damage());
    }

    fs::write(&config, whole).unwrap();
    filled.index.upsert(&tenant(), vec![point(2)]).unwrap();
    assert_eq!(filled.index.count().unwrap(), 2);
}
