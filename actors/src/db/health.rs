//! What is known about the storage below the database: whether the writer's connection can be trusted, and whether the
//! database is damaged.

use std::sync::atomic::{AtomicBool, Ordering};

use sea_orm::DbErr;
use tracing::error;

use super::fault::{StorageFault, damaged};

/// Shared by every connection of one open database.
#[derive(Debug, Default)]
pub struct StorageHealth {
    writer_is_suspect: AtomicBool,
    is_damaged: AtomicBool,
}

impl StorageHealth {
    /// Takes note of a failed statement. After a storage fault the connection of the writer is not used again: SQLite may have
    /// ended its transaction by itself, and its caches may differ from the file.
    pub fn record(&self, error: &DbErr) {
        let Some(fault) = StorageFault::of(error) else { return };
        metrics::counter!("carrel_storage_faults_total", "fault" => fault.label()).increment(1);
        self.distrust_writer();
        if fault == StorageFault::Corrupt {
            self.set_damaged();
        }
    }

    /// Has the writer's connection replaced before anything else is written through it.
    pub fn distrust_writer(&self) {
        self.writer_is_suspect.store(true, Ordering::SeqCst);
    }

    /// Whether the writer's connection has to be replaced; says so once for each time.
    pub fn take_suspicion(&self) -> bool {
        self.writer_is_suspect.swap(false, Ordering::SeqCst)
    }

    /// From now on nothing is written, until the service is started on a sound database.
    pub fn set_damaged(&self) {
        if !self.is_damaged.swap(true, Ordering::SeqCst) {
            error!("the database is damaged: writes are stopped; run `carrel doctor` and restore a backup");
        }
    }

    /// Whether damage was found.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::SeqCst)
    }

    /// Refuses a write to a damaged database.
    ///
    /// # Errors
    /// One that [`StorageFault::of`] reads as [`StorageFault::Corrupt`].
    pub fn allow_write(&self) -> Result<(), DbErr> {
        if self.is_damaged() { Err(damaged()) } else { Ok(()) }
    }
}
