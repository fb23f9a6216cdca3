//! The ingest of pages, uploads and recordings, and its job queue.

mod batches;
mod job_queue;
mod job_retries;
mod metadata;
mod presigned_uploads;
mod save_and_search;
pub mod transcripts;
pub mod uploads;
