//! # The library
//!
//! The row logic of a user's library: how bookmarks, documents, notes, highlights, feeds, projects and uploads are written,
//! and how they are imported and exported. Operations and background jobs call it. It knows no HTTP, no actor, no search
//! index and no API key.
//!
//! A function takes a [`CoreContext`](context::CoreContext) or a connection (`&impl sea_orm::ConnectionTrait`), and the user
//! whose rows it reads or changes. Every query of an owned table starts from its owner. Functions that take a connection
//! write within the transaction of their caller; the others begin and commit one themselves.
//!
//! | Module | Content |
//! |---|---|
//! | [`clock`], [`context`] | the time, and what all row logic needs: the database, the clock, the plans |
//! | [`owned_transaction`], [`idempotency_claim`] | how a transaction on a user's rows begins, and the order of locks |
//! | [`library_quota`], [`transfer_quota`] | bytes of a user's texts, and of the files of imports and exports |
//! | [`counters`] | comparison and correction of the counters that triggers keep |
//! | [`text_counts`] | numbers of the texts of an import, and the recent ones |
//! | [`title_index`] | the merge of the index of titles, which drops the texts of deleted bookmarks |
//! | [`stored_files`], [`uploads`] | files of the store, and uploads from their announcement to their bookmark |
//! | [`documents`], [`highlights`], [`notes`], [`bookmarks`] | texts and what users make of them |
//! | [`query`] | the query language of lists of bookmarks |
//! | [`undo`] | changes of many bookmarks, and how they are undone |
//! | [`feeds`], [`projects`] | followed feeds with their entries, and projects with their items |
//! | [`imports`], [`exports`] | bookmarks of other programs, and archives of a whole library |
//! | [`sample_project`] | the sample project of a new account |
//! | [`sample_saves`] | saves whose texts and states are known beforehand, for measurements |
//! | [`web_state`] | what the web app remembers of a user: visits and onboarding |
//! | [`failed_jobs`], [`failing_hosts`] | the background jobs that were given up, and the hosts that fail: counts, lists and retries |
//!
//! A write asks the quota twice: before it, where a large body would be written in vain, and before its commit, where the count
//! includes what the transaction wrote. Jobs are queued in the transaction that makes them necessary (crate `jobs`), so
//! both are kept or neither. Their handlers for imports and exports are here; those that need a network, a parser of pages
//! or the index are in crate `actors`.
//!
//! A file of the store has a row before its first byte and until its last one is deleted; [`stored_files::sweep`] deletes
//! files whose owner is gone. So a crash between a file and its row leaves nothing behind.
//!
//! Every function that reads or changes rows also fails when the database does: with [`sea_orm::DbErr`], or, if it returns
//! [`errors::Error`], with the conversion of it, which is `Busy` for a database that is locked or unreachable, `StorageFull` and
//! `StorageFailed` for a fault of the disk, `NotFound` for a reference to a row that was deleted meanwhile, and `Internal` for
//! everything else. Files of the store fail in the same way. Sections `# Errors` list only what a function returns besides.

use std::time::Duration;

pub mod bookmarks;
pub mod clock;
pub mod context;
pub mod counters;
pub mod documents;
pub mod exports;
pub mod failed_jobs;
pub mod failing_hosts;
pub mod feeds;
pub mod highlights;
pub mod idempotency_claim;
pub mod imports;
pub mod library_quota;
pub mod notes;
pub mod owned_transaction;
pub mod projects;
pub mod query;
pub mod sample_project;
pub mod sample_saves;
mod slow_reads;
pub mod stored_files;
pub mod text_counts;
pub mod title_index;
pub mod transfer_quota;
pub mod undo;
pub mod uploads;
pub mod web_state;

/// Maximum number of ids in one statement. Longer lists are worked on in batches of this size.
pub const BATCH_ROWS: usize = 500;

/// When a request may be tried again that found a row which another request deleted at the same moment.
const RACE_RETRY_AFTER: Duration = Duration::from_secs(1);
