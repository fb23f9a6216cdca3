//! From a save, an upload or a recording to a document that is found; the job queue behind it.

mod job_queue;
mod job_retries;
mod presigned_uploads;
mod save_and_search;
pub mod transcripts;
pub mod uploads;
