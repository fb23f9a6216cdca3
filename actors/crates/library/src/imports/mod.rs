//! Imports of what a user saved elsewhere, and of exports of this server.
//!
//! A file has a row ([`entity::import`]) and a job. The job reads the file in a child process, some rows at a time, and
//! applies each batch by one transaction that also records how far it came: a crash loses nothing and repeats nothing, and the user
//! can pause the import. The pages that were saved are fetched by later, separate jobs. A row of [`entity::import_row`] records
//! what became of each row of the file, for the report and for the undo. The file is kept while it may be read again: it is deleted
//! when all rows are imported or undone, and a week after a dry run or a failure.
//!
//! | Step | Module |
//! |---|---|
//! | receive the file, one per user at a time | `file` |
//! | create the import and its job | `begin`; rows of a request: `from_request` |
//! | run the job, batch by batch | `job`, `batch_size`, `queue_room` |
//! | read a batch of rows, with the files of an archive | `reading` |
//! | apply it, or preview it in a dry run | `apply`, `dry_run` |
//! | what a row becomes | `bookmark_rows`, `notes`, `restore` (lines of an export) |
//! | what the rows so far became | `session`, `rows` |
//! | pause, undo, show | `pause`, `undo`, `report` |

mod apply;
mod archived_document;
mod batch_size;
mod begin;
mod bookmark_rows;
mod context;
mod created;
mod dry_run;
mod failure;
mod file;
mod fingerprint;
mod from_request;
mod job;
mod library_lock;
mod limits;
mod notes;
mod pause;
mod queue_room;
mod reading;
mod report;
mod restore;
mod retention;
mod rows;
mod session;
mod undo;

pub use begin::{NewImport, begin, ensure_can_begin, find, list_latest, start};
pub use context::ImportContext;
pub use failure::{record_failure, record_wait};
pub use file::ImportFile;
pub use from_request::import_rows;
pub use job::run;
pub use pause::{pause, resume};
pub use report::{
    RowQuery, count_retried_texts, count_texts, is_format_unknown, list_rows, list_skipped_rows,
    load_row_names, unlisted_faults, unread_columns,
};
pub use retention::sweep;
pub use undo::{UndoReport, load_undo_report, undo};
