//! Tests of the shard.

use super::*;

#[test]
fn write_that_panics_blocks_the_shard_until_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let shard = Shard::open(folder.path(), VectorModels::default()).unwrap();

    let panicked = shard.write::<()>(|| panic!("the engine met damage"));

    assert!(matches!(panicked, Err(IndexError::Panicked)) && shard.is_blocked());
    shard.reload().unwrap();
    assert!(!shard.is_blocked() && shard.flush().is_ok());
}

#[test]
fn read_during_a_reload_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let shard = Shard::open(folder.path(), VectorModels::default()).unwrap();
    let read = || shard.read("read", |shard| shard.info().map(drop));

    let reload = shard.content.write().unwrap();
    let refused = read().unwrap_err();

    assert!(matches!(refused, IndexError::Blocked) && !refused.is_damage());
    assert!(matches!(shard.estimate_count(), Err(IndexError::Blocked)));
    drop(reload);
    assert!(read().is_ok());
}

#[test]
fn shard_in_use_stays_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let shard = Shard::open(folder.path(), VectorModels::default()).unwrap();

    let during_a_read = shard.read("read", |_| Ok(shard.unload(Duration::ZERO))).unwrap();
    let soon_after = shard.unload(Duration::from_secs(3600));

    assert!(!during_a_read.unwrap() && !soon_after.unwrap() && !shard.is_unloaded());
    assert!(shard.unload(Duration::ZERO).unwrap() && shard.is_unloaded());
}

#[test]
fn load_failure_outside_files_is_retried_by_read() {
    let folder = tempfile::tempdir().unwrap();
    let shard = Shard::open(folder.path(), VectorModels::default()).unwrap();
    let read = || shard.read("read", |shard| shard.info().map(drop));
    let fail = |fault| *shard.content.write().unwrap() = ShardContent::Failed(fault);

    fail(EngineFault::Environment);
    assert!(matches!(shard.estimate_count(), Err(IndexError::LoadFailed(EngineFault::Environment))));
    read().unwrap();

    fail(EngineFault::Environment);
    shard.block();
    assert!(matches!(read(), Err(IndexError::LoadFailed(EngineFault::Environment))));
}
