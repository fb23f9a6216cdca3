//! # Disk space and scratch files
//!
//! Keeps free space on the disks that hold the database, the index and the files, and provides temporary files on them.
//!
//! SQLite fails a write on a full disk cleanly, but the embedded index writes through mapped files, where a full disk ends the
//! process (SIGBUS). Below the free-space floor no work begins that adds data. Sign-in, revocation and deletion continue, and so do
//! jobs that only delete, as long as the index has the space that it needs for any write.
//!
//! | To | Call |
//! |---|---|
//! | name the disks and their floor | [`DiskSpace::new`], [`DiskSpace::with_reserves`], [`DiskSpace::with_folder`] |
//! | measure them four times a second | [`DiskSpace::watch`] |
//! | ask how much space is left | [`DiskSpace::level`], [`DiskSpace::has_room`], [`available_bytes`] |
//! | refuse work that adds data | [`DiskSpace::require_room`] |
//! | announce the bytes of a long file before they are written | [`DiskSpace::reserve`], [`DiskReservation`] |
//! | free the space that was set aside, to start on a full disk | [`DiskSpace::release_reserves_to_start`] |
//! | write a temporary file | [`Scratch::file`], [`Scratch::writer`] |
//! | tell a file from another one at its path | [`FileIdentity`] |
//!
//! A background task measures the disks, and requests load the result: a slow network file system stalls none of them.
//! Writers of long files announce their bytes, so that many concurrent writers do not pass the floor between two measurements. If other
//! processes fill a disk nevertheless, space that was set aside on it (16 MiB, less on a disk below 128 MiB) is released.
//!
//! A disk that cannot be measured counts as one with space. Disks are distinguished by their device number; quotas of users or
//! directories are not known. This crate reads no settings and depends on no other crate of Carrel.

mod disk;
mod disk_space;
mod file_identity;
mod file_system_stats;
mod free_space;
mod reservation;
mod scratch;
mod space_level;
mod space_reserve;

pub use disk_space::{DiskSpace, StorageFull};
pub use file_identity::FileIdentity;
pub use file_system_stats::available_bytes;
pub use reservation::DiskReservation;
pub use scratch::{Scratch, ScratchFile, ScratchWriter};
pub use space_level::{MIN_FREE_TO_ADD_BYTES, MIN_FREE_TO_DELETE_BYTES, SpaceLevel};
