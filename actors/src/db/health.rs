//! What is known about the storage below the database: whether the writer's connection can be trusted, and whether the
//! database is damaged.

use std::sync::atomic::{AtomicBool, Ordering};

use sea_orm::DbErr;
use tracing::error;

use super::fault::{StorageFault, damaged};

/// Shared by every connection of one open database.
#[derive(Debug, Default)]
pub struct StorageHealth {
    is_writer_distrusted: AtomicBool,
    is_damaged: AtomicBool,
}

impl StorageHealth {
    /// Counts a failed read where the storage was the reason; whether it was.
    pub fn record_read(&self, error: &DbErr) -> bool {
        let Some(fault) = StorageFault::of(error) else { return false };
        metrics::counter!("carrel_storage_faults_total", "fault" => fault.label()).increment(1);
        if fault == StorageFault::Corrupt {
            self.set_damaged();
        }
        true
    }

    /// The same for a statement of the writer. After a storage fault its connection is not used again: SQLite may have ended the
    /// transaction by itself, and the connection's caches may differ from the file.
    pub fn record_write(&self, error: &DbErr) {
        if self.record_read(error) {
            self.distrust_writer();
        }
    }

    /// Has the writer's connection replaced before anything else is written through it.
    pub fn distrust_writer(&self) {
        self.is_writer_distrusted.store(true, Ordering::SeqCst);
    }

    /// Whether the writer's connection has to be replaced. Resets the flag.
    pub fn take_writer_distrust(&self) -> bool {
        self.is_writer_distrusted.swap(false, Ordering::SeqCst)
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
