//! Operations on uploads (spec.md: POST /uploads; contract.md, section 5).

mod complete;
mod create;
mod list;
mod send;
mod show;

pub use complete::{CompleteUpload, CompleteUploadResponse};
pub use create::CreateUpload;
pub use list::{ListUploads, ListUploadsResponse, UploadView};
pub use send::SendUpload;
pub use show::{ShowUpload, UploadStatus};
